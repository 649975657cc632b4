"""What the library reports, each a struct of transformer.h. Written by generate.py."""
from dataclasses import dataclass
from typing import Optional, Tuple


@dataclass(frozen=True)
class SpecialIds:
    """Ids with a meaning of their own; -1: there is none.

    pad: as TFM_PAD: never produced, never fed
    eos: as TFM_EOS: ends a source and a target
    bos: as TFM_BOS: what the decoder may read first
    unk: as TFM_UNK: what cannot be expressed
    """

    pad: int
    eos: int
    bos: int
    unk: int


@dataclass(frozen=True)
class ModelCosts:
    """Parameter counts (PAPER Table 3's last column counts them) and multiply-add costs of a configuration.

    attention: parameters of one attention sub-layer
    feedforward: of one feed-forward sub-layer
    encoder: of the encoder stack with its norms
    decoder: of the decoder stack with its norms
    embeddings: embeddings, learned positions, output matrix and bias
    parameters: all
    source_macs: forward multiply-adds per source token
    target_macs: forward multiply-adds per target token
    training_flops: per pair of one source and one target token: 3 * 2 * (source_macs + target_macs)
    """

    attention: int
    feedforward: int
    encoder: int
    decoder: int
    embeddings: int
    parameters: int
    source_macs: float
    target_macs: float
    training_flops: float


@dataclass(frozen=True)
class Metrics:
    """What happened.

    event: Event
    step: updates so far, those before a resume included
    epoch: passes over the data finished
    steps_total: estimate of the last step; 0 when unknown
    source_tokens: of this step
    target_tokens: of this step
    loss: mean label-smoothed cross-entropy per target token, nats (5.4)
    nll: mean -log p(target), nats: no smoothing; exp of it is the perplexity
    learning_rate: of this step
    gradient_norm: Euclidean, before clipping
    tokens_per_s: target tokens a second, mean of the latest steps
    seconds: of training, in all runs and steps of this trainer
    seconds_left: estimate; < 0 when unknown
    valid_nll: mean -log p per target token of the validation data
    valid_perplexity: exp(valid_nll)
    valid_bleu: percent, tokens as the validation target has them (tokenize none); < 0 when not computed
    best_valid: best valid_nll, or best BLEU when that is the criterion
    path: of the checkpoint
    message: of the last event
    skipped: steps so far whose loss or gradient was not finite (max_skipped), those before a resume included
    """

    event: int
    step: int
    epoch: int
    steps_total: int
    source_tokens: int
    target_tokens: int
    loss: float
    nll: float
    learning_rate: float
    gradient_norm: float
    tokens_per_s: float
    seconds: float
    seconds_left: float
    valid_nll: float
    valid_perplexity: float
    valid_bleu: float
    best_valid: float
    path: Optional[str]
    message: Optional[str]
    skipped: int


@dataclass(frozen=True)
class DataReport:
    """Counts of what the data gave.

    pairs: used
    blank: skipped: source or target empty
    too_long: skipped: more than max_length tokens, or than learned positions
    source_tokens: of the used pairs, EOS counted
    target_tokens: likewise
    unknown: TFM_UNK among them
    piece_tokens: a batch is worked off in pieces of at most so many source and target tokens: batch_tokens, or fewer
        for the sake of memory
    memory: bytes that the training needs, with the scratch of 8 threads; but for the search of a validation BLEU
    """

    pairs: int
    blank: int
    too_long: int
    source_tokens: int
    target_tokens: int
    unknown: int
    piece_tokens: int
    memory: int


@dataclass(frozen=True)
class ProfileEntry:
    """How long one kind of work took since its trainer or decoder was created, on the calling thread.

    kind: ProfileKind
    name: "linear", "linear backward", "forward"; static storage
    calls: how often
    seconds: in all
    flops: of its matrix products, 2 for each multiply-add; 0 for phases
    """

    kind: int
    name: Optional[str]
    calls: int
    seconds: float
    flops: float


@dataclass(frozen=True)
class BleuResult:
    """What tfm_bleu() found.

    score: percent
    brevity: penalty, 0..1
    precisions: percent, per order
    matches: n-grams of the hypotheses that a reference has, per order
    totals: n-grams of the hypotheses, per order
    hyp_length: tokens of the hypotheses
    ref_length: tokens of the references; of several the closest, then shortest, counts
    signature: "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:libtransformer-0.2.0"
    """

    score: float
    brevity: float
    precisions: Tuple[float, ...]
    matches: Tuple[int, ...]
    totals: Tuple[int, ...]
    hyp_length: int
    ref_length: int
    signature: str


