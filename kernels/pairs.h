/* Products of bf16 matrices as the CPU's matrix instructions take them: neighbours in k stand in
   one 32-bit word, the earlier one low, and each instruction adds the products of whole pairs to
   sums in fp32.

   The chain of an element begins at its C if alpha and beta are 1 and C is fp32, otherwise at +0;
   then alpha and beta follow in fp32. What fills up a row, a column or the last instruction is
   +0. */
#ifndef HC_KERNELS_PAIRS_H
#define HC_KERNELS_PAIRS_H

#include "backend.h"

enum { HC_PAIRS_TILE = 16 }; /* columns of a vector register, and of a tile */

/* The operands of a call, filled up: a [rows][pairs], b [pairs][columns], sums [16][16]. */
struct hc_pairs {
    int64_t rows;
    int64_t columns;
    int64_t pairs;
    uint32_t *a;
    uint32_t *b;
    float *sums;
};

/* Replaces sums [16][16], those of rows i to i + 15 and columns j to j + 15, by the ends of the
   chains that begin at them. */
typedef void hc_pairs_chain(const struct hc_pairs *pairs, int64_t i, int64_t j);

/* The scratch of a gemm or a dot whose instruction takes `step` pairs. */
size_t hc_pairs_scratch(const struct hc_call *call, int step);

/* Runs a gemm, or a dot into fp32, of bf16 inputs. HC_UNSUPPORTED for others, with a line that
   begins with the backend's name. */
enum hc_status hc_pairs_run(const char *backend, const struct hc_call *call, int step,
                            hc_pairs_chain *chain);

#endif
