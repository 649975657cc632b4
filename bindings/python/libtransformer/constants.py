"""Constants of transformer.h. Written by generate.py: change the header, not this file."""
from enum import IntEnum


class Status(IntEnum):
    """Result of every call that can fail.

    OK: done
    INVALID: an argument breaks the documented contract
    NOMEM: the allocator returned None; the object is unchanged
    IO: the operating system refused to read, write or start
    FORMAT: a file or text is truncated, corrupt, or of another kind
    UNSUPPORTED: valid, but not known to this version
    CANCELLED: a callback asked to stop; everything is valid
    """

    OK = 0
    INVALID = -1
    NOMEM = -2
    IO = -3
    FORMAT = -4
    UNSUPPORTED = -5
    CANCELLED = -6


class Special(IntEnum):
    """Ids that every vocabulary reserves.

    PAD: never produced, never fed
    EOS: ends every source and target
    BOS: first input of the decoder
    UNK: what a tokenizer cannot express
    """

    PAD = 0
    EOS = 1
    BOS = 2
    UNK = 3


class Dtype(IntEnum):
    """Types of the operands of matrix products.

    F32: float32
    BF16: rounded to bfloat16, summed in float32; weights, loss, softmax and norms stay float32
    INT8: 8-bit integers: weights with a scale for each output, activations for each row; inference only
    """

    F32 = 0
    BF16 = 1
    INT8 = 2


class LogLevel(IntEnum):
    """How grave a message is.

    INFO: nothing to do
    WARNING: the result may not be what was meant; the work goes on
    """

    INFO = 0
    WARNING = 1


class TokenizerKind(IntEnum):
    """How text is cut into tokens.

    BPE: raw text; spaces are a symbol, unknown characters become bytes: decode(encode(x)) == x
    SUBWORD_NMT: pre-tokenised text; merges and "@@ " output as subword-nmt 0.3
    SENTENCEPIECE: raw text; a model of SentencePiece, read from its own file, never learned here
    WORDPIECE: raw text; the subwords of tensor2tensor, learned or read from its vocabulary files
    BERT: raw text; BERT's word-pieces, read from its vocab.txt; case and accents are lost unless kept
    """

    BPE = 0
    SUBWORD_NMT = 1
    SENTENCEPIECE = 2
    WORDPIECE = 3
    BERT = 4


class Language(IntEnum):
    """Languages with rules of their own for words.

    ENGLISH: en
    GERMAN: de
    FRENCH: fr
    """

    ENGLISH = 0
    GERMAN = 1
    FRENCH = 2


class NormOrder(IntEnum):
    """Where layer normalisation stands.

    POST: LN(x + Sublayer(x)), 3.1
    PRE: x + Sublayer(LN(x)), one more LN after each stack
    """

    POST = 0
    PRE = 1


class Positions(IntEnum):
    """How positions are encoded.

    PAPER: 3.5: sine and cosine interleaved
    HALVES: tensor2tensor, fairseq, Marian: sines, then cosines, exponent i/(d/2-1)
    LEARNED: Table 3, row E: one table per stack
    SPLIT: the paper's numbers, all sines, then all cosines (Hugging Face's Marian)
    """

    PAPER = 0
    HALVES = 1
    LEARNED = 2
    SPLIT = 3


class Sharing(IntEnum):
    """Which embeddings are one matrix.

    ALL: 3.4: one matrix for source, target and output
    TARGET: target embedding and output share one
    NONE: each has its own
    """

    ALL = 0
    TARGET = 1
    NONE = 2


class Start(IntEnum):
    """What the decoder reads first.

    BOS: the decoder's first input is the embedding of TFM_BOS
    ZERO: it is the zero vector (tensor2tensor); position 0 is added
    """

    BOS = 0
    ZERO = 1


class Activation(IntEnum):
    """What the feed-forward network applies.

    RELU: max(0, x), eq. (2)
    GELU: x Phi(x), Phi the normal distribution
    GELU_TANH: x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
    SWISH: x / (1 + exp(-x)), also called SiLU
    """

    RELU = 0
    GELU = 1
    GELU_TANH = 2
    SWISH = 3


class Init(IntEnum):
    """Limits of the random weights.

    FUSED: Xavier limits of merged Q|K|V matrices, as the 2017 code created them
    SEPARATE: Xavier limits of each matrix by itself
    """

    FUSED = 0
    SEPARATE = 1


class Export(IntEnum):
    """Formats of other systems that models are written in.

    MARIAN: a file model.npz
    HUGGING_FACE: a directory with config.json and model.safetensors
    """

    MARIAN = 1
    HUGGING_FACE = 2


