/* A program outside the library's tree: which version it runs with, and one row of attention, eq. (1) of the paper. */
#include <transformer.h>

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    const float q[] = {1, 0}, k[] = {1, 0, 0, 1}, v[] = {1, 2}; /* one query, two keys, two values */
    float out[1], weights[2];
    tfm_error error;

    if (tfm_attention(out, weights, q, k, v, 1, 2, 2, 1, NULL, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return EXIT_FAILURE;
    }
    printf("libtransformer %s: weights %.4f %.4f, output %.4f\n", tfm_version(), (double)weights[0], (double)weights[1],
           (double)out[0]);
    return EXIT_SUCCESS;
}
