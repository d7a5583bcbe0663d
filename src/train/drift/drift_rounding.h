/* Roundings put into a training in fp64, one call at a time.

   The rounder takes the place of every kernel (hc_device's `override`). It rounds a value where it
   is read, in place, so that every reader sees the same rounded number; and it carries out whole
   ops in the arithmetic that a source stands for, on narrow copies of their tensors. */
#ifndef HC_TRAIN_DRIFT_DRIFT_ROUNDING_H
#define HC_TRAIN_DRIFT_DRIFT_ROUNDING_H

#include "backend.h"
#include "op/call.h"
#include "train/drift/drift.h"
#include "train/update/recipe.h"
#include "train/update/update.h"

/* What its buffers are for. */
enum {
    HC_ROUNDER_NARROW,  /* the tensors of a call in fp32 */
    HC_ROUNDER_SPLIT,   /* what passes between batch norm and leaky ReLU; what else attention
                           gives, and its sums */
    HC_ROUNDER_OPERAND, /* A and B of a product that is not one of codes */
    HC_ROUNDER_BUFFERS = HC_ROUNDER_OPERAND + 2
};

struct hc_rounder {
    struct hc_device *device;
    struct hc_rounding rounding;
    bool backward; /* the pass has gone beyond the loss: values are gradients now */

    /* The training's, to find out whose weights an optimizer's call updates. Its recipe keeps
       parameters `apart`, so that a call is about one of them. */
    struct hc_parameter *const *parameters;
    const struct hc_update *update;
    const struct hc_net *net;

    /* Of a GPT: the format whose attention was looked at last, and whether either pass stores
       weights in it before products. */
    enum hc_format attention;
    bool stores[2];

    struct {
        void *data;
        size_t bytes;
    } buffer[HC_ROUNDER_BUFFERS];

    /* The latest operands of a product of codes. One that is not `coded` goes into it as it is. */
    struct {
        struct hc_call quantize;
        bool coded;
    } operand[2];
};

/* Makes rounder->device round as the rounder says. Before each pass, set backward to false.
   hc_rounder_end frees its buffers. */
void hc_rounder_attach(struct hc_rounder *rounder);
void hc_rounder_end(struct hc_rounder *rounder);

/* From the next pass on, the net in fp64 quantises its convolutions as the rounding says. */
enum hc_status hc_rounder_quantise(struct hc_rounder *rounder, struct hc_net *net);

/* Rounds n numbers to nearest in place, by the backend's cast there and back. HC_FP64 rounds
   nothing. */
enum hc_status hc_rounded(struct hc_rounder *rounder, enum hc_format format, double *x, int64_t n);

/* What the two kinds of networks share. */

/* A buffer of at least so many bytes, kept for the next call; NULL: no memory. */
void *hc_rounder_buffer(struct hc_rounder *rounder, int which, size_t bytes);

/* Carries the call out with narrow tensors in place of those in fp64, and casts its results back:
   inputs in the format `factors`, outputs in fp32. `format` is that of its arithmetic; HC_FP64: the
   call runs as it is. */
enum hc_status hc_rounder_carry_out(struct hc_rounder *rounder, enum hc_format factors,
                                    enum hc_format format, const struct hc_call *call);

/* A call of a GPT, but for those of an optimizer, with the roundings of what it takes, does and
   gives (drift_gpt.c); and only the roundings of its results, where it has been carried out. */
enum hc_status hc_rounder_run_gpt(struct hc_rounder *rounder, const struct hc_call *call);
enum hc_status hc_rounder_finish_gpt(struct hc_rounder *rounder, const struct hc_call *call);

/* im2col and col2im (op/quant.h) in fp64, in which no backend has them. Tensors lie in host memory.
   */

/* The numbers of codes: a code times its scale, which fp64 holds, and times its second factor. */
void hc_matrix_decode(const struct hc_call *quantize, double *to);

/* What is quantised, before it is: x or its transpose, and where the call says so 16 neighbours
   each times the signs and Hadamard's matrix. */
void hc_matrix_take(const struct hc_call *quantize, double *to);

void hc_matrix_gather(const struct hc_call *im2col);
void hc_matrix_scatter(const struct hc_call *col2im);

/* Whether a backend's matrix unit takes a recipe's products. */

/* Whether the backend sums products of the recipe's 16-bit numbers otherwise than products in
   fp32. */
bool hc_recipe_meets_unit(const struct hc_recipe *recipe, const struct hc_backend *backend);

#endif
