/* What hypotheses have of the terms, and how the beam is shared out. */
#include "decode/terms.h"

#include <math.h>

/* The tokens of a hypothesis, and one more unless that is -1. */
typedef struct tokens {
    tfm_ids past;
    int32_t more;
    size_t n;
} tokens;

static tokens tokens_of(tfm_ids past, int32_t more)
{
    return (tokens){past, more, past.size + (more >= 0)};
}

/* Do the first n of the phrase stand at i? */
static bool stands_at(const tokens *t, size_t i, const tfm_ids *phrase, size_t n)
{
    for (size_t j = 0; j < n; j++)
        if ((i + j < t->past.size ? t->past.data[i + j] : t->more) != phrase->data[j]) return false;
    return true;
}

/* How often it stands there, without overlaps. */
static size_t count(const tokens *t, const tfm_ids *phrase)
{
    size_t n = 0;

    for (size_t i = 0; i + phrase->size <= t->n;)
        if (stands_at(t, i, phrase, phrase->size)) {
            n++;
            i += phrase->size;
        } else i++;
    return n;
}

/* How often it must. */
static size_t times(const tfm_terms *terms, size_t i)
{
    return terms->times && terms->times[i] ? terms->times[i] : 1;
}

/* The most tokens of the phrase, but not all, that the hypothesis ends with. */
static size_t begun(const tokens *t, const tfm_ids *phrase)
{
    size_t n = phrase->size - 1 < t->n ? phrase->size - 1 : t->n;

    while (n && !stands_at(t, t->n - n, phrase, n)) n--;
    return n;
}

void tfm_terms_count(tfm_wanted *wanted, const tfm_terms *terms, tfm_ids past)
{
    const tokens t = tokens_of(past, -1);

    wanted->read = wanted->full = wanted->n = wanted->n_banned = 0;
    wanted->open = wanted->lost = false;
    for (size_t i = 0; i < terms->n; i++) {
        const tfm_ids *phrase = &terms->phrases[i];
        const tokens more = tokens_of(past, phrase->data[phrase->size - 1]);
        wanted->there[i] = count(&t, phrase);
        if (terms->times && terms->times[i] && count(&more, phrase) > wanted->there[i])
            wanted->full |= UINT64_C(1) << i;
    }
}

void tfm_terms_want(tfm_wanted *wanted, const tfm_terms *terms, tfm_ids past)
{
    const tokens t = tokens_of(past, -1);

    for (size_t i = 0; i < terms->n; i++) {
        const tfm_ids *phrase = &terms->phrases[i];
        const size_t n = begun(&t, phrase);
        if (wanted->there[i] < times(terms, i)) wanted->picks[wanted->n++] = (tfm_pick){NAN, phrase->data[n]};
        else if (wanted->full >> i & 1 && n + 1 == phrase->size) wanted->banned[wanted->n_banned++] = phrase->data[n];
    }
    wanted->open |= wanted->n > 0;
}

void tfm_terms_see(tfm_wanted *wanted, int32_t eos, float *logits, size_t first, size_t n)
{
    const size_t end = (size_t)eos - first; /* wraps when EOS stands before */

    if (wanted->open && end < n) logits[end] = -INFINITY;
    for (size_t i = 0; i < wanted->n_banned; i++) {
        const size_t at = (size_t)wanted->banned[i] - first;
        if (at < n) logits[at] = -INFINITY;
    }
    for (size_t i = 0; i < wanted->n; i++) {
        const size_t at = (size_t)wanted->picks[i].token - first;
        if (at < n) wanted->picks[i].logit = logits[at];
    }
}

/* How often term i is there with the last token. */
static size_t there_with(const tfm_wanted *wanted, size_t i, const tokens *t, const tfm_ids *phrase)
{
    if (!(wanted->read >> i & 1)) return count(t, phrase);
    return wanted->there[i] + (phrase->size <= t->n && stands_at(t, t->n - phrase->size, phrase, phrase->size));
}

