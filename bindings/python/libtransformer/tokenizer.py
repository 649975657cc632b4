"""Text and ids."""
from ctypes import byref, c_char, c_float, c_int32, c_size_t, c_uint64, c_void_p, sizeof
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Tuple

from ._abi import tfm_log_fn, tfm_pretokenize_options, tfm_special_ids, tfm_tokenizer_options
from ._calls import Call
from ._convert import (Ids, Line, Path, decoded, fill, index, path_bytes, real, record, sequence, take_function, text,
                       texts, whole, written)
from ._handles import Handle, Usage, Owned, create
from ._library import lib
from .constants import Language, TokenizerKind
from .errors import checked
from .options import PretokenizeOptions, TokenizerOptions
from .records import SpecialIds

if TYPE_CHECKING:
    from typing_extensions import Unpack


def log_callback(usage: Usage, function: Optional[Callable[[int, str], object]]) -> Any:
    """The C callback that hands a message to function(level, message); None gives none."""
    def log(_user: Any, level: int, message: bytes) -> None:
        assert function is not None
        usage.ask(partial(function, level, message.decode("utf-8", "replace")))
    return tfm_log_fn(log) if function else none(tfm_log_fn)


def none(kind: Any) -> Any:
    """The NULL of a type of callbacks."""
    return kind()


