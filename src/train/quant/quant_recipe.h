/* How systems train below half, as plain data.

   A layer has three products of matrices: forward y = x w', and backward dx = dy w and
   dw = dy' x. A row of this table says for each how its two operands are quantised, along the
   product's inner dimension, and how long a sum may stay in a matrix unit's own accumulator. No
   code asks which system it is running.

   A convolution is such a layer by im2col: x stands for its columns [N P Q, R R C], and w for the
   matrix [K, R R C]. An operand that a product needs transposed is quantised anew, from the
   numbers and never from codes. Weights are quantised from the masters, in every step. The first
   convolution and the last linear layer are not quantised, nor is anything but products. */
#ifndef HC_TRAIN_QUANT_QUANT_RECIPE_H
#define HC_TRAIN_QUANT_QUANT_RECIPE_H

#include <stdbool.h>
#include <stdint.h>

#include "op/scale_rule.h"

struct hc_quant_operand {
    enum hc_format codes;
    enum hc_scale_rule rule; /* HC_SCALE_GIVEN: delayed scaling */
    int rows, columns;       /* of a block; 0: all */
    bool hadamard;
    int random_bits; /* 0: to nearest */
};

/* dy is transposed in HC_QUANT_DW, w in HC_QUANT_DX, x in HC_QUANT_DW. */
enum hc_quant_product {
    HC_QUANT_Y,  /* A: x, B: w */
    HC_QUANT_DX, /* A: dy, B: w' */
    HC_QUANT_DW, /* A: dy', B: x' */
    HC_QUANT_PRODUCTS
};

struct hc_quant_products {
    struct hc_quant_operand a, b;
    int promote; /* the longest sum in the unit's own accumulator; 0: any length */
    bool plain;  /* not quantised: in the model's format */
};

struct hc_quant_recipe {
    const char *name;
    const char *title;
    const char *source;
    struct hc_quant_products product[HC_QUANT_PRODUCTS];
    bool delayed; /* scales come from the amaxes of earlier steps */
    enum hc_delayed_rule delayed_rule;
    bool most_recent; /* of those amaxes the last alone */
    int64_t history;  /* how many amaxes are kept, unless a recipe says so */
};

/* The rows. */
enum hc_quant_row {
    HC_BY_NONE,   /* not at all */
    HC_BY_IM2COL, /* products by im2col, not quantised */
    HC_BY_TE_DELAYED,
    HC_BY_TE_CURRENT,
    HC_BY_TORCHAO_TENSOR,
    HC_BY_TORCHAO_ROWWISE,
    HC_BY_TORCHAO_ROWWISE_GW_HP,
    HC_BY_TE_BLOCK,
    HC_BY_DEEPGEMM,
    HC_BY_MXFP8_RP,
    HC_BY_MXFP8_FLOOR,
    HC_BY_NVFP4,
    HC_BY_NVFP4_NO_RHT,
    HC_BY_NVFP4_NO_SR,
    HC_BY_NVFP4_1D,
    HC_QUANT_ROWS
};

extern const struct hc_quant_recipe hc_quant_recipes[HC_QUANT_ROWS];

/* The names in the order of the table; they end with NULL. */
extern const char *const hc_quant_names[HC_QUANT_ROWS + 1];

/* Whether any operand takes random bits. */
bool hc_quant_is_random(const struct hc_quant_recipe *recipe);

#endif
