/* What a step loses, layer by layer, measured on a sample of each layer's filter or linear weight
   and of the gradient of its output: 1024 elements in 8 blocks that are spread evenly, or all.

   F is the format of the recipe's model, or fp16 if that is fp32: then the shares say what half
   would lose. M is the model's format, S the loss scale of the step, s an element of the gradient
   as the network wrote it, w the model's weight before the step.

     underflow       the share of elements with round_F(s) = 0, which are those up to half of F's
                     smallest subnormal, 2^-25 in fp16. Exact zeros of the real gradient count, too;
                     behind a leaky ReLU they are rare.
     unscaled        the share with round_F(s / S) = 0: what would be lost without the scale
     activation_*    the same two shares of the gradient that comes back to the layer's output
     update_lost     the share of updates u, not 0, with round_M(w - u) = w: what the weight would
                     not notice without a master, in rounding to nearest. u is the update that the
                     optimizer's state and rates ask for, in fp64 (metrics.c), so that an
                     update that the arithmetic itself loses is seen as well. A u that is not finite
                     does not count as lost. NaN for a skipped step, which has no update.
     gradient_norm   the norm of the unscaled gradients of all the layer's parameters, before any
                     clipping; every element counts, not only the sample */
#ifndef HC_TRAIN_RUN_METRICS_H
#define HC_TRAIN_RUN_METRICS_H

#include <stdint.h>

#include "train/net/net.h"
#include "train/update/update.h"

/* How many gradients have which exponent, with and without the loss scale. Gradients of weights and
   of activations are counted apart. */

/* Counts by exponent e = floor(log2 |g|) at [e - HC_EXPONENT_ZERO]; zero counts as
   HC_EXPONENT_ZERO, infinities and NaN as HC_EXPONENT_LAST. */
enum { HC_EXPONENT_ZERO = -150, HC_EXPONENT_LAST = 128 };
enum { HC_EXPONENTS = HC_EXPONENT_LAST - HC_EXPONENT_ZERO + 1 };

struct hc_histogram {
    int64_t scaled[HC_EXPONENTS];
    int64_t unscaled[HC_EXPONENTS];
    int64_t activations_scaled[HC_EXPONENTS];
    int64_t activations_unscaled[HC_EXPONENTS];
};

struct hc_shares {
    double underflow;
    double unscaled;
    double activation_underflow;
    double activation_unscaled;
    double update_lost;
    double gradient_norm;
};

struct hc_metrics;

/* Both outlive it; it watches the net's gradients (hc_net_watch). */
enum hc_status hc_metrics_open(struct hc_metrics **metrics, struct hc_device *device,
                               struct hc_net *net, const struct hc_update *update);
void hc_metrics_close(struct hc_metrics *metrics); /* NULL is fine */

/* Whether it watches the passes to come. It need not in a step that is not measured, and must not
   in passes that are captured. It does at first. */
void hc_metrics_watch(struct hc_metrics *metrics, bool watching);

/* Around hc_update_step(update, lr, beta1): the gradients and the weights before it, then what the
   step made of them, after hc_net_train. The sampled gradients are added to the histogram. Neither
   allocates. */
enum hc_status hc_metrics_before(struct hc_metrics *metrics, struct hc_histogram *histogram);
enum hc_status hc_metrics_after(struct hc_metrics *metrics, double lr, double beta1);

/* The shares of layer l in the last step (all 0 if it has no weights), and those of the network,
   which are weighted by the sizes of the layers' weights or outputs. */
struct hc_shares hc_metrics_layer(const struct hc_metrics *metrics, int l);
struct hc_shares hc_metrics_all(const struct hc_metrics *metrics);

/* What a step's quantisation loses, tensor by tensor: of x and w as they are quantised for the
   forward product, and of dy as it is for the gradient of x. Shares are of a sample of the codes,
   at most 1024 in 8 blocks that are spread evenly.

     at_max   the share of codes of the largest magnitude, those that were saturated among them
     flushed  the share of codes that are 0 although the number is not
     scale    what the first block's codes are multiplied by to decode them */

struct hc_quant_shares {
    double at_max;
    double flushed;
    double scale;
};

struct hc_quant_metrics;

/* NULL if the net is not quantised. The net outlives it. */
enum hc_status hc_quant_metrics_open(struct hc_quant_metrics **metrics, struct hc_device *device,
                                     struct hc_net *net);
void hc_quant_metrics_close(struct hc_quant_metrics *metrics); /* NULL is fine */

/* Whether it watches the passes to come; it does not at first. NULL is fine. */
void hc_quant_metrics_watch(struct hc_quant_metrics *metrics, bool watching);

/* The shares of the last passes that it watched; NaN for a tensor that they did not quantise. */
struct hc_quant_shares hc_quant_metrics_of(const struct hc_quant_metrics *metrics, int l,
                                           enum hc_quant_role role);

#endif