@dataclass(frozen=True)
class MetricResult:
    """What tfm_chrf() and tfm_ter() found.

    score: percent
    signature: "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:libtransformer-0.2.0"
    """

    score: float
    signature: str


@dataclass(frozen=True)
class Comparison:
    """What tfm_compare() found; [0]: the baseline, [1]: the other system.

    score: of the corpus, percent
    mean: of the samples' scores
    interval: 95 % of the samples' scores lie within mean +- interval, about
    p_value: how often chance alone makes a difference as large as that of score
    signature: "nrefs:1|bs:1000|seed:12345|...", the rest as that of the metric
    """

    score: Tuple[float, ...]
    mean: Tuple[float, ...]
    interval: Tuple[float, ...]
    p_value: float
    signature: str


@dataclass(frozen=True)
class ParsevalRow:
    """A parse beside its gold tree; counts are 0 unless it is valid. Never grows.

    length: words of the gold tree, without those that DELETE_LABEL_FOR_LENGTH names
    status: ParsevalStatus
    matched: constituents that are in both
    gold: constituents of the gold tree
    test: constituents of the parse
    crossing: constituents of the parse that cross one of the gold tree
    words: that count
    tags: of them with the right tag
    """

    length: int
    status: int
    matched: int
    gold: int
    test: int
    crossing: int
    words: int
    tags: int


@dataclass(frozen=True)
class ParsevalResult:
    """What tfm_parseval() found; [0]: of all sentences, [1]: of those of at most cutoff words.

    f1: of recall and precision, percent; 0 when nothing matches
    recall: matched_brackets of gold_brackets, percent
    precision: matched_brackets of test_brackets, percent
    complete: complete_sentences of the valid ones, percent
    crossing: crossing_brackets per valid sentence
    uncrossed: uncrossed_sentences of the valid ones, percent
    little_crossed: little_crossed_sentences of the valid ones, percent
    tagging: tags of words, percent
    sentences: all
    errors: of them that could not be compared; they count in no score
    skipped: of them that have no words; they count in no score
    matched_brackets: constituents that are in both
    gold_brackets: constituents of the gold trees
    test_brackets: constituents of the parses
    crossing_brackets: constituents of the parses that cross one of the gold tree
    words: that count
    tags: of them with the right tag
    complete_sentences: valid ones with the same constituents in both
    uncrossed_sentences: valid ones without crossing brackets
    little_crossed_sentences: valid ones with at most two
    cutoff: CUTOFF_LEN
    signature: "nrefs:1|labels:yes|cutoff:40|prm:(digest)|version:libtransformer-0.2.0"
    """

    f1: Tuple[float, ...]
    recall: Tuple[float, ...]
    precision: Tuple[float, ...]
    complete: Tuple[float, ...]
    crossing: Tuple[float, ...]
    uncrossed: Tuple[float, ...]
    little_crossed: Tuple[float, ...]
    tagging: Tuple[float, ...]
    sentences: Tuple[int, ...]
    errors: Tuple[int, ...]
    skipped: Tuple[int, ...]
    matched_brackets: Tuple[int, ...]
    gold_brackets: Tuple[int, ...]
    test_brackets: Tuple[int, ...]
    crossing_brackets: Tuple[int, ...]
    words: Tuple[int, ...]
    tags: Tuple[int, ...]
    complete_sentences: Tuple[int, ...]
    uncrossed_sentences: Tuple[int, ...]
    little_crossed_sentences: Tuple[int, ...]
    cutoff: int
    signature: str


@dataclass(frozen=True)
class Measurement:
    """How fast a part of the library is on this machine, by itself: for benchmarks and diagnosis.

    name: what was measured; static storage
    shape: and its sizes; static storage
    twin: the instruction set it was compiled for, "ref" being portable C; static storage
    seconds: of a call: median
    flops: arithmetic operations of a call
    bytes: that a call must read and write at least, each once
    """

    name: Optional[str]
    shape: Optional[str]
    twin: Optional[str]
    seconds: float
    flops: float
    bytes: float
