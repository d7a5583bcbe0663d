/* The operands of sums whose unit takes the scales of blocks (scaled.c), read into integers. */
#ifndef HC_KERNELS_SIM_SCALED_LINES_H
#define HC_KERNELS_SIM_SCALED_LINES_H

#include "kernels/element/quant_gemm.h"
#include "unit/unit.h"

enum { HC_SIM_CODES = 256 };

/* The exponent of a zero: a product that has one is below every other. */
enum { HC_SIM_SCALED_ZERO = -8192 };

/* A row of a or of b. A unit that aligns products has significands, and exponents with the scales'.
   A unit with groups has twice the numbers themselves, and each group's scale. */
struct hc_sim_line {
    int16_t *number;
    int16_t *exponent;
    int16_t *scale;
    bool special; /* something is infinite or NaN */
};

/* One side of the product, and what its codes and scales are. */
struct hc_sim_side {
    const struct hc_tensor *codes;
    const struct hc_tensor *scales;
    struct hc_block_scales blocks;
    struct hc_operand_value value[HC_SIM_CODES];
    struct hc_operand_value factor[HC_SIM_CODES];
};

struct hc_sim_scaled {
    const struct hc_unit *u;
    int64_t k, padded; /* terms, and terms of whole instructions */
    struct hc_sim_side a, b;
};

struct hc_sim_scaled hc_sim_scaled_of(const struct hc_unit *u, const struct hc_call *call);

uint8_t hc_sim_code(const struct hc_sim_side *side, int64_t row, int64_t k, int64_t i);
uint8_t hc_sim_scale(const struct hc_sim_side *side, int64_t row, int64_t i);

/* A line needs so many bytes. It is filled up with zeros to whole instructions. */
size_t hc_sim_line_bytes(const struct hc_sim_scaled *w);
struct hc_sim_line hc_sim_line_at(const struct hc_sim_scaled *w, void *memory);
void hc_sim_line_read(const struct hc_sim_scaled *w, const struct hc_sim_side *side, int64_t row,
                      struct hc_sim_line *to);

#endif
