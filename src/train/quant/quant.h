/* Convolutions whose products are taken below half (quant_recipe.h), over the op table: im2col,
   quantize, gemm_q and col2im.

   Delayed scaling has two groups of scales: forward those of x and w of each layer, backward those
   of dy. The passes use the scales as they are and note each tensor's amax; hc_quant_update, at the
   end of a training step's passes, enters the amaxes into the histories and makes the next scales.
   (TransformerEngine updates those of x and w at the end of the forward pass, but keeps their codes
   for the backward pass: the same numbers.) Whether the optimizer then skips the step, or clips its
   gradients, is nothing to them. Evaluations use the scales and leave them as they are. */
#ifndef HC_TRAIN_QUANT_QUANT_H
#define HC_TRAIN_QUANT_QUANT_H

#include "train/net/device.h"
#include "train/quant/quant_recipe.h"

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

/* At the end of a step's passes. */
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
