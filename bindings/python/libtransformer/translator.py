"""Translations, scores, attention of a model."""
import contextlib
import weakref
from ctypes import POINTER, byref, c_float, c_size_t, c_void_p, cast, sizeof
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, List, Optional, Tuple, TypeVar, Union

from ._abi import (tfm_decode_partial_fn, tfm_decode_progress_fn, tfm_decode_sentence_fn, tfm_decoder_options, tfm_ids,
                   tfm_profile_entry, tfm_request)
from ._arrays import FloatArray, Floats, lent
from ._calls import Call
from ._convert import (Ids, Line, decoded, encoded, fill, keeping, listed, numbers_of, real, record, same_length,
                       sequence, sequences, take_function, texts, whole)
from ._handles import ExclusiveHandle, Usage, Owned, create
from ._library import lib
from .constants import AlignmentUnit, AttentionKind, Special
from .errors import BusyError, InvalidError, checked
from .model import Model
from .options import TranslatorOptions
from .records import ProfileEntry
from .tokenizer import Tokenizer

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
UNITS = AlignmentUnit.WORDS, AlignmentUnit.TOKENS


@dataclass(frozen=True)
class Hypothesis:
    """One answer of a search.

    text: the translation; empty when the model has no tokenizer
    score: log-probability / length penalty; not penalised when no EOS came
    ids: the tokens, EOS kept when it was produced
    steps: decoding steps that the sentence took
    token_scores: log-probability of each token, as the search saw it
    finished: false when the longest output cut it off
    parts: 1, or more when the line was too long and LongSource.SPLIT split it
    alignment: weights [words of the text][words of the line]; empty without the option, or for ids
    token_alignment: the same of tokens [ids][tokens of the source]
    """

    text: str
    score: float
    ids: List[int]
    steps: int
    token_scores: List[float]
    finished: bool
    parts: int
    alignment: List[List[float]]
    token_alignment: List[List[float]]


@dataclass(frozen=True)
class Score:
    """How probable a model finds a target.

    logprob: natural logarithm of the probability of the target given its source, EOS included
    tokens: the same of each token; logprob is their sum
    alignment, token_alignment: as those of Hypothesis
    """

    logprob: float
    tokens: List[float]
    alignment: List[List[float]]
    token_alignment: List[List[float]]


@dataclass(frozen=True)
class Partial:
    """How a translation begins, or all of it.

    sentence: its number among the lines
    text: what is certain of its best translation, in whole characters
    ids: the tokens of that
    hypotheses: its translations, the best first, when it is done; None before
    """

    sentence: int
    text: str
    ids: List[int]
    hypotheses: Optional[List[Hypothesis]]


