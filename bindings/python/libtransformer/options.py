"""Keyword options, each a field of a struct of transformer.h. Written by generate.py."""
import os
from enum import IntEnum
from typing import Any, Callable, Dict, Iterable, Sequence, Tuple, Type, TypedDict, Union

from . import constants


class TokenizerOptions(TypedDict, total=False):
    """Fields of tfm_tokenizer_options.

    kind: TokenizerKind; default BPE
    vocab_size: BPE: entries wanted, specials and 256 bytes included; 260..2^24, default 8000. Word-piece: about how
        many, 3..2^24; a least count of each decides, and none is longer than 255 bytes
    merges: subword-nmt: merge operations; default 10000. The vocabulary is what they leave
    min_frequency: a pair seen less often is not merged; >= 1, default 2
    replace_invalid: 0: invalid UTF-8 is an error naming the line; 1: U+FFFD replaces it; default 0
    strict_size: nonzero: a text that does not support vocab_size (or merges) is an error; 0: a smaller vocabulary and a
        warning; default 0
    log: None: silence
    """

    kind: int
    vocab_size: int
    merges: int
    min_frequency: int
    replace_invalid: int
    strict_size: int
    log: Callable[[int, str], object]


class PretokenizeOptions(TypedDict, total=False):
    """Fields of tfm_pretokenize_options.

    language: Language; default ENGLISH
    lowercase: nonzero: in lower case, before all else; default 0
    normalize: nonzero: quotation marks, dashes and spaces of ASCII, before words; default 0
    split_hyphens: nonzero: "blue-eyed" becomes "blue @-@ eyed"; default 0
    no_escape: nonzero: & | < > ' " [ ] stay; 0: they become "&amp;" and such; default 0
    """

    language: int
    lowercase: int
    normalize: int
    split_hyphens: int
    no_escape: int


class ModelOptions(TypedDict, total=False):
    """Fields of tfm_model_options.

    n_encoder_layers: N; 1..256, default 6
    n_decoder_layers: N; 1..256, default 6
    d_model: width of a position; 1..65536, default 512
    d_ff: inner width of eq. (2); 1..1048576, default 2048
    n_heads: h; 1..1024, default 8
    d_k: width of a query and key per head; 0: d_model / n_heads; <= 4096
    d_v: width of a value per head; 0: d_model / n_heads; <= 4096
    vocab_size: target ids; 4..16777216; no default (a tokenizer sets it)
    source_vocab_size: 0: as vocab_size; must equal it when all embeddings are shared
    norm_order: TFM_POST_NORM (default) or TFM_PRE_NORM
    positions: Positions; default paper
    position_offset: index of the first position; default 0
    max_positions: learned positions: rows of the table, longest sequence; default 256
    sharing: Sharing; default all
    start: Start; default BOS
    attention_bias: biases on Q, K, V, O; default 0
    ffn_bias: b_1, b_2 of eq. (2); default 1
    softmax_bias: bias of the output projection; default 0
    init: Init; default fused
    layer_norm_eps: inside the root; > 0, default 1e-6
    seed: of the random weights; default 1
    activation: Activation; default ReLU
    embedding_norm: LN of embedding and position, before their dropout; default 0
    plain_embedding: nonzero: embeddings are not multiplied by sqrt(d_model); default 0
    own_ids: 0: the reserved ids are TFM_PAD, TFM_EOS, TFM_BOS (default); 1: the next three
    pad_id: never produced
    eos_id: ends a target, and a source unless plain_source
    bos_id: first input of the decoder with TFM_START_BOS; never produced unless it is eos_id
    plain_source: nonzero: nothing is appended to a source text; default 0
    force_first: nonzero: translations without a prefix have that of the next id; default 0
    first_id: as a language's token
    """

    n_encoder_layers: int
    n_decoder_layers: int
    d_model: int
    d_ff: int
    n_heads: int
    d_k: int
    d_v: int
    vocab_size: int
    source_vocab_size: int
    norm_order: Union[int, str]
    positions: Union[int, str]
    position_offset: int
    max_positions: int
    sharing: Union[int, str]
    start: Union[int, str]
    attention_bias: int
    ffn_bias: int
    softmax_bias: int
    init: Union[int, str]
    layer_norm_eps: float
    seed: int
    activation: Union[int, str]
    embedding_norm: int
    plain_embedding: int
    own_ids: int
    pad_id: int
    eos_id: int
    bos_id: int
    plain_source: int
    force_first: int
    first_id: int


