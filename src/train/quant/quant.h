/* Convolutions whose products are taken below half, over the op table: im2col,
   quantize, gemm_q and col2im.

   Delayed scaling has two groups of scales: forward those of x and w of each layer, backward those
   of dy. The passes use the scales as they are and note each tensor's amax; hc_quant_update, at the
   end of a training step's passes, enters the amaxes into the histories and makes the next scales.
   (TransformerEngine updates those of x and w at the end of the forward pass, but keeps their codes
   for the backward pass: the same numbers.) Whether the optimizer then skips the step, or clips its
   gradients, is nothing to them. Evaluations use the scales and leave them as they are. */
#ifndef HC_TRAIN_QUANT_QUANT_H
#define HC_TRAIN_QUANT_QUANT_H

#include <stdbool.h>
#include <stdint.h>

#include "op/scale_rule.h"
#include "train/net/device.h"

/* How systems train below half, as plain data.

   A layer has three products of matrices: forward y = x w', and backward dx = dy w and
   dw = dy' x. A row of this table says for each how its two operands are quantised, along the
   product's inner dimension, and how long a sum may stay in a matrix unit's own accumulator. No
   code asks which system it is running.

   A convolution is such a layer by im2col: x stands for its columns [N P Q, R R C], and w for the
   matrix [K, R R C]. An operand that a product needs transposed is quantised anew, from the
   numbers and never from codes. Weights are quantised from the masters, in every step. The first
   convolution and the last linear layer are not quantised, nor is anything but products. */

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

/* A convolution that is quantised: of images [images, side, side, channels] with a filter
   [filters, kernel, kernel, channels]. */
struct hc_quant_shape {
    int64_t images, side, channels;
    int64_t filters;
    int kernel, stride, pad;
};

struct hc_quant;

/* Allocates all that passes over these convolutions need. `format` is the model's. `history`: 0 is
   the row's own. Zeroed histories, and scales of 1. */
enum hc_status hc_quant_open(struct hc_quant **quant, struct hc_device *device,
                             const struct hc_quant_recipe *recipe, int64_t history,
                             const struct hc_quant_shape *shapes, int count, enum hc_format format);
void hc_quant_close(struct hc_quant *quant); /* NULL is fine */

/* What the random bits of the passes to come depend on. They are 0 and 0 at first. */
void hc_quant_step(struct hc_quant *quant, uint64_t seed, int64_t step);

/* While scales are held, as in an evaluation, passes note no amaxes. */
void hc_quant_hold(struct hc_quant *quant, bool holds);

/* The products of convolution `layer`, in order of the shapes. Tensors have the shapes of conv2d
   and its gradients; w may be in another format than the rest: that of the masters. */
enum hc_status hc_quant_forward(struct hc_quant *quant, int layer, struct hc_tensor x,
                                struct hc_tensor w, struct hc_tensor y);
enum hc_status hc_quant_to_input(struct hc_quant *quant, int layer, struct hc_tensor dy,
                                 struct hc_tensor w, struct hc_tensor dx);
enum hc_status hc_quant_to_filter(struct hc_quant *quant, int layer, struct hc_tensor x,
                                  struct hc_tensor dy, struct hc_tensor dw);

/* Is called at the end of a step's passes. */
enum hc_status hc_quant_update(struct hc_quant *quant);

/* What is kept from one step to the next: histories [L, T] and scales [T], in fp32, in the
   backend's memory; none but under delayed scaling. */
enum { HC_QUANT_STATES = 4 };
struct hc_tensor hc_quant_state(const struct hc_quant *quant, int which);
extern const char *const hc_quant_state_names[HC_QUANT_STATES];

/* Sees each operand that was quantised, while its codes are there. */
enum hc_quant_role { HC_QUANT_OF_X, HC_QUANT_OF_W, HC_QUANT_OF_DY };
typedef enum hc_status hc_quant_watch(void *context, int layer, enum hc_quant_role role,
                                      const struct hc_call *quantize);
void hc_quant_watch_with(struct hc_quant *quant, hc_quant_watch *watch, void *context);

/* Runs each call of the products in the device's place, also such as no kernel takes, when the
   tensors are in fp64. `role` is that of the first input; of products it says nothing. NULL: the
   device runs them. */
typedef enum hc_status hc_quant_run(void *context, enum hc_quant_role role, struct hc_call *call);
void hc_quant_run_with(struct hc_quant *quant, hc_quant_run *run, void *context);

#endif
