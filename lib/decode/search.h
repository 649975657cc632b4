/* Translation of many sentences by beam search with the models. */
#ifndef TFM_SEARCH_H
#define TFM_SEARCH_H

#include "decode/terms.h"
#include "decode/workspace.h"

typedef struct tfm_search tfm_search;

typedef struct tfm_hypothesis {
    tfm_ids ids;   /* EOS kept when it came                                    */
    const float *logprobs; /* of each id                                       */
    double score;  /* as tfm_decoder_score() says                              */
    size_t number; /* among all hypotheses of the call, in no particular order */
    bool finished; /* EOS came: of each part, where there are several          */
} tfm_hypothesis;

/* Who is told, or asked, between steps; NULL: nobody. A failure ends the run. */
typedef struct tfm_search_watch {
    /* a source is done, and has results from now on */
    tfm_status (*ended)(void *user, size_t source, tfm_error *error);
    /* its best result will begin with these ids, more of them than when it was told last */
    tfm_status (*grew)(void *user, size_t source, tfm_ids certain, tfm_error *error);
    /* counts those terms of a sentence that are more than tokens in the text of ids, behind which the search goes on;
     * what the first n_given of them have too often was asked for */
    tfm_status (*read)(void *user, const tfm_terms *terms, tfm_ids past, size_t n_given, tfm_wanted *wanted,
                       tfm_error *error);
    void *user;
} tfm_search_watch;

/* As tfm_workspace_create(), whose workspace it owns. */
tfm_status tfm_search_create(tfm_search **out, const tfm_member *members, size_t n, tfm_pool *pool,
                             const tfm_decoder_options *options, const tfm_allocator *allocator, tfm_error *error);
void tfm_search_free(tfm_search *search);

/* Where the time of all runs went; lent. */
const tfm_profile *tfm_search_profile(const tfm_search *search);

/* For scoring with the same memory; lent. A run of the search uses it too. */
tfm_workspace *tfm_search_workspace(tfm_search *search);

/*
 * Translates the sources of a request, which are ids; its text is not looked at. An empty source gives an empty result
 * of score 0. The results of the call before are gone, also when it fails. The options' progress function is called
 * after each step.
 */
tfm_status tfm_search_run(tfm_search *search, const tfm_request *request, tfm_error *error);

/* Of all runs to come. */
void tfm_search_set_watch(tfm_search *search, const tfm_search_watch *watch);

/*
 * Joins the results of n > 0 sources that are done, first and those behind it: result i is the i-th of each, one behind
 * the other, and its score the sum of theirs. Returns the number that getters take for them; SIZE_MAX: no memory.
 */
size_t tfm_search_join(tfm_search *search, size_t first, size_t n);

/* Forgets the results. */
void tfm_search_clear(tfm_search *search);

/* Results of the last run that succeeded: hypotheses of a sentence, best first; lent until the next. */
size_t tfm_search_count(const tfm_search *search, size_t sentence);
bool tfm_search_get(const tfm_search *search, size_t sentence, size_t rank,
                    tfm_hypothesis *out); /* false: there is none */
uint32_t tfm_search_steps(const tfm_search *search, size_t sentence);
size_t tfm_search_hypotheses(const tfm_search *search); /* their number: that of the next one */

#endif
