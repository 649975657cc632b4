/* All translations that a tiny model can give, one by one: what the search must find under any control. */
#ifndef DECODING_ORACLE_H
#define DECODING_ORACLE_H

#include "golden_model.h"

enum { TINY_V = 6, TINY_LONGEST = 5, TINY_ALL = 400 };

typedef struct tiny_sequence {
    int32_t ids[TINY_LONGEST];
    size_t size;
    double logprob, score, drawn; /* drawn: log-probability that a sample is this one */
} tiny_sequence;

/* Changes the row of logits after n ids. */
typedef void tiny_change(double row[TINY_V], const int32_t *ids, size_t n);

typedef struct tiny {
    golden g;
    tfm_decoder_options options;
    tfm_ids source, prefix;
    tiny_change *change;
    tiny_sequence all[TINY_ALL];
    size_t n;
} tiny;

/* Random weights, sharp enough for hypotheses to differ. */
static inline void tiny_begin(tiny *t, uint64_t seed)
{
    tfm_model_options o = golden_options();

    o.vocab_size = o.source_vocab_size = TINY_V;
    o.seed = seed;
    golden_begin_with(&t->g, &o, 1, tfm_cpu_flags(true));
    tfm_weights_init(&t->g.weights, t->g.data);
    for (size_t i = 0; i < t->g.weights.size; i++) t->g.data[i] *= 1.7f;
}

static inline void tiny_end(tiny *t)
{
    golden_end(&t->g);
}

/* Logits after BOS and n ids, from a pass over all of it. */
static inline void tiny_logits(tiny *t, double row[TINY_V], const int32_t *ids, size_t n)
{
    static const uint32_t positions[] = {0, 1, 2, 3, 4, 5, 6, 7};
    int32_t input[TINY_LONGEST + 1] = {TFM_BOS};
    const size_t source_offset[] = {0, t->source.size}, target_offset[] = {0, n + 1};
    const tfm_tokens s = {{1, source_offset}, t->source.data, positions}, p = {{1, target_offset}, input, positions};
    tfm_run *run = &t->g.run;

    memcpy(input + 1, ids, n * sizeof *ids);
    tfm_run_measure(run, false);
    for (int placed = 0; placed < 2; placed++) {
        tfm_value *memory = tfm_value_new(run, t->source.size, GOLDEN_D), *all = tfm_value_new(run, n + 1, GOLDEN_D);
        tfm_value *logits = tfm_value_new(run, n + 1, TINY_V);
        tfm_forward_encoder(run, memory, &t->g.transformer, &s);
        tfm_forward_decoder(run, all, &t->g.transformer, memory, &s.segments, &p);
        tfm_op_linear(run, logits, all, &t->g.weights.output, false, 0.0f, 0);
        for (size_t i = 0; placed && i < TINY_V; i++) row[i] = (double)logits->data[n * TINY_V + i];
        if (!placed) ck_assert(tfm_run_place(run, run->arena.peak, false));
    }
}

static inline double tiny_log_sum(const double row[TINY_V])
{
    double sum = 0.0;

    for (size_t i = 0; i < TINY_V; i++) sum += exp(row[i]);
    return log(sum);
}

static inline double tiny_penalty(const tfm_decoder_options *o, size_t n)
{
    if (o->length_norm == TFM_LENGTH_NONE) return 1.0;
    return pow(o->length_norm == TFM_LENGTH_PAPER ? (5.0 + (double)n) / 6.0 : (double)n, (double)o->alpha);
}

/* Wu et al. 2016: attention of the last layer or another, of all heads or one, of all steps, by a pass over the whole.
 */