class Tokenizer(Handle):
    """Text to ids and back, by byte pair encoding, word-pieces or a model of SentencePiece; one for both languages, or
    a pair of them.

    Made by learn(), load() or import_codes(), or lent by Model.tokenizer. Immutable: share it between threads freely.
    """

    @classmethod
    def learn(cls, lines: Iterable[Line], **options: "Unpack[TokenizerOptions]") -> "Tokenizer":
        """Learns merges and vocabulary from lines; options are the fields of TokenizerOptions.

        log(level, message) receives warnings. Ctrl-C takes effect when the learning has ended.
        """
        struct, usage, array = tfm_tokenizer_options(), Usage(), texts(lines, "lines")
        lib.tfm_tokenizer_options_init(byref(struct), sizeof(struct))
        given = dict(options)
        log = log_callback(usage, take_function(given, "log"))
        fill(struct, given, TokenizerOptions.__annotations__, "Tokenizer.learn()")
        struct.log = log

        def work(call: "Call[Owned]") -> Owned:
            usage.call = call
            return create(lib.tfm_tokenizer_learn, lib.tfm_tokenizer_free, byref(struct), array, len(array))
        return cls(Call(work).wait())

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        """Reads what save() wrote, a ".model" file of SentencePiece, or the tokenizer inside a model file."""
        return cls(create(lib.tfm_tokenizer_load, lib.tfm_tokenizer_free, path_bytes(path), None))

    @classmethod
    def import_codes(cls, codes: Path, lines: Iterable[Line]) -> "Tokenizer":
        """Reads a codes file of subword-nmt; the vocabulary comes from lines, the training text of both languages."""
        array = texts(lines, "lines")
        return cls(create(lib.tfm_tokenizer_import, lib.tfm_tokenizer_free, path_bytes(codes), array, len(array), None))

    def restrict(self, vocabulary: Optional[Path] = None, threshold: int = 0,
                 glossaries: Iterable[Line] = ()) -> "Tokenizer":
        """A tokenizer that splits again what a vocabulary file of subword-nmt has fewer than threshold times, and
        keeps the words of glossaries whole. Of TokenizerKind.SUBWORD_NMT only."""
        array = texts(glossaries, "glossaries")
        return Tokenizer(create(lib.tfm_tokenizer_restrict, lib.tfm_tokenizer_free, self._open(),
                                None if vocabulary is None else path_bytes(vocabulary), whole("threshold", threshold),
                                array, len(array), None))

    def keep_case(self) -> "Tokenizer":
        """A tokenizer that leaves capitals and accents, for a cased vocabulary. Of TokenizerKind.BERT only."""
        return Tokenizer(create(lib.tfm_tokenizer_keep_case, lib.tfm_tokenizer_free, self._open(), None))

    @classmethod
    def pair(cls, source: "Tokenizer", target: "Tokenizer") -> "Tokenizer":
        """Both as one, for a model whose languages have each their own: it is the source but for decode() and target."""
        return cls(create(lib.tfm_tokenizer_pair, lib.tfm_tokenizer_free, source._open(), target._open(), None))

    @property
    def target(self) -> "Tokenizer":
        """What encodes text of the target: that side of a pair, which it keeps alive, or the tokenizer itself."""
        owned = self._open()
        side = lib.tfm_tokenizer_target(owned)
        return self if side == owned._as_parameter_.value else Tokenizer(Owned(c_void_p(side), None, (owned,)))

    def renumber(self, vocabulary: Path) -> "Tokenizer":
        """A SentencePiece model's pieces with the ids of a file: Marian's vocab.yml or Hugging Face's vocab.json."""
        return Tokenizer(create(lib.tfm_tokenizer_renumber, lib.tfm_tokenizer_free, self._open(),
                                path_bytes(vocabulary), None))

    def save(self, path: Path) -> None:
        """Writes a file of plain text, atomically."""
        checked(lib.tfm_tokenizer_save, self._open(), path_bytes(path))

    def export_codes(self, path: Path) -> None:
        """Writes a codes file of subword-nmt or, for TokenizerKind.WORDPIECE, a vocabulary file of tensor2tensor."""
        checked(lib.tfm_tokenizer_export, self._open(), path_bytes(path))

    @property
    def vocab_size(self) -> int:
        """Number of ids, specials included."""
        return int(lib.tfm_tokenizer_vocab_size(self._open()))

    @property
    def kind(self) -> TokenizerKind:
        """How text is cut into tokens."""
        return TokenizerKind(lib.tfm_tokenizer_kind(self._open()))

    @property
    def special(self) -> SpecialIds:
        """The ids with a meaning of their own."""
        ids = tfm_special_ids()
        lib.tfm_tokenizer_special(byref(ids), self._open())
        return record(SpecialIds, ids)

    def token(self, number: int) -> str:
        """The token of an id, as it stands in the vocabulary. IndexError when there is none."""
        owned, number = self._open(), index("id", number)
        if not 0 <= number < self.vocab_size:
            raise IndexError(f"id {number} is not in 0..{self.vocab_size - 1}")
        return decoded(lib.tfm_tokenizer_token(owned, number))

    def id(self, token: Line) -> int:
        """The id of a token of the vocabulary, or the one of what is unknown."""
        return int(lib.tfm_tokenizer_id(self._open(), text(token)))

    def encode(self, line: Line) -> List[int]:
        """The ids of a line, without EOS. FormatError for invalid UTF-8: see utf8_repair()."""
        owned, piece = self._open(), text(line)

        def write(ids: Any, capacity: int, n_ids: Any) -> None:
            checked(lib.tfm_tokenizer_encode, ids, capacity, n_ids, owned, piece)
        return list(written(c_int32, piece.size + 1, write))

    def decode(self, ids: Ids) -> str:
        """The text of ids, of a pair those of its target; PAD, BOS and EOS are skipped, and U+FFFD stands for half a character."""
        owned, numbers = self._open(), sequence(ids)

        def write(buffer: Any, capacity: int, size: Any) -> None:
            checked(lib.tfm_tokenizer_decode, buffer, capacity, size, owned, numbers)
        return _string(8 * numbers.size + 1, write)

    def segment(self, line: Line) -> str:
        """The line cut into tokens and joined by spaces: subword-nmt's "apply-bpe" for that kind."""
        owned, piece = self._open(), text(line)

        def write(buffer: Any, capacity: int, size: Any) -> None:
            checked(lib.tfm_tokenizer_segment, buffer, capacity, size, owned, piece)
        return _string(4 * piece.size + 1, write)


    def encode_dropout(self, line: Line, dropout: float, *, seed: int = 0, draw: int = 0) -> List[int]:
        """The ids of a line with each merge left out with the probability dropout (BPE-dropout).

        The same seed and draw give the same ids; draw tells lines apart: give each another number.
        """
        owned, piece = self._open(), text(line)

        def write(ids: Any, capacity: int, n_ids: Any) -> None:
            checked(lib.tfm_tokenizer_encode_dropout, ids, capacity, n_ids, owned, piece, real("dropout", dropout),
                    whole("seed", seed, c_uint64), whole("draw", draw, c_uint64))
        return list(written(c_int32, piece.size + 1, write))

    def segment_dropout(self, line: Line, dropout: float, *, seed: int = 0, draw: int = 0) -> str:
        """The same, cut into tokens and joined by spaces: subword-nmt's "apply-bpe --dropout" for that kind."""
        owned, piece = self._open(), text(line)

        def write(buffer: Any, capacity: int, size: Any) -> None:
            checked(lib.tfm_tokenizer_segment_dropout, buffer, capacity, size, owned, piece, real("dropout", dropout),
                    whole("seed", seed, c_uint64), whole("draw", draw, c_uint64))
        return _string(4 * piece.size + 1, write)

    def normalize(self, line: Line) -> str:
        """The text as a SentencePiece model sees it, with U+2581 for spaces; other kinds see the text itself."""
        owned, piece = self._open(), text(line)

        def write(buffer: Any, capacity: int, size: Any) -> None:
            checked(lib.tfm_tokenizer_normalize, buffer, capacity, size, owned, piece)
        return _string(4 * piece.size + 1, write)

    def nbest(self, line: Line, n: int) -> List[Tuple[List[int], float]]:
        """The n most probable ways to cut a line, each with its log-probability, by a unigram model."""
        n = min(whole("n", n, c_size_t), 1024)  # more are never given
        owned, piece, ends, scores, count = self._open(), text(line), (c_size_t * n)(), (c_float * n)(), c_size_t()

        def write(ids: Any, capacity: int, n_ids: Any) -> None:
            count.value = n
            checked(lib.tfm_tokenizer_nbest, ids, capacity, n_ids, ends, scores, byref(count), owned, piece)
        ids = list(written(c_int32, n * (piece.size + 1), write))
        starts = [0, *ends[:count.value]]
        return [(ids[starts[i]:starts[i + 1]], scores[i]) for i in range(count.value)]


