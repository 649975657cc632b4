/* Where the time of a trainer or decoder went, as a table. */
#ifndef CLI_PROFILE_H
#define CLI_PROFILE_H

#include <transformer.h>

typedef struct profile {
    tfm_profile_entry *entries;
    size_t size, capacity;
} profile;

void profile_read(profile *p, const tfm_trainer *trainer);
void profile_read_decoder(profile *p, const tfm_decoder *decoder);
/* Takes an earlier reading of the same handle off. */
void profile_subtract(profile *p, const profile *before);
/* Operations, then phases, on standard error; --quiet does not silence what was asked for. */
void profile_print(const profile *p);
void profile_free(profile *p);

#endif