static inline double tiny_coverage(tiny *t, const tiny_sequence *s)
{
    static const uint32_t positions[] = {0, 1, 2, 3, 4, 5, 6, 7};
    const tfm_model_options *o = &t->g.weights.options;
    const uint32_t layer = t->options.alignment_layer ? t->options.alignment_layer - 1 : o->n_decoder_layers - 1;
    const size_t n = t->source.size, source_offset[] = {0, n}, target_offset[] = {0, s->size};
    int32_t input[TINY_LONGEST + 1] = {TFM_BOS};
    const tfm_tokens from = {{1, source_offset}, t->source.data, positions},
                     to = {{1, target_offset}, input, positions};
    const size_t one = t->options.alignment_head, begin = one ? one - 1 : 0, end = one ? one : o->n_heads;
    float heads[8 * TINY_LONGEST * 8];
    tfm_run *run = &t->g.run;
    double sum = 0.0;

    memcpy(input + 1, s->ids, (s->size - 1) * sizeof *input);
    tfm_run_measure(run, false);
    tfm_forward_attention(run, &t->g.transformer, &from, &to, TFM_ATTENTION_CROSS, layer, heads);
    ck_assert(tfm_run_place(run, run->arena.peak, false));
    tfm_forward_attention(run, &t->g.transformer, &from, &to, TFM_ATTENTION_CROSS, layer, heads);
    for (size_t j = 0; j < n; j++) {
        double covered = 0.0;
        for (size_t i = 0; i < s->size; i++)
            for (size_t head = begin; head < end; head++)
                covered += (double)heads[(head * s->size + i) * n + j] / (double)(end - begin);
        if (covered < 1.0) sum += log(covered);
    }
    return (double)t->options.coverage * sum;
}

static inline void tiny_keep(tiny *t, tiny_sequence s)
{
    s.score = s.logprob / tiny_penalty(&t->options, s.size);
    if (t->options.coverage > 0.0f) s.score += tiny_coverage(t, &s);
    ck_assert_uint_lt(t->n, TINY_ALL);
    t->all[t->n++] = s;
}

static inline bool tiny_may_come(const tiny *t, const double row[TINY_V], int32_t id)
{
    const bool special = id == TFM_PAD || id == TFM_BOS;

    return (!special || t->options.allow_special) && row[id] > -INFINITY;
}

/* What the tokens better than id have of these, and how many they are. */
static inline double tiny_above(const double of[TINY_V], const double row[TINY_V], int32_t id, size_t *rank)
{
    double sum = 0.0;

    *rank = 0;
    for (int32_t i = 0; i < TINY_V; i++)
        if (of[i] > 0.0 && (row[i] > row[id] || (row[i] == row[id] && i < id))) sum += of[i], ++*rank;
    return sum;
}

/* Probabilities of what a sample draws next: at its temperature, the top_k best, of these the fewest that reach top_p.
 */
static inline void tiny_draw(const tiny *t, double drawn[TINY_V], const double row[TINY_V])
{
    const tfm_decoder_options *o = &t->options;
    double weights[TINY_V], best[TINY_V], all = 0.0, sum = 0.0;
    size_t rank;

    for (int32_t id = 0; id < TINY_V; id++)
        weights[id] = tiny_may_come(t, row, id) ? exp(row[id] / (double)o->temperature) : 0.0;
    for (int32_t id = 0; id < TINY_V; id++) {
        tiny_above(weights, row, id, &rank);
        all += best[id] = !o->top_k || rank < o->top_k ? weights[id] : 0.0;
    }
    for (int32_t id = 0; id < TINY_V; id++) {
        const double above = tiny_above(best, row, id, &rank);
        sum += drawn[id] = o->top_p <= 0.0f || above < (double)o->top_p * all ? best[id] : 0.0;
    }
    for (int32_t id = 0; id < TINY_V; id++) drawn[id] /= sum;
}

/* Every end of what begins so within longest tokens, in a search, or that a sample may draw. A prefix comes with the
 * model's own probabilities. PAD and BOS have their share of the probability, but come only where that is allowed; EOS
 * comes alone where nothing else may. */
