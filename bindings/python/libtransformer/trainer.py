"""Training, as an iterator of what happens."""
import collections
import contextlib
import importlib
from ctypes import addressof, byref, sizeof
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, List, Mapping, Optional, TypeVar

from ._abi import tfm_data_report, tfm_progress, tfm_progress_fn, tfm_reduce_fn, tfm_trainer_options
from ._arrays import lent
from ._convert import Ids, Line, Path, fill, path_bytes, record, same_length, sequences, take_function, texts
from ._handles import ExclusiveHandle, Owned, Usage, create
from ._library import lib
from .constants import Event
from .errors import BusyError, checked
from .model import Model
from .options import TrainerOptions
from .records import DataReport, Metrics, ProfileEntry
from .tokenizer import log_callback, none
from .translator import entries

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")


class Trainer(ExclusiveHandle):
    """Parameters, optimiser state and data position of one training.

    Iterate over it to train: it yields Metrics at each event until a limit of the options is reached. Between two
    events the training rests, and model() and profile() may be called, from any thread; whatever else would change it
    is a BusyError then, and so is save(), as a validation or a checkpoint of that step may be still to come. Leaving
    the loop, by break, an exception or Ctrl-C, stops the training after its step and, with a checkpoint_path, writes a
    checkpoint; a new loop goes on from there.
    """

    def __init__(self, model: Model, **options: "Unpack[TrainerOptions]") -> None:
        """Starts from a copy of the model's weights and tokenizer; the options are the fields of TrainerOptions.

        log(level, message) and reduce(values) are called in the thread that trains. reduce replaces the floats of a
        writable array by their sums over all ranks.
        """
        self._create("Trainer", options, lib.tfm_trainer_create, model._open())

    @classmethod
    def resume(cls, checkpoint: Path, **options: "Unpack[TrainerOptions]") -> "Trainer":
        """Continues a checkpoint: with the same options and data, as if the training had never been interrupted."""
        trainer = cls.__new__(cls)
        trainer._create("Trainer.resume()", options, lib.tfm_trainer_resume, path_bytes(checkpoint))
        return trainer

    def _create(self, who: str, options: Mapping[str, Any], function: Any, origin: Any) -> None:
        struct, usage, given = tfm_trainer_options(), Usage(), dict(options)
        lib.tfm_trainer_options_init(byref(struct), sizeof(struct))
        callbacks = {"progress": _progress_callback(usage), "log": log_callback(usage, take_function(given, "log")),
                     "reduce": _reduce_callback(usage, take_function(given, "reduce"))}
        fill(struct, given, TrainerOptions.__annotations__, who)
        for name, callback in callbacks.items():
            setattr(struct, name, callback)
        super().__init__(create(function, lib.tfm_trainer_free, origin, byref(struct), keep=(callbacks,)), usage)
        self._running = False

    def set_data(self, sources: Iterable[Line], targets: Iterable[Line]) -> DataReport:
        """Training data: the i-th source belongs to the i-th target; encoded and copied. The model needs a tokenizer.

        Ctrl-C takes effect when they are encoded.
        """
        return self._set_data(lib.tfm_trainer_set_data, texts(sources, "sources"), texts(targets, "targets"))

    def set_data_ids(self, sources: Iterable[Ids], targets: Iterable[Ids]) -> DataReport:
        """The same for sequences of ids, EOS included."""
        return self._set_data(lib.tfm_trainer_set_data_ids, sequences(sources, "sources"),
                              sequences(targets, "targets"))

    def _set_data(self, function: Any, sources: Any, targets: Any) -> DataReport:
        n = same_length(sources, targets, "sources and targets")

        def work(owned: Owned) -> DataReport:
            report = tfm_data_report()
            checked(function, owned, sources, targets, n, byref(report), sizeof(report))
            return record(DataReport, report)
        return self._change(work)

    def set_valid(self, sources: Iterable[Line], targets: Iterable[Line]) -> None:
        """Validation data, as above; no pair is left out for its length."""
        source, target = texts(sources, "sources"), texts(targets, "targets")
        n = same_length(source, target, "sources and targets")
        self._change(lambda owned: checked(lib.tfm_trainer_set_valid, owned, source, target, n))

    def step(self) -> Metrics:
        """One update, without validation and checkpoints."""
        def work(owned: Owned) -> Metrics:
            progress = tfm_progress()
            checked(lib.tfm_trainer_step, owned, byref(progress), sizeof(progress))
            return record(Metrics, progress)
        return self._change(work)

    def __iter__(self) -> Iterator[Metrics]:
        return self.events()

    def events(self, bar: bool = False) -> Iterator[Metrics]:
        """The events of a training; bar: shown as a progress bar too, if tqdm is installed."""
        call = self._start(self._train)
        with contextlib.closing(call.events()) as events, _progress_bar(bar) as show:
            for metrics in events:
                show(metrics)
                yield metrics
                self._open()  # or it was closed meanwhile

    def run(self, bar: bool = False) -> Metrics:
        """Trains until a limit of the options is reached, and returns the last event, whose message says which."""
        return collections.deque(self.events(bar), maxlen=1).pop()

    def save(self, path: Path) -> None:
        """Writes a checkpoint, atomically. In a loop checkpoint_path and checkpoint_steps do so."""
        name = path_bytes(path)
        self._change(lambda owned: checked(lib.tfm_trainer_save, owned, name))

    def model(self) -> Model:
        """A copy of the present weights."""
        return self._start(lambda owned: Model(create(lib.tfm_trainer_model, lib.tfm_model_free, owned))).wait()

    def profile(self) -> List[ProfileEntry]:
        """How long each kind of work took since the trainer was created."""
        return self._start(lambda owned: entries(owned, lib.tfm_trainer_profile_count,
                                                 lib.tfm_trainer_profile_at)).wait()

    def _train(self, owned: Owned) -> None:
        self._check_idle()
        self._running = True
        try:
            checked(lib.tfm_trainer_run, owned)
        finally:
            self._running = False

    def _change(self, work: Callable[[Owned], T]) -> T:
        def guarded(owned: Owned) -> T:
            self._check_idle()
            return work(owned)
        return self._start(guarded).wait()

    def _check_idle(self) -> None:
        if self._running:
            raise BusyError("a training is under way: leave its loop first")