class StopRule(IntEnum):
    """When the search for a sentence ends.

    BEST: a sentence ends when its best finished hypothesis cannot be beaten; exact for the first answer, and with
        n_best > 1 when n_best are finished and the worst of them cannot be beaten
    WORST: the 2017 rule: its worst finished hypothesis cannot be beaten
    """

    BEST = 0
    WORST = 1


class LengthNorm(IntEnum):
    """What the score of a hypothesis is divided by.

    PAPER: ((5 + n) / 6)^alpha, Wu et al. 2016 (6.1)
    MARIAN: n^alpha: Marian's --normalize
    FAIRSEQ: n^alpha: fairseq's --lenpen counts EOS too
    NONE: 1: the log-probability itself
    """

    PAPER = 0
    MARIAN = 1
    FAIRSEQ = 2
    NONE = 3


class LongSource(IntEnum):
    """What becomes of a line that is too long.

    REFUSE: an error that names it
    SPLIT: it is cut in two where a sentence ends in its middle half, as near to the middle as possible; where none does
        behind other punctuation, else at white space, else between characters; and so are its halves, until none is too
        long. Their translations are joined, with a space where there was white space; a prefix is that of the first
        part, the token of a language with which the line begins (tfm_tokenizer_renumber) that of each; lines with terms
        are refused
    """

    REFUSE = 0
    SPLIT = 1


class AlignmentStep(IntEnum):
    """Whether and how tokens are aligned with those of their source.

    NONE: not at all
    OUTPUT: by the attention of the step that predicts the token, as other systems take it
    INPUT: by that of the step that reads it (Chen et al. 2020): sometimes better, and then in a middle layer
    """

    NONE = 0
    OUTPUT = 1
    INPUT = 2


class AlignmentUnit(IntEnum):
    """What rows and columns of an alignment are.

    TOKENS: tokens: all of the target, and all of the source, EOS included
    WORDS: words: what stands between ASCII white space in the lines
    """

    TOKENS = 0
    WORDS = 1


class AttentionKind(IntEnum):
    """Which attention of the model.

    ENCODER: encoder self-attention
    DECODER: masked decoder self-attention
    CROSS: decoder queries on the encoder's output
    """

    ENCODER = 0
    DECODER = 1
    CROSS = 2


class Smoothing(IntEnum):
    """Where label smoothing puts its mass.

    PAPER: 1 - eps on the target, eps / (V - 1) on every other id
    UNIFORM: 1 - eps on the target, plus eps / V on every id
    """

    PAPER = 0
    UNIFORM = 1


class Event(IntEnum):
    """What happened in a training.

    STEP: an update of the weights
    EPOCH: the training data was read once more
    VALID: valid_* are new
    CHECKPOINT: path is the file just written
    DONE: the last event; message says why the training ended
    """

    STEP = 0
    EPOCH = 1
    VALID = 2
    CHECKPOINT = 3
    DONE = 4


class ProfileKind(IntEnum):
    """What an entry of a profile counts.

    OPERATION: of the model, one after another
    PHASE: of the work as a whole, likewise: a training step, a translation is made of several
    """

    OPERATION = 0
    PHASE = 1


class BleuTokenize(IntEnum):
    """How BLEU cuts its text.

    V13A: mteval-v13a, sacreBLEU's default
    NONE: text is already tokenised: split at white space
    INTL: mteval-v14 --international-tokenization
    CHAR: every character is a token
    ZH: every Chinese character is a token, the rest as 13a
    """

    V13A = 0
    NONE = 1
    INTL = 2
    CHAR = 3
    ZH = 4


class BleuSmooth(IntEnum):
    """What BLEU makes of a precision of zero.

    EXP: k-th zero precision becomes 100 / (2^k * total): sacreBLEU
    NONE: any zero precision makes the score 0: multi-bleu.perl
    FLOOR: zero counts become smooth_value (default 0.1)
    ADD_K: smooth_value (default 1) is added to counts and totals, n > 1
    """

    EXP = 0
    NONE = 1
    FLOOR = 2
    ADD_K = 3


class MetricKind(IntEnum):
    """How translations are judged.

    BLEU: options: tfm_bleu_options
    CHRF: options: tfm_chrf_options
    TER: options: tfm_ter_options
    """

    BLEU = 0
    CHRF = 1
    TER = 2


class ParsevalStatus(IntEnum):
    """What became of a parse.

    VALID: it was compared
    NO_WORDS: skipped: it has no words that count
    OTHER_LENGTH: an error: not as many words that count as the gold tree
    OTHER_WORDS: an error: other words than those of the gold tree
    BAD_PARSE: an error: not a tree
    BAD_GOLD: an error: the gold tree is none
    TOO_LARGE: an error: one of them has more than 4,000 words or constituents
    """

    VALID = 0
    NO_WORDS = 1
    OTHER_LENGTH = 2
    OTHER_WORDS = 3
    BAD_PARSE = 4
    BAD_GOLD = 5
    TOO_LARGE = 6