def lent_tokenizer(pointer: Optional[int], owner: Owned) -> Optional[Tokenizer]:
    """The tokenizer inside a model, which it keeps alive."""
    return Tokenizer(Owned(c_void_p(pointer), None, (owner,))) if pointer else None


def utf8_check(line: bytes) -> Optional[int]:
    """The byte where the first invalid sequence of UTF-8 begins; None when all of it is valid."""
    at = int(lib.tfm_utf8_check(text(line)))
    return None if at == c_size_t(-1).value else at


def utf8_repair(line: bytes) -> str:
    """The text with U+FFFD for each maximal invalid part."""
    piece = text(line)

    def write(buffer: Any, capacity: int, size: Any) -> None:
        lib.tfm_utf8_repair(buffer, capacity, size, piece)
    return _string(3 * piece.size + 1, write)


def pretokenize(line: Line, **options: "Unpack[PretokenizeOptions]") -> str:
    """The words of a line with spaces between them, as Moses has them. The options are the fields of PretokenizeOptions."""
    return _words(lib.tfm_pretokenize, line, dict(options), "pretokenize()")


def detokenize(line: Line, language: Language = Language.ENGLISH) -> str:
    """Such words as text again."""
    return _words(lib.tfm_detokenize, line, {"language": language}, "detokenize()")


def _words(function: Any, line: Line, options: Dict[str, Any], who: str) -> str:
    piece, struct = text(line), tfm_pretokenize_options()
    lib.tfm_pretokenize_options_init(byref(struct), sizeof(struct))
    fill(struct, options, PretokenizeOptions.__annotations__, who)

    def write(buffer: Any, capacity: int, size: Any) -> None:
        checked(function, buffer, capacity, size, byref(struct), piece)
    return _string(2 * piece.size + 1, write)


def _string(guess: int, write: Callable[[Any, int, Any], None]) -> str:
    return bytes(written(c_char, guess, write)).decode("utf-8", "replace")
