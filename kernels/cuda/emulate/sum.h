/* Sums of products as the stand-ins for cuBLAS and cuDNN make them (sum.c). */
#ifndef HC_KERNELS_CUDA_EMULATE_SUM_H
#define HC_KERNELS_CUDA_EMULATE_SUM_H

#include "num/format.h"

/* The matrix unit of an H100 by the published models, as a struct hc_accumulator. A block has half
   as many tf32 terms. */
#define HC_SUM_UNIT                                                                                \
    {                                                                                              \
        .precision = 24, .block = 16, .extra_bits = 2, .truncates = true                           \
    }
enum { HC_SUM_PRECISION = 24, HC_SUM_BLOCK = 16, HC_SUM_EXTRA_BITS = 2 };

struct hc_sum_rule {
    enum hc_format operand; /* factors are cut to it; fp32: they stay */
    enum hc_format partial; /* partial sums are rounded to it where block is 1 */
    int block; /* terms that the unit aligns and adds at once; 1: one after the other */
};

/* A sum in progress. The terms of a block that is not full wait in `term`. */
struct hc_sum {
    const struct hc_sum_rule *rule;
    float value;
    int count;
    double term[HC_SUM_BLOCK];
};

void hc_sum_begin(struct hc_sum *sum, const struct hc_sum_rule *rule);
void hc_sum_add(struct hc_sum *sum, float x, float y);
float hc_sum_end(struct hc_sum *sum);

/* x rounded to the format. */
float hc_sum_rounded(enum hc_format format, float x);

#endif
