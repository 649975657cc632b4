/* Drawing tokens by temperature, top-k and top-p, and the samples that are made of them. */
#include "decode/sampling.h"

#include "base/rng.h"

#include <math.h>

size_t tfm_sampling_width(const tfm_decoder_options *options, size_t vocab)
{
    return options->top_k && options->top_k < vocab ? options->top_k : vocab;
}

/* FNV-1a over the ids. */
uint64_t tfm_sampling_stream(tfm_ids source)
{
    uint64_t h = 0xCBF29CE484222325u;

    for (size_t i = 0; i < source.size; i++) h = (h ^ (uint32_t)source.data[i]) * 0x100000001B3u;
    return h;
}

/* Uniform in [0, 1), 53 bits. */
static double uniform(uint64_t seed, uint64_t stream, size_t position, uint32_t number)
{
    const uint32_t counter[4] = {(uint32_t)position, number, (uint32_t)stream, (uint32_t)(stream >> 32)};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t out[4];

    tfm_philox(out, counter, key);
    return (double)(((uint64_t)out[0] << 32 | out[1]) >> 11) * 0x1p-53;
}

static bool better(tfm_pick a, tfm_pick b)
{
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
}

static void sift_down(tfm_pick *at, size_t i, size_t n)
{
    const tfm_pick pick = at[i];

    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && better(at[child + 1], at[child])) child++;
        if (!better(at[child], pick)) break;
        at[i] = at[child];
    }
    at[i] = pick;
}

static double weight_of(tfm_pick pick, float best, const tfm_decoder_options *o)
{
    return exp(((double)pick.logit - (double)best) / (double)o->temperature);
}

/* The nucleus (Holtzman et al. 2020): the fewest of the best that have top_p of the total weight. They go to the end,
 * the best last, with their weights; returns where they begin. A heap, as they are few and the others many. */
static size_t find_nucleus(tfm_choice *row, const tfm_decoder_options *o, float best, double *total, double *weights)
{
    const double enough = (double)o->top_p * *total;
    size_t n = row->n;

    for (size_t i = n / 2; i--;) sift_down(row->picks, i, n);
    for (*total = 0.0; n && *total < enough;) {
        const tfm_pick top = row->picks[0];
        row->picks[0] = row->picks[--n];
        sift_down(row->picks, 0, n);
        row->picks[n] = top;
        *total += weights[n] = weight_of(top, best, o);
    }
    return n;
}

tfm_pick tfm_sampling_draw(tfm_choice *row, const tfm_decoder_options *options, double u, double *weights)
{
    const tfm_pick *picks = row->picks;
    float best = picks[0].logit;
    double total = 0.0, sum = 0.0;
    size_t first = 0;

    for (size_t i = 1; i < row->n; i++)
        if (picks[i].logit > best) best = picks[i].logit;
    for (size_t i = 0; i < row->n; i++) total += weights[i] = weight_of(picks[i], best, options);
    if (options->top_p > 0.0f && options->top_p < 1.0f) first = find_nucleus(row, options, best, &total, weights);
    for (size_t i = row->n; i-- > first;) {
        sum += weights[i];
        if (sum > u * total) return picks[i];
    }
    return picks[row->n - 1]; /* rounding left nothing to the last one */
}

/* One live sample goes on, or ends. */
static void take(tfm_beam *beam, uint32_t row, uint32_t number, tfm_pick pick, double logprob)
{
    const size_t steps = beam->steps, n = beam->n_alive;

    if (pick.token == beam->eos) {
        const double penalty = tfm_beam_penalty(beam->options, steps);
        tfm_beam_finish(beam, (tfm_beam_end){logprob / penalty, logprob, (uint32_t)steps, row, false});
        return;
    }
    beam->links[(steps - 1) * beam->options->beam + n] = (tfm_beam_link){logprob, row, pick.token};
    beam->numbers[n] = number;
    beam->alive[n] = logprob;
    beam->n_alive++;
}

/* What still lives at the limit, or is no number, is a result too. */
static void end_open(tfm_beam *beam)
{
    for (size_t i = 0; i < beam->n_alive; i++)
        tfm_beam_finish(beam, (tfm_beam_end){beam->alive[i], beam->alive[i], (uint32_t)beam->steps, (uint32_t)i, true});
    beam->n_alive = 0;
}

void tfm_sampling_advance(tfm_beam *beam, tfm_choice *rows, const double *lse, uint64_t stream, double *weights)
{
    const tfm_decoder_options *o = beam->options;
    const bool forks = beam->steps == beam->forced;
    const double begun = beam->alive[0];
    const size_t samples = forks ? o->n_best : beam->n_alive, position = beam->steps;

    beam->steps++;
    beam->n_alive = 0;
    for (size_t i = 0; i < samples; i++) {
        const uint32_t row = forks ? 0 : (uint32_t)i, number = forks ? (uint32_t)i : beam->numbers[i];
        if (!rows[row].n || isnan(lse[row])) { /* nothing is a number: it ends as it stands */
            tfm_beam_finish(beam, (tfm_beam_end){(double)NAN, (double)NAN, (uint32_t)position, row, true});
            continue;
        }
        const tfm_pick pick = tfm_sampling_draw(&rows[row], o, uniform(o->seed, stream, position, number), weights);
        const double before = forks ? begun : beam->alive[i]; /* not yet written over: no more live than before */
        take(beam, row, number, pick, before + ((double)pick.logit - lse[row]));
    }
    if (beam->steps == beam->max_length) end_open(beam);
    beam->done = !beam->n_alive;
}