class LoadOptions(TypedDict, total=False):
    """Fields of tfm_load_options.

    skip_checksum: nonzero: the weights are believed, not read and compared with their checksum; default 0
    """

    skip_checksum: int


class TranslatorOptions(TypedDict, total=False):
    """Fields of tfm_decoder_options.

    beam: hypotheses kept; 1: greedy; 1..1024, default 4 (6.1)
    alpha: exponent of the length penalty (length_norm); >= 0, default 0.6 (6.1)
    n_best: hypotheses returned per sentence, 1..beam, or samples, 1..1024; default 1
    max_extra: longest output = source tokens (EOS counted) + this; default 50 (6.1)
    max_length: absolute longest output, EOS counted; 0: no other limit; default 0
    max_source: a longer source (tokens, EOS counted) is too long, as is one of more than the model's positions:
        refused, or see long_source; >= 1, default 4096
    stop_rule: StopRule; default best
    allow_special: nonzero: PAD and BOS may be produced; default 0
    replace_invalid: nonzero: invalid UTF-8 becomes U+FFFD instead of an error; default 0
    batch_tokens: source tokens translated together, times beam; >= 1, default 4096
    n_threads: 1..1024; 0: all cores; default 1
    progress: None: none
    min_length: EOS is not offered before it would be this many tokens, EOS counted: its logit counts as -infinity; a
        sentence whose longest output is below ends without it; at most max_length; default 0
    dtype: Dtype of the matrices and of their products; default float32. A quantised model has its own: float32, the
        default, means int8 there, and bfloat16 is TFM_E_UNSUPPORTED
    length_norm: LengthNorm: what scores are divided by; default paper
    no_repeat_ngram: no sequence of so many tokens twice in a hypothesis; 0: they may; default 0
    repetition_penalty: positive logits of tokens already produced are divided by it, negative ones multiplied (Keskin
        et al. 2019); 0 and 1: none; > 0, default 0
    min_ratio: min_length is at least this times the source tokens, EOS counted on both sides, rounded up; >= 0, default
        0
    max_ratio: the longest output is at most this times the source tokens, rounded up, but 1; 0: no such limit; default
        0
    forbidden: [n_forbidden] sequences of tokens that are never produced, each of at least 1: alone a token, else its
        last one where the others stand before it, also where a longer word goes on behind it; copied
    temperature: > 0: n_best random samples instead of a search, beam is not used: logits are divided by this before
        they become probabilities; 0: search (default)
    top_k: samples are drawn from so many of the best tokens; 0: from all (default)
    top_p: and from the fewest of the best whose probabilities reach this sum, in [0, 1]; 0 and 1: from all; default 0
    seed: of samples, which depend on it, the source and their number, not on other sentences: equal sources have equal
        samples; default 0
    long_source: LongSource, of lines of text; ids that are too long are refused; default refuse
    alignment: AlignmentStep: tfm_decoder_alignment() has results; default none
    alignment_layer: decoder layer, from 1, whose attention on the source is looked at; 0: the last; default 0
    alignment_head: its head, from 1; 0: the mean of all; default 0
    coverage: beta of the coverage penalty (Wu et al. 2016): a finished hypothesis' score has beta times the sum over
        source tokens of log(min(what its tokens' attention on it sums to, 1)) added, of the attention that predicts
        them in the layer and head above; not for samples; 0: none; >= 0, default 0
    replace_unknown: nonzero: a word of the text that has the unknown token becomes the source word that it is aligned
        with; needs alignment; default 0
    """

    beam: int
    alpha: float
    n_best: int
    max_extra: int
    max_length: int
    max_source: int
    stop_rule: int
    allow_special: int
    replace_invalid: int
    batch_tokens: int
    n_threads: int
    progress: Callable[[int, int], object]
    min_length: int
    dtype: int
    length_norm: int
    no_repeat_ngram: int
    repetition_penalty: float
    min_ratio: float
    max_ratio: float
    forbidden: Iterable[Sequence[int]]
    temperature: float
    top_k: int
    top_p: float
    seed: int
    long_source: int
    alignment: int
    alignment_layer: int
    alignment_head: int
    coverage: float
    replace_unknown: int


