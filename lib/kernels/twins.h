/* Declares every TWIN function; without a guard, as a table may take functions of several twins. */
#include "kernels/vector.h"

#define BLOCK_ARGS                                                                                                \
    float *c, size_t ldc, const float *a, size_t a_row, const float *b, size_t n_items, size_t rows, size_t cols, \
        bool add
void TWIN(tfm_gemm_block)(BLOCK_ARGS);
void TWIN(tfm_pack_a)(float *to, const float *a, size_t a_row, size_t a_col, size_t m, size_t k);
void TWIN(tfm_pack_b)(float *to, const float *b, size_t b_row, size_t b_col, size_t k, size_t n);
void TWIN(tfm_gemm_block_bf16)(BLOCK_ARGS);
void TWIN(tfm_pack_a_bf16)(float *to, const float *a, size_t a_row, size_t a_col, size_t m, size_t k);
void TWIN(tfm_pack_b_bf16)(float *to, const float *b, size_t b_row, size_t b_col, size_t k, size_t n);
void TWIN(tfm_gemm_block_amx)(BLOCK_ARGS);
void TWIN(tfm_pack_a_amx)(float *to, const float *a, size_t a_row, size_t a_col, size_t m, size_t k);
void TWIN(tfm_pack_b_amx)(float *to, const float *b, size_t b_row, size_t b_col, size_t k, size_t n);
void TWIN(tfm_i8_quantize)(int8_t *to, float *scale, const float *x, size_t k, int32_t offset);
void TWIN(tfm_i8_product)(float *c, size_t ldc, const int8_t *a, size_t a_row, const float *scale,
                          const tfm_i8_panel *b, size_t n_items, size_t rows, size_t cols);
void TWIN(tfm_bias_relu)(float *y, const float *bias, size_t n, bool relu, const tfm_dropout *dropout, uint32_t row,
                          uint64_t first);
void TWIN(tfm_relu_backward)(float *dy, const float *y, size_t n, float scale);
void TWIN(tfm_activate)(float *y, const float *x, size_t n, uint32_t kind);
void TWIN(tfm_activate_backward)(float *dy, const float *x, size_t n, uint32_t kind);
void TWIN(tfm_dropout)(float *y, const float *x, size_t n, const tfm_dropout *dropout, uint32_t row, uint64_t first);
void TWIN(tfm_add_dropped)(float *y, const float *x, const float *s, size_t n, const tfm_dropout *dropout,
                           uint32_t row);
void TWIN(tfm_add_to)(float *y, const float *x, size_t n);
void TWIN(tfm_add_rows)(float *y, const float *x, size_t stride, size_t rows, size_t n);
void TWIN(tfm_axpby)(float *y, float a, const float *x, float b, size_t n);
double TWIN(tfm_sum_squares)(const float *x, size_t n);
void TWIN(tfm_layer_norm)(float *y, float *stats, const float *x, const float *gamma, const float *beta, size_t d,
                          float eps);
void TWIN(tfm_layer_norm_backward)(float *dx, bool add, const float *dy, const float *x, const float *stats,
                                   const float *gamma, size_t d, float *d_gamma, float *d_beta);
void TWIN(tfm_attention_head)(const tfm_head *head, float *scratch);
void TWIN(tfm_attention_head_backward)(const tfm_head *head, float *scratch);
float TWIN(tfm_log_sum_exp)(const float *z, size_t n, double *sum);
float TWIN(tfm_exponentials)(float *z, size_t n, double *sum, double *total);
double TWIN(tfm_exp_sum)(const float *z, size_t n, float *max);
size_t TWIN(tfm_first_above)(const float *z, size_t n, float least);
void TWIN(tfm_scale_less)(float *z, size_t n, float scale, float less);
void TWIN(tfm_log_add)(float *y, float y_less, const float *x, float x_less, size_t n);
void TWIN(tfm_adam)(float *w, float *m, float *v, const float *g, size_t n, float g_scale, float rate, float beta1,
                    float beta2, float eps);

const tfm_kernels *TWIN(tfm_kernels_table)(void);