def _progress_callback(usage: Usage) -> Any:
    """The C callback at each event: it waits until the loop wants the next one."""
    def progress(_user: Any, pointer: Any) -> int:
        usage.post(record(Metrics, pointer.contents))
        return int(usage.stopped)
    return tfm_progress_fn(progress)


def _reduce_callback(usage: Usage, function: Optional[Callable[[Any], object]]) -> Any:
    """The C callback that has function(values) replace gradients by their sums; None gives none."""
    def reduce(_user: Any, values: Any, n: int) -> int:
        assert function is not None
        usage.ask(partial(function, lent(addressof(values.contents), (n,), None).view()))
        return int(usage.stopped)
    return tfm_reduce_fn(reduce) if function else none(tfm_reduce_fn)


@contextlib.contextmanager
def _progress_bar(wanted: bool) -> Iterator[Callable[[Metrics], None]]:
    """What shows an event: a bar of tqdm where it is wanted and installed, else nothing."""
    try:
        tqdm = importlib.import_module("tqdm").tqdm if wanted else None
    except ImportError:
        tqdm = None
    if tqdm is None:
        yield lambda metrics: None
        return
    with tqdm(unit="step") as bar:
        def show(metrics: Metrics) -> None:
            if metrics.event == Event.STEP:
                bar.total = metrics.steps_total or None
                bar.set_postfix(loss=f"{metrics.loss:.3f}", refresh=False)
                bar.update(metrics.step - bar.n)
        yield show
