/* Sums of products as the stand-ins make them. */
#ifndef HC_KERNELS_CUDA_EMULATE_SUM_H
#define HC_KERNELS_CUDA_EMULATE_SUM_H

#include "num/format.h"

/* The matrix unit: an H100's by the published models, as struct hc_accumulator. tf32 fills half a
   block. */
#define HC_SUM_UNIT                                                                                \
    {                                                                                              \
        .precision = 24, .block = 16, .extra_bits = 2, .truncates = true                           \
    }
enum { HC_SUM_PRECISION = 24, HC_SUM_BLOCK = 16, HC_SUM_EXTRA_BITS = 2 };

/* What factors are cut to (fp32: nothing) and every partial sum is rounded to, and how many terms the
   unit aligns and adds at once; 1: ordinary arithmetic, one after the other. */
struct hc_sum_rule {
    enum hc_format operand;
    enum hc_format partial;
    int block;
};

/* One sum: the terms of a block that is not full wait in `term`. */
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