class TrainerOptions(TypedDict, total=False):
    """Fields of tfm_trainer_options.

    n_threads: 1..1024; 0: all cores (default)
    seed: order of the data and dropout; default 1
    dropout: P_drop on each sub-layer's output before it is added (5.4); [0, 1), default 0.1
    dropout_embedding: on the sum of embedding and position; < 0: as dropout; default -1
    dropout_attention: on attention weights; [0, 1), default 0
    dropout_relu: after the ReLU; [0, 1), default 0
    label_smoothing: eps_ls of 5.4; [0, 1), default 0.1
    smoothing: Smoothing; default paper
    adam_beta1: decay of the first moment (5.3); [0, 1), default 0.9
    adam_beta2: decay of the second moment; [0, 1), default 0.98
    adam_eps: added to the root of the second moment; 1e-30..1, default 1e-9
    lr_scale: factor on the rate of eq. (3); 0..1e6, default 1
    warmup: warmup_steps of eq. (3); 1..1e9, default 4000
    clip_norm: larger gradients are scaled down to this norm; 0: no clipping (default)
    batch_tokens: a batch holds at most this many source and as many target tokens; 1..2^24, default 4096
    accumulate: batches per update and rank; 1..2^20, default 1
    max_length: pairs with more tokens on a side (EOS counted) are skipped; 1..2^20, default 256
    recompute: nonzero: keep only each layer's input and compute the rest again: less memory, more time
    max_steps: 0: no limit; default 100000
    max_epochs: 0: no limit (default)
    max_seconds: 0: no limit (default); of all runs of this trainer; with n_ranks 1 alone
    valid_every: steps between validations; 0: each epoch (default)
    valid_bleu: nonzero: translate the validation source too (beam 4, alpha 0.6); default 0
    patience: validations without a better criterion before the end; 0: never (default). The criterion is BLEU with
        valid_bleu, else valid_nll. A validation at the end, where none is due, does not count
    checkpoint_path: "x" gives files x-STEP.ckpt; None: none. Copied
    checkpoint_steps: steps between checkpoints; 0: each epoch (default), or by time alone
    checkpoint_seconds: and seconds between them (6.1: 600); 0: not by time (default)
    keep: how many of the latest checkpoints stay; older ones are deleted; 0: all; at most 1024, default 5. An end
        between two of them writes one more, which is deleted when a resumed run writes its first
    rank: this trainer among n_ranks that share the work; below n_ranks, default 0
    n_ranks: 1..65536, default 1: batch i of the epoch goes to rank i mod n_ranks
    replace_invalid: nonzero: invalid UTF-8 becomes U+FFFD instead of an error; default 0
    reduce: needed when n_ranks > 1
    log: None: silence
    memory: bytes that the training may take: a batch that needs more is worked off in pieces, its gradients are the
        same but for the rounding of their sums. 0: no limit, whole batches (default)
    dtype: Dtype of the steps (mixed precision); validation is float32; default float32
    max_skipped: a step whose loss or gradient is not finite is skipped: weights and moments stay, a warning is logged,
        and the next batch has its turn. So many in a row are an error; 1: the first one is. 0: 10 (default)
    bpe_dropout_source: chance of each merge to be left out when a source line is cut into tokens, anew for each epoch
        (BPE-dropout; see tfm_tokenizer_encode_dropout()); a line that would get longer than max_length is cut without.
        The text is kept in memory. For data given as text and tokenizers with merges; validation is never touched; [0,
        1], 0: off (default)
    bpe_dropout_target: likewise of a target line
    cooldown: the last steps up to max_steps, in which the rate of eq. (3) is taken times n/cooldown, n from cooldown
        down to 1: the weights settle, as the mean of checkpoints does for them at a high rate. 0: none (default); at
        most max_steps
    """

    n_threads: int
    seed: int
    dropout: float
    dropout_embedding: float
    dropout_attention: float
    dropout_relu: float
    label_smoothing: float
    smoothing: int
    adam_beta1: float
    adam_beta2: float
    adam_eps: float
    lr_scale: float
    warmup: int
    clip_norm: float
    batch_tokens: int
    accumulate: int
    max_length: int
    recompute: int
    max_steps: int
    max_epochs: int
    max_seconds: float
    valid_every: int
    valid_bleu: int
    patience: int
    checkpoint_path: Union[str, bytes, os.PathLike[str]]
    checkpoint_steps: int
    checkpoint_seconds: float
    keep: int
    rank: int
    n_ranks: int
    replace_invalid: int
    reduce: Callable[[Any], object]
    log: Callable[[int, str], object]
    memory: int
    dtype: int
    max_skipped: int
    bpe_dropout_source: float
    bpe_dropout_target: float
    cooldown: int