static inline void tiny_extend(tiny *t, tiny_sequence from, size_t longest)
{
    const bool samples = t->options.temperature > 0.0f;
    double row[TINY_V], drawn[TINY_V];
    bool any = false;

    tiny_logits(t, row, from.ids, from.size);
    if (from.size < t->prefix.size) {
        const int32_t id = t->prefix.data[from.size];
        from.ids[from.size++] = id;
        from.logprob += row[id] - tiny_log_sum(row);
        tiny_extend(t, from, longest);
        return;
    }
    if (t->change) t->change(row, from.ids, from.size);
    const double lse = tiny_log_sum(row);
    if (samples) tiny_draw(t, drawn, row);
    for (int32_t id = 0; id < TINY_V; id++) {
        tiny_sequence next = from;
        if (!tiny_may_come(t, row, id)) continue;
        any = true;
        if (samples && drawn[id] <= 0.0) continue;
        if (samples) next.drawn += log(drawn[id]);
        next.ids[next.size++] = id;
        next.logprob += row[id] - lse;
        if (id == TFM_EOS) tiny_keep(t, next);
        else if (next.size < longest) tiny_extend(t, next, longest);
    }
    if (any) return;
    from.ids[from.size++] = TFM_EOS;
    tiny_keep(t, from);
}

static inline int tiny_by_score(const void *a, const void *b)
{
    const tiny_sequence *x = a, *y = b;

    return (x->score < y->score) - (x->score > y->score);
}

/* All that end, best first. */
static inline void tiny_enumerate(tiny *t, size_t longest)
{
    t->n = 0;
    tiny_extend(t, (tiny_sequence){.size = 0}, longest);
    qsort(t->all, t->n, sizeof *t->all, tiny_by_score);
}

/* -------------------------------------------------------------------------------- rules of controls, restated ---- */

static inline size_t tiny_at_least(const tiny *t)
{
    const tfm_decoder_options *o = &t->options;
    size_t n = o->min_length;

    while ((float)n < o->min_ratio * (float)t->source.size) n++;
    return n;
}

static inline size_t tiny_at_most(const tiny *t)
{
    const tfm_decoder_options *o = &t->options;
    size_t n = 1;

    while (n < o->max_length && (o->max_ratio <= 0.0f || (float)n < o->max_ratio * (float)t->source.size))
        n++;
    return n;
}

static inline bool tiny_would_repeat(const int32_t *ids, size_t n, int32_t id, size_t order)
{
    int32_t with[TINY_LONGEST + 1];

    memcpy(with, ids, n * sizeof *ids);
    with[n++] = id;
    for (size_t i = 0; i + order < n; i++)
        if (!memcmp(with + i, with + n - order, order * sizeof *with)) return true;
    return false;
}

static inline bool tiny_completes(const int32_t *ids, size_t n, int32_t id, tfm_ids forbidden)
{
    if (forbidden.data[forbidden.size - 1] != id || forbidden.size - 1 > n) return false;
    for (size_t i = 0; i + 1 < forbidden.size; i++)
        if (ids[n - (forbidden.size - 1) + i] != forbidden.data[i]) return false;
    return true;
}

static inline bool tiny_occurs(const int32_t *ids, size_t n, int32_t id)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] == id) return true;
    return false;
}

/* What the options make of a row. */
static inline void tiny_controls(const tiny *t, double row[TINY_V], const int32_t *ids, size_t n)
{
    const tfm_decoder_options *o = &t->options;
    const double penalty = o->repetition_penalty > 0.0f ? (double)o->repetition_penalty : 1.0;

    for (int32_t id = 0; id < TINY_V; id++) {
        if (tiny_occurs(ids, n, id)) row[id] = row[id] > 0.0 ? row[id] / penalty : row[id] * penalty;
        if (o->no_repeat_ngram && tiny_would_repeat(ids, n, id, o->no_repeat_ngram)) row[id] = -INFINITY;
        for (size_t i = 0; i < o->n_forbidden; i++)
            if (tiny_completes(ids, n, id, o->forbidden[i])) row[id] = -INFINITY;
    }
    if (n + 1 < tiny_at_least(t)) row[TFM_EOS] = -INFINITY;
}

#endif
