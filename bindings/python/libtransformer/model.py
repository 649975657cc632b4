"""Weights, configuration, tokenizer."""
from ctypes import POINTER, byref, c_float, c_void_p, cast, sizeof
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ._abi import tfm_load_options, tfm_model_costs, tfm_model_options, tfm_parameter
from ._arrays import FloatArray, given, lent
from ._convert import Path, c_string, check_name, fill, path_bytes, record, set_field, whole
from ._handles import Handle, Owned, create
from ._library import lib
from .constants import Dtype
from .errors import InvalidError, UnsupportedError, checked
from .options import LoadOptions, ModelOptions
from .records import ModelCosts
from .tokenizer import Tokenizer, lent_tokenizer

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Model(Handle):
    """Weights and configuration of one Transformer, and the tokenizer it was trained with.

    Made by load(), create(), from_parameters(), average() or Trainer.model(). Immutable: share it between threads
    freely.
    """

    @classmethod
    def load(cls, path: Path, **options: "Unpack[LoadOptions]") -> "Model":
        """Maps a model file, or the model inside a training checkpoint; options are the fields of LoadOptions."""
        struct = tfm_load_options()
        lib.tfm_load_options_init(byref(struct), sizeof(struct))
        fill(struct, options, LoadOptions.__annotations__, "Model.load()")
        return cls(create(lib.tfm_model_load, lib.tfm_model_free, path_bytes(path), byref(struct)))

    @classmethod
    def create(cls, tokenizer: Optional[Tokenizer] = None, preset: Optional[str] = None,
               **options: "Unpack[ModelOptions]") -> "Model":
        """Random weights for a preset ("tiny", "small", "base", "big") and the fields of ModelOptions.

        vocab_size is that of the tokenizer when there is one and nothing else is said.
        """
        struct = _options(preset, options, "Model.create()", tokenizer)
        owned = tokenizer._open() if tokenizer else None
        return cls(create(lib.tfm_model_create, lib.tfm_model_free, byref(struct), owned))

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any], tokenizer: Optional[Tokenizer] = None,
                        preset: Optional[str] = None, **options: "Unpack[ModelOptions]") -> "Model":
        """Given weights, one array for each parameter of the configuration, by name; they are copied."""
        struct = _options(preset, options, "Model.from_parameters()", tokenizer)
        owned = tokenizer._open() if tokenizer else None
        array = (tfm_parameter * len(parameters))()
        for entry, (name, values) in zip(array, parameters.items()):
            floats = given(values, (1, 2), name)
            entry.keep = floats
            entry.name = c_string("a parameter's name", name)
            entry.data = cast(floats.base, POINTER(c_float))
            entry.rank = len(floats.shape)
            entry.shape[:] = (list(floats.shape) + [1, 1, 1])[:3]
        return cls(create(lib.tfm_model_create_from, lib.tfm_model_free, byref(struct), owned, array, len(array)))

    @classmethod
    def average(cls, models: "Sequence[Model]") -> "Model":
        """The mean of the weights of models of one configuration, summed in double precision."""
        owned = [model._open() for model in models]
        pointers = (c_void_p * len(owned))(*(one._as_parameter_.value for one in owned))
        return cls(create(lib.tfm_model_average, lib.tfm_model_free, pointers, len(owned)))

    def save(self, path: Path, dtype: Optional[int] = None) -> None:
        """Writes a model file in a type (None: as it is): an old file survives any failure."""
        if dtype is None:
            checked(lib.tfm_model_save, self._open(), path_bytes(path))
        else:
            checked(lib.tfm_model_save_as, self._open(), path_bytes(path), whole("dtype", dtype))

    def export(self, path: Path, format: int) -> None:
        """Writes the weights as another system has them, an Export: a file of Marian, or a directory of Hugging Face."""
        checked(lib.tfm_model_export, self._open(), path_bytes(path), whole("format", format))

    def quantize(self, path: Path) -> None:
        """Writes the model in 8-bit integers: a quarter of the size, to translate, score and show attention with."""
        self.save(path, Dtype.INT8)

    @property
    def dtype(self) -> Dtype:
        """Dtype.F32, or Dtype.INT8 for a quantised model."""
        return Dtype(lib.tfm_model_dtype(self._open()))

    @property
    def options(self) -> Dict[str, Union[int, float]]:
        """The configuration, by the names of ModelOptions; d_k, d_v and source_vocab_size are resolved."""
        struct = tfm_model_options()
        lib.tfm_model_get_options(byref(struct), sizeof(struct), self._open())
        return {name: getattr(struct, name) for name in ModelOptions.__annotations__}

    @property
    def tokenizer(self) -> Optional[Tokenizer]:
        """The tokenizer inside the model, if there is one; it keeps the model alive."""
        owned = self._open()
        return lent_tokenizer(lib.tfm_model_tokenizer(owned), owned)

    @property
    def parameters(self) -> "Parameters":
        """The weights by name, not copied."""
        return Parameters(self._open())


