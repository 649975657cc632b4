#include "eval/edit_distance.h"

enum { REACH = 25, NEVER = UINT32_MAX / 2 };

void tfm_edits_free(tfm_edits *e)
{
    tfm_free(&e->allocator, e->cost, e->cost_capacity, sizeof *e->cost);
    tfm_free(&e->allocator, e->edit, e->edit_capacity, sizeof *e->edit);
    tfm_free(&e->allocator, e->seen, e->seen_capacity, sizeof *e->seen);
    *e = (tfm_edits){.allocator = e->allocator};
}

/* The band widens where lengths differ so much that rows next to each other would not meet. */
static size_t reach_of(size_t n_ref, size_t n_hyp)
{
    const double ratio = n_hyp ? (double)n_ref / (double)n_hyp : 1;
    const double wide = ratio / 2 + REACH;
    const size_t whole = (size_t)wide;

    return ratio / 2 <= REACH ? REACH : whole + ((double)whole < wide);
}

bool tfm_edits_begin(tfm_edits *e, const uint32_t *ref, size_t n_ref, size_t n_hyp)
{
    size_t cells;

    e->ref = ref;
    e->n_ref = n_ref;
    e->n_hyp = n_hyp;
    e->n_seen = 0;
    e->reach = reach_of(n_ref, n_hyp);
    e->width = n_ref + 1 < 2 * e->reach ? n_ref + 1 : 2 * e->reach;
    return tfm_mul(n_hyp, e->width, &cells) && tfm_add(cells, n_ref + 1, &cells) &&
           tfm_grow(&e->allocator, &e->cost, &e->cost_capacity, cells, sizeof *e->cost) &&
           tfm_grow(&e->allocator, &e->edit, &e->edit_capacity, cells, sizeof *e->edit) &&
           tfm_grow(&e->allocator, &e->seen, &e->seen_capacity, n_hyp, sizeof *e->seen);
}

/* Columns of row i, 1 <= i <= n_hyp. */
typedef struct row {
    size_t begin, end;
} row;

static row row_of(const tfm_edits *e, size_t i)
{
    const size_t middle = (size_t)((double)i * ((double)e->n_ref / (double)e->n_hyp));
    row r = {middle > e->reach ? middle - e->reach : 0, middle + e->reach};

    if (r.end > e->n_ref + 1 || i == e->n_hyp) r.end = e->n_ref + 1;
    return r;
}

static size_t cell(const tfm_edits *e, row r, size_t i, size_t j)
{
    return (i - 1) * e->width + (j - r.begin);
}

static uint32_t cost_at(const tfm_edits *e, row r, size_t i, size_t j)
{
    if (!i) return (uint32_t)j;
    return j < r.begin || j >= r.end ? NEVER : e->cost[cell(e, r, i, j)];
}

/* Row i from the one above it. Of equal costs: keep or change, then drop, then put. */
static void fill_row(tfm_edits *e, size_t i, uint32_t word)
{
    const row above = i > 1 ? row_of(e, i - 1) : (row){0}, here = row_of(e, i);

    for (size_t j = here.begin; j < here.end; j++) {
        const bool same = j && word == e->ref[j - 1];
        uint32_t best = j ? cost_at(e, above, i - 1, j - 1) + !same : NEVER;
        tfm_edit edit = same ? TFM_EDIT_KEEP : TFM_EDIT_CHANGE;
        const uint32_t drop = cost_at(e, above, i - 1, j) + 1;
        const uint32_t put = j > here.begin ? e->cost[cell(e, here, i, j - 1)] + 1 : NEVER;

        if (drop < best) best = drop, edit = TFM_EDIT_DROP;
        if (put < best) best = put, edit = TFM_EDIT_PUT;
        e->cost[cell(e, here, i, j)] = best < NEVER ? best : NEVER;
        e->edit[cell(e, here, i, j)] = (uint8_t)edit;
    }
}

size_t tfm_edits_count(tfm_edits *e, const uint32_t *hyp)
{
    size_t same = 0;

    if (!e->n_hyp) return e->n_ref;
    while (same < e->n_seen && hyp[same] == e->seen[same]) same++;
    for (size_t i = same + 1; i <= e->n_hyp; i++) fill_row(e, i, hyp[i - 1]);
    memcpy(e->seen, hyp, e->n_hyp * sizeof *hyp);
    e->n_seen = e->n_hyp;
    return cost_at(e, row_of(e, e->n_hyp), e->n_hyp, e->n_ref);
}

tfm_edit tfm_edits_at(const tfm_edits *e, size_t i, size_t j)
{
    if (!i) return TFM_EDIT_PUT;
    return !j ? TFM_EDIT_DROP : (tfm_edit)e->edit[cell(e, row_of(e, i), i, j)];
}