class AttentionOptions(TypedDict, total=False):
    """Fields of tfm_attention_options.

    causal: nonzero: query i sees keys j <= i + (n_keys - n_queries); default 0
    window: nonzero: and |i + n_keys - n_queries - j| <= window (restricted, section 4); default 0
    scale: 0: 1 / sqrt(d_k) (default)
    key_length: keys from here on are hidden; SIZE_MAX (default): all seen
    mask: [n_queries][n_keys], added to the scores; -INFINITY hides; None: none
    n_threads: 1..1024; 0: all cores; default 1
    """

    causal: int
    window: int
    scale: float
    key_length: int
    mask: Any
    n_threads: int


class BleuOptions(TypedDict, total=False):
    """Fields of tfm_bleu_options.

    tokenize: BleuTokenize; default 13a
    smooth: BleuSmooth; default exp
    smooth_value: < 0: the method's default (default)
    lowercase: nonzero: case-insensitive; default 0
    compound_split: nonzero: a hyphen between characters of a token becomes " ##AT##-##AT## " (get_ende_bleu.sh);
        default 0
    max_order: longest n-gram; 1..8, default 4
    effective_order: nonzero: orders longer than the hypothesis do not count (for sentences); default 0
    """

    tokenize: int
    smooth: int
    smooth_value: float
    lowercase: int
    compound_split: int
    max_order: int
    effective_order: int


class ChrfOptions(TypedDict, total=False):
    """Fields of tfm_chrf_options.

    char_order: longest n-gram of characters; 1..10, default 6
    word_order: longest n-gram of words; 0..6, default 0: chrF; 2: chrF++
    beta: recall counts beta times as much as precision; up to 1000, default 2
    lowercase: nonzero: case-insensitive; default 0
    whitespace: nonzero: white space counts as characters; default 0
    eps_smoothing: nonzero: all orders count, as in chrF++.py and Moses; default 0: those of which both sides have
        n-grams, as in sacreBLEU
    """

    char_order: int
    word_order: int
    beta: float
    lowercase: int
    whitespace: int
    eps_smoothing: int


class TerOptions(TypedDict, total=False):
    """Fields of tfm_ter_options.

    case_sensitive: nonzero: case counts; default 0
    normalized: nonzero: punctuation is set off first; default 0
    no_punctuation: nonzero: punctuation is removed; default 0
    asian_support: nonzero: the two above know Chinese and Japanese; default 0
    """

    case_sensitive: int
    normalized: int
    no_punctuation: int
    asian_support: int


class MeasureOptions(TypedDict, total=False):
    """Fields of tfm_measure_options.

    n_threads: of a product; 0: all cores; default 1
    dtype: of a product: Dtype, but for int8; default float32
    seconds: about how long to measure; 0..3600, default 0.1. At least one call, after one that does not count
    """

    n_threads: int
    dtype: int
    seconds: float


# The class of constants that a field takes.
MEMBERS: Dict[Tuple[str, str], Type[IntEnum]] = {
    ("tfm_tokenizer_options", "kind"): constants.TokenizerKind,
    ("tfm_pretokenize_options", "language"): constants.Language,
    ("tfm_model_options", "positions"): constants.Positions,
    ("tfm_model_options", "sharing"): constants.Sharing,
    ("tfm_model_options", "start"): constants.Start,
    ("tfm_model_options", "init"): constants.Init,
    ("tfm_model_options", "activation"): constants.Activation,
    ("tfm_decoder_options", "stop_rule"): constants.StopRule,
    ("tfm_decoder_options", "dtype"): constants.Dtype,
    ("tfm_decoder_options", "length_norm"): constants.LengthNorm,
    ("tfm_decoder_options", "long_source"): constants.LongSource,
    ("tfm_decoder_options", "alignment"): constants.AlignmentStep,
    ("tfm_trainer_options", "smoothing"): constants.Smoothing,
    ("tfm_trainer_options", "dtype"): constants.Dtype,
    ("tfm_bleu_options", "tokenize"): constants.BleuTokenize,
    ("tfm_bleu_options", "smooth"): constants.BleuSmooth,
    ("tfm_measure_options", "dtype"): constants.Dtype,
}
