/* Temporary files that a killed process left behind. */
#ifndef TFM_TEMPORARIES_H
#define TFM_TEMPORARIES_H

#include <stddef.h>

/* What stands between the name of a file and "PROCESS-NUMBER" in hexadecimal digits in the name of its temporary file.
 */
#define TFM_TEMPORARY ".tmp-"

/* How many bytes of a file's name its temporary file has, so that with what stands behind them they are at most 255. */
size_t tfm_temporary_stem(const char *name);

/*
 * Deletes the abandoned temporary files of stem or, with an ending, of stem NUMBER ending for every number. Abandoned
 * is one that no process holds with flock(), as each writer does until it is done. Where something cannot be read,
 * locked or deleted, it stays.
 */
void tfm_temporaries_sweep(const char *stem, const char *ending);

#endif