class Parameters(Mapping[str, "FloatArray"]):
    """The weights of a model by name, in the order of its file: read-only views, which keep the model alive.

    A view is a NumPy array where NumPy is installed, else a memoryview of the same shape. Matrices are [out][in].
    UnsupportedError for a matrix of a quantised model.
    """

    def __init__(self, owned: Owned) -> None:
        self._owned = owned

    def __len__(self) -> int:
        return int(lib.tfm_model_parameter_count(self._owned))

    def __iter__(self) -> Iterator[str]:
        for index in range(len(self)):
            parameter = tfm_parameter()
            try:
                checked(lib.tfm_model_parameter_at, byref(parameter), self._owned, index)
            except UnsupportedError:
                pass  # it has a name all the same
            yield parameter.name.decode()

    def __contains__(self, name: object) -> bool:
        return any(name == known for known in self)

    def __getitem__(self, name: str) -> "FloatArray":
        parameter = self._named(name)
        address = cast(parameter.data, c_void_p).value or 0
        return lent(address, _shape_of(parameter), self._owned).view(writable=False)

    def shape(self, name: str) -> Tuple[int, ...]:
        """The shape of a parameter, those of quantised models included."""
        try:
            return _shape_of(self._named(name))
        except UnsupportedError:
            parameter = tfm_parameter()
            lib.tfm_model_parameter_named(byref(parameter), self._owned, name.encode(), None)
            return _shape_of(parameter)

    def _named(self, name: str) -> tfm_parameter:
        parameter = tfm_parameter()
        try:
            checked(lib.tfm_model_parameter_named, byref(parameter), self._owned, c_string("name", name))
        except InvalidError as error:
            raise KeyError(name) from error
        return parameter


def model_costs(source_tokens: int, target_tokens: int, preset: Optional[str] = None,
                **options: "Unpack[ModelOptions]") -> ModelCosts:
    """Parameter counts and multiply-adds of a configuration, for sentences of so many tokens."""
    struct, costs = _options(preset, options, "model_costs()", None), tfm_model_costs()
    checked(lib.tfm_model_options_costs, byref(costs), sizeof(costs), byref(struct),
            whole("source_tokens", source_tokens), whole("target_tokens", target_tokens))
    return record(ModelCosts, costs)


def _options(preset: Optional[str], options: Mapping[str, Any], who: str, tokenizer: Optional[Tokenizer]) -> Any:
    struct = tfm_model_options()
    lib.tfm_model_options_init(byref(struct), sizeof(struct))
    if preset is not None:
        checked(lib.tfm_model_options_preset, byref(struct), c_string("preset", preset))
    if tokenizer is not None:
        struct.vocab_size = tokenizer.target.vocab_size
    for name, value in options.items():
        check_name(name, ModelOptions.__annotations__, who)
        if isinstance(value, str):
            checked(lib.tfm_model_options_set, byref(struct), c_string("name", name), c_string(name, value))
        else:
            set_field(struct, name, value)
    return struct


def _shape_of(parameter: tfm_parameter) -> Tuple[int, ...]:
    return tuple(parameter.shape[:parameter.rank])