class Translator(ExclusiveHandle):
    """A model, or several, and the workspace to translate, score and look at attention with.

    One thread at a time: a call waits while another thread uses the translator; give each thread its own to translate
    at once, they share the model. A callback that uses the translator it was called from gets a BusyError.
    Ctrl-C ends a translation or scoring after the step under way, with KeyboardInterrupt.
    """

    def __init__(self, model: Union[Model, Iterable[Model]], *, weights: Optional[Iterable[float]] = None,
                 **options: "Unpack[TranslatorOptions]") -> None:
        """The options are the fields of TranslatorOptions.

        Several models with one vocabulary decode together, as an ensemble: a token's probability is the mean of what
        each gives it, or a weighted one. Alignments and attention are the first one's.
        weights: of each model, divided by their sum; None: equal ones
        progress(done, total) is called between steps, in the thread that made the call; when it returns something true,
        the call ends with CancelledError, and what it raises comes out of the call.
        """
        struct, usage = tfm_decoder_options(), Usage()
        models = [model] if isinstance(model, Model) else list(model)
        owners = [one._open() for one in models]
        pointers = (c_void_p * len(owners))(*(owner._as_parameter_.value for owner in owners))
        lib.tfm_decoder_options_init(byref(struct), sizeof(struct))
        given = dict(options)
        progress = _progress_callback(usage, take_function(given, "progress"))
        forbidden = sequences(given.pop("forbidden", ()), "forbidden")  # type: ignore[arg-type]
        fill(struct, given, TranslatorOptions.__annotations__, "Translator")
        struct.progress = progress
        struct.forbidden, struct.n_forbidden = cast(forbidden, POINTER(tfm_ids)), len(forbidden)
        super().__init__(create(lib.tfm_decoder_create_ensemble, lib.tfm_decoder_free, pointers,
                                _floats(weights, len(models)), len(models), byref(struct),
                                keep=(*owners, progress)), usage)
        self._tokenizer, self._options = models[0].tokenizer, models[0].options
        self._lent: "Optional[weakref.ref[Any]]" = None

    def translate(self, lines: Iterable[Line], *, prefixes: Optional[Iterable[Line]] = None,
                  terms: Optional[Iterable[Iterable[Line]]] = None,
                  term_times: Optional[Iterable[Iterable[int]]] = None,
                  placeholders: Optional[Iterable[Iterable[Line]]] = None,
                  placeholder_times: Optional[Iterable[Iterable[int]]] = None) -> List[str]:
        """The best translation of each line. A blank line gives an empty one.

        prefixes: how each translation begins; "" leaves it open
        terms: for each line the words or phrases that must appear; use a beam wider than their tokens
        term_times: how often each of them must, neither more nor less; 0: at least once
        placeholders: for each line what stands in it and must come into the translation as often, unchanged
        placeholder_times: how often each of them must at least; 0: as often as in the line
        """
        request = _request(texts, prefixes, terms, term_times, placeholders, placeholder_times,
                           lines=texts(lines, "lines"))

        def work(owned: Owned) -> List[str]:
            checked(lib.tfm_decoder_run, owned, byref(request))
            return [decoded(lib.tfm_decoder_text(owned, i, 0)) for i in range(request.n)]
        return self._call(work)

    def nbest(self, lines: Iterable[Line], *, prefixes: Optional[Iterable[Line]] = None,
              terms: Optional[Iterable[Iterable[Line]]] = None,
              term_times: Optional[Iterable[Iterable[int]]] = None,
              placeholders: Optional[Iterable[Iterable[Line]]] = None,
              placeholder_times: Optional[Iterable[Iterable[int]]] = None) -> List[List[Hypothesis]]:
        """For each line its n_best translations (an option of the translator), the best first."""
        return self._nbest(_request(texts, prefixes, terms, term_times, placeholders, placeholder_times,
                                    lines=texts(lines, "lines")))

    def nbest_ids(self, sources: Iterable[Ids], *, prefixes: Optional[Iterable[Ids]] = None,
                  terms: Optional[Iterable[Iterable[Ids]]] = None,
                  term_times: Optional[Iterable[Iterable[int]]] = None) -> List[List[Hypothesis]]:
        """The same for sequences of ids; sources contain EOS if they shall."""
        return self._nbest(_request(sequences, prefixes, terms, term_times, sources=sequences(sources, "sources")))

    def _nbest(self, request: tfm_request) -> List[List[Hypothesis]]:
        def work(owned: Owned) -> List[List[Hypothesis]]:
            checked(lib.tfm_decoder_run, owned, byref(request))
            return _hypotheses(owned, request.n)
        return self._call(work)

    def stream(self, lines: Iterable[Line], *, prefixes: Optional[Iterable[Line]] = None,
               terms: Optional[Iterable[Iterable[Line]]] = None,
               term_times: Optional[Iterable[Iterable[int]]] = None, partial: bool = True) -> Iterator[Partial]:
        """Translations as they come: each line when it is done, in no order, and before that as it grows.

        What comes of a line later begins with what came of it before. With a beam that is what all hypotheses have in
        common; beam=1 gives each token. partial=False gives only lines that are done. The translator is in use until
        the loop is left, which ends the translation.
        """
        request = _request(texts, prefixes, terms, term_times, lines=texts(lines, "lines"))
        _ask_to_be_told(request, self._usage, partial)
        call = self._begin(lambda owned: checked(lib.tfm_decoder_run, owned, byref(request)))
        with contextlib.closing(call.events()) as events:
            yield from events

    def score(self, sources: Iterable[Line], targets: Iterable[Line]) -> List[Score]:
        """How probable each target is, given its source."""
        return self._score(lib.tfm_decoder_logprobs, texts(sources, "sources"), texts(targets, "targets"))

    def score_ids(self, sources: Iterable[Ids], targets: Iterable[Ids]) -> List[Score]:
        """The same for sequences of ids, which contain EOS if they shall."""
        return self._score(lib.tfm_decoder_logprobs_ids, sequences(sources, "sources"), sequences(targets, "targets"))

    def _score(self, function: Any, sources: Any, targets: Any) -> List[Score]:
        n = same_length(sources, targets, "sources and targets")

        def work(owned: Owned) -> List[Score]:
            checked(function, owned, sources, targets, n)
            return [_score_of(owned, i) for i in range(n)]
        return self._call(work)

    def attention(self, source: Union[Line, Ids], target: Union[Line, Ids] = (), *, kind: int = AttentionKind.CROSS,
                  layer: int = 0, head: int = 0, copy: bool = True) -> "FloatArray":
        """Attention weights while the model reads a pair: rows are queries, columns keys, each row sums to 1.

        source and target are text, or ids that contain EOS if they shall; target may be empty for
        AttentionKind.ENCODER.
        copy=False gives the translator's own memory: until that view is gone, its next call is a BusyError.
        """
        pair = self._pair(source, target)
        return self._lend(lambda owned: _attention(owned, *pair, kind, layer, head), copy)

    def attention_all(self, source: Union[Line, Ids], target: Union[Line, Ids] = (), *, kind: int = AttentionKind.CROSS,
                      copy: bool = True) -> "FloatArray":
        """The same of every layer and head, [layers][heads][queries][keys], by one pass over the pair."""
        pair = self._pair(source, target)
        return self._lend(lambda owned: _attention_all(owned, *pair, kind), copy)

    def _lend(self, work: Callable[[Owned], Floats], copy: bool) -> "FloatArray":
        floats = self._call(work)
        if copy:
            return Floats(type(floats.base).from_buffer_copy(floats.base), floats.shape).view()
        self._lent = weakref.ref(floats.base)
        return floats.view(writable=False)

    def profile(self) -> List[ProfileEntry]:
        """How long each kind of work took since the translator was created; scoring and attention are not counted."""
        return self._call(lambda owned: entries(owned, lib.tfm_decoder_profile_count, lib.tfm_decoder_profile_at))

    def _pair(self, source: Union[Line, Ids], target: Union[Line, Ids]) -> Tuple[Any, Any]:
        tokenizer, options = self._tokenizer, self._options
        end = [options["eos_id"] if options["own_ids"] else Special.EOS]
        return (sequence(_ids(source, tokenizer, [] if options["plain_source"] else end)),
                sequence(_ids(target, tokenizer and tokenizer.target, end)))

    def _call(self, work: Callable[[Owned], T]) -> T:
        return self._begin(work).wait()

    def _begin(self, work: Callable[[Owned], T]) -> "Call[T]":
        def guarded(owned: Owned) -> T:
            if self._lent is not None and self._lent() is not None:
                raise BusyError("a view of attention weights (copy=False) is still in use: delete it first")
            return work(owned)
        return self._start(guarded)