size_t tfm_terms_progress(const tfm_terms *terms, const tfm_wanted *wanted, tfm_ids past, int32_t token)
{
    const tokens t = tokens_of(past, token);
    size_t whole = 0, part = 0;

    for (size_t i = 0; i < terms->n; i++) {
        const tfm_ids *phrase = &terms->phrases[i];
        const size_t most = times(terms, i), there = there_with(wanted, i, &t, phrase);
        const size_t n = there < most ? begun(&t, phrase) : 0;
        whole += phrase->size * (there < most ? there : most);
        if (n > part) part = n;
    }
    return whole + part;
}

size_t tfm_terms_candidates(const tfm_decoder_options *options)
{
    return options->beam * (tfm_beam_width(options) + TFM_MOST_TERMS);
}

static bool picked(const tfm_pick *picks, size_t n, int32_t token)
{
    for (size_t i = 0; i < n; i++)
        if (picks[i].token == token) return true;
    return false;
}

/* The row's best, but no end where terms lack, and what the terms want of it; returns how many. */
static size_t gather_row(tfm_candidate *to, const tfm_beam *beam, uint32_t row, const tfm_choice *choice, double lse,
                         const tfm_wanted *wanted)
{
    const size_t all = choice->n + wanted->n;
    size_t n = 0;

    if (wanted->lost) return 0;
    for (size_t i = 0; i < all; i++) {
        const bool best = i < choice->n;
        const tfm_pick pick = best ? choice->picks[i] : wanted->picks[i - choice->n];
        const double logprob = beam->alive[row] + ((double)pick.logit - lse);
        if (best ? wanted->open && pick.token == beam->eos
                 : picked(choice->picks, choice->n, pick.token) || picked(wanted->picks, i - choice->n, pick.token))
            continue;
        if (logprob > -INFINITY) to[n++] = (tfm_candidate){logprob, row, pick.token};
    }
    return n;
}

static size_t progress_of(const tfm_candidate *c, const tfm_terms *terms, const tfm_wanted *wanted,
                          const tfm_ids *pasts)
{
    return tfm_terms_progress(terms, &wanted[c->row], pasts[c->row], c->token);
}

/* Keeps ends, and of the others as many as the beam has places: an equal share for each progress, those that have made
 * most first, and what they leave for the best of all. Candidates are and stay best first; returns how many are left.
 */
static size_t share_out(tfm_candidate *at, size_t n, const tfm_beam *beam, const tfm_terms *terms,
                        const tfm_wanted *wanted, const tfm_ids *pasts)
{
    uint32_t share[TFM_MOST_TERM_TOKENS + 1] = {0};
    size_t left = beam->options->beam, kinds = 0, kept = 0;

    for (size_t i = 0; i < n; i++)
        if (at[i].token != beam->eos) kinds += !share[progress_of(&at[i], terms, wanted, pasts)]++;
    const size_t most = kinds && left > kinds ? left / kinds : 1;
    for (size_t p = TFM_MOST_TERM_TOKENS + 1; p--;) {
        if (share[p] > most) share[p] = (uint32_t)most;
        if (share[p] > left) share[p] = (uint32_t)left;
        left -= share[p];
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t *own = &share[progress_of(&at[i], terms, wanted, pasts)];
        if (at[i].token != beam->eos) {
            if (!*own && !left) continue;
            if (*own) --*own;
            else left--;
        }
        at[kept++] = at[i];
    }
    return kept;
}

static bool is_number(const double *lse, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isnan(lse[i])) return false;
    return true;
}

void tfm_terms_advance(tfm_beam *beam, const tfm_terms *terms, const tfm_choice *rows, const double *lse,
                       const tfm_wanted *wanted, const tfm_ids *pasts, tfm_candidate *scratch)
{
    size_t n = 0;

    for (size_t i = 0; i < beam->n_alive; i++)
        n += gather_row(scratch + n, beam, (uint32_t)i, &rows[i], lse[i], &wanted[i]);
    if (!n && is_number(lse, beam->n_alive)) { /* masks leave nothing that the terms allow */
        beam->done = true;
        return;
    }
    tfm_candidates_sort(scratch, n);
    tfm_beam_extend(beam, scratch, share_out(scratch, n, beam, terms, wanted, pasts));
}
