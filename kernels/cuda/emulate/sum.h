/* Sums of products as the stand-ins for cuBLAS and cuDNN make them (sum.c). */
#ifndef HC_KERNELS_CUDA_EMULATE_SUM_H
#define HC_KERNELS_CUDA_EMULATE_SUM_H

#include "num/format.h"
#include "unit/unit.h"

/* The matrix unit that they have, an H100's (h100wgmma in unit/nvidia.def), as bounds see it. It
   takes half as many tf32 terms at once. */
#define HC_SUM_UNIT                                                                                \
    {                                                                                              \
        .precision = 24, .block = HC_SUM_BLOCK, .extra_bits = 2, .truncates = true,                \
        .aligns_subnormals = true                                                                  \
    }
enum { HC_SUM_BLOCK = 16 };

struct hc_sum_rule {
    const struct hc_unit *unit; /* NULL: one product after the other */
    enum hc_format partial;     /* what partial sums are rounded to without a unit */
};

/* The unit's rule for factors of this format. fp32 factors are taken for tf32. */
struct hc_sum_rule hc_sum_on_unit(enum hc_format factors);

/* A sum in progress. Factors wait in `a` and `b` until there are enough for an instruction. */
struct hc_sum {
    const struct hc_sum_rule *rule;
    float value;
    int count;
    uint32_t a[HC_SUM_BLOCK];
    uint32_t b[HC_SUM_BLOCK];
};

void hc_sum_begin(struct hc_sum *sum, const struct hc_sum_rule *rule);
void hc_sum_add(struct hc_sum *sum, float x, float y);
float hc_sum_end(struct hc_sum *sum);

/* x rounded to the format. */
float hc_sum_rounded(enum hc_format format, float x);

#endif