def _ids(side: Union[Line, Ids], tokenizer: Optional[Tokenizer], end: List[Any]) -> Ids:
    """Text as the ids that the model reads; ids stay."""
    if not isinstance(side, (str, bytes)):
        return side
    if tokenizer is None:
        raise InvalidError("the model has no tokenizer: give ids")
    return tokenizer.encode(side) + end if encoded(side) else []


def _floats(weights: Optional[Iterable[float]], n: int) -> Any:
    """Weights of n models as C floats; NULL for None."""
    if weights is None:
        return None
    numbers = [real("weights", weight) for weight in weights]
    if len(numbers) != n:
        raise InvalidError(f"models and weights are not as many: {n} and {len(numbers)}")
    return (c_float * n)(*numbers)


def _progress_callback(usage: Usage, function: Optional[Callable[[int, int], object]]) -> Any:
    """The C callback between steps: it asks the user's function, and cancels when the caller is interrupted."""
    def progress(_user: Any, done: int, total: int) -> int:
        answer = usage.ask(partial(function, done, total)) if function else None
        return int(bool(answer) or usage.stopped)
    return tfm_decode_progress_fn(progress)


def _ask_to_be_told(request: tfm_request, usage: Usage, partial: bool) -> None:
    """Has the call hand out a Partial for whatever the C callbacks are told; it goes on when the next one is wanted."""
    def grown(_user: Any, pointer: Any) -> int:
        told = pointer.contents
        usage.hand(Partial(told.sentence, decoded(told.text), numbers_of(told.ids), None))
        return int(usage.stopped)

    def done(_user: Any, decoder: int, sentence: int) -> int:
        hypotheses = _hypotheses_of(c_void_p(decoder), sentence)
        usage.hand(Partial(sentence, hypotheses[0].text, hypotheses[0].ids, hypotheses))
        return int(usage.stopped)
    if partial:
        request.partial = tfm_decode_partial_fn(grown)
    request.sentence = tfm_decode_sentence_fn(done)


def _request(arrange: Callable[[Any, str], Any], prefixes: Optional[Iterable[Any]],
             terms: Optional[Iterable[Iterable[Any]]], term_times: Optional[Iterable[Iterable[int]]],
             placeholders: Optional[Iterable[Iterable[Any]]] = None,
             placeholder_times: Optional[Iterable[Iterable[int]]] = None, **source: Any) -> tfm_request:
    """What to translate, as C reads it; it keeps its arrays. arrange: texts or sequences."""
    (field, array), = source.items()
    request = tfm_request()
    lib.tfm_request_init(byref(request), sizeof(request))
    request.n = len(array)
    given = {field: array}
    text = field == "lines"
    if prefixes is not None:
        given["prefix_lines" if text else "prefixes"] = arrange(prefixes, "prefixes")
        same_length(array, list(given.values())[-1], f"{field} and prefixes")
    for name, flat, groups, times in (("term", "term_lines" if text else "terms", terms, term_times),
                                      ("placeholder", "placeholders", placeholders, placeholder_times)):
        if groups is not None:
            lists = listed(groups, name + "s")
            same_length(array, lists, f"{field} and {name}s")
            given[f"n_{name}s"] = (c_size_t * len(lists))(*map(len, lists))
            given[flat] = arrange([item for some in lists for item in some], name + "s")
        if times is not None:
            numbers = [[whole(f"{name}_times", n, c_size_t) for n in some] for some in times]
            if [len(some) for some in numbers] != list(given.get(f"n_{name}s", ())):
                raise InvalidError(f"{name}_times needs a number for each of the {name}s of each line")
            given[f"{name}_times"] = (c_size_t * sum(map(len, numbers)))(*(n for some in numbers for n in some))
    types: Any = tfm_request._fields_
    for name, values in given.items():
        setattr(request, name, cast(values, dict(types)[name]))
    return keeping(request, given)


def _hypotheses(owned: Owned, n: int) -> List[List[Hypothesis]]:
    return [_hypotheses_of(owned, i) for i in range(n)]


def _hypotheses_of(decoder: Any, i: int) -> List[Hypothesis]:
    return [Hypothesis(decoded(lib.tfm_decoder_text(decoder, i, rank)), lib.tfm_decoder_score(decoder, i, rank),
                       numbers_of(lib.tfm_decoder_ids(decoder, i, rank)), lib.tfm_decoder_steps(decoder, i),
                       _token_scores(decoder, i, rank), bool(lib.tfm_decoder_finished(decoder, i, rank)),
                       lib.tfm_decoder_parts(decoder, i),
                       *(_aligned(lib.tfm_decoder_alignment, decoder, i, rank, unit) for unit in UNITS))
            for rank in range(lib.tfm_decoder_count(decoder, i))]


def _token_scores(owned: Any, sentence: int, rank: int) -> List[float]:
    size = c_size_t()
    scores: Any = lib.tfm_decoder_token_scores(owned, sentence, rank, byref(size))
    return list(scores[:size.value]) if size.value else []


def _score_of(owned: Owned, pair: int) -> Score:
    size = c_size_t()
    tokens = lib.tfm_decoder_token_logprobs(owned, pair, byref(size))
    return Score(lib.tfm_decoder_pair_logprob(owned, pair), tokens[:size.value],
                 *(_aligned(lib.tfm_decoder_pair_alignment, owned, pair, unit) for unit in UNITS))


def _aligned(function: Any, owned: Owned, *which: int) -> List[List[float]]:
    rows, cols = c_size_t(), c_size_t()
    weights: Any = function(owned, *which, byref(rows), byref(cols))
    return [list(weights[i * cols.value:(i + 1) * cols.value]) for i in range(rows.value)]


def _attention(owned: Owned, source: Any, target: Any, kind: int, layer: int, head: int) -> Floats:
    weights, rows, cols = POINTER(c_float)(), c_size_t(), c_size_t()
    checked(lib.tfm_decoder_attention, byref(weights), byref(rows), byref(cols), owned, source, target,
            whole("kind", kind), whole("layer", layer), whole("head", head))
    return lent(cast(weights, c_void_p).value or 0, (rows.value, cols.value), owned)


def _attention_all(owned: Owned, source: Any, target: Any, kind: int) -> Floats:
    weights, shape = POINTER(c_float)(), (c_size_t * 4)()
    checked(lib.tfm_decoder_attention_all, byref(weights), shape, owned, source, target, whole("kind", kind))
    return lent(cast(weights, c_void_p).value or 0, tuple(shape), owned)


def entries(owned: Owned, count: Any, at: Any) -> List[ProfileEntry]:
    """The entries of a profile."""
    result = []
    for index in range(count(owned)):
        entry = tfm_profile_entry()
        checked(at, byref(entry), sizeof(entry), owned, index)
        result.append(record(ProfileEntry, entry))
    return result
