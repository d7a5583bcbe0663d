/* What a recipe's roundings do to training, against the same engine in fp64, and which of them do it.

   Teacher-forced: at every step each recipe gets the weights of the fp64 run and the same batch; its
   gradients are held against those in fp64, and its own optimizer goes on with them. Free: the recipe
   goes its own way, and the weights are held against those of the fp64 run. Neither clips gradients.

   Attribution: the fp64 run again, with the recipe's formats put in one source at a time (alone), and in
   all sources but one (without). What a source rounds is cast into its format and back; products and
   sums, and batch norm, are taken in fp32 as a whole. With all sources the recipe's own error must come
   out again, but for what is no source: the loss in fp32 and the optimizer's arithmetic. */
#ifndef HC_TRAIN_DRIFT_H
#define HC_TRAIN_DRIFT_H

#include "train/data.h"
#include "train/net.h"
#include "train/recipe.h"

enum hc_source {
    HC_SOURCE_WEIGHTS,          /* of convolutions and the linear layer, its bias */
    HC_SOURCE_ACTIVATIONS,      /* every value of the pass forward, the images too */
    HC_SOURCE_GRADIENTS,        /* every value of the pass backward */
    HC_SOURCE_WEIGHT_GRADIENTS, /* still scaled */
    HC_SOURCE_NORM,         /* gamma, beta and their gradients; arithmetic and statistics in fp32 */
    HC_SOURCE_ACCUMULATION, /* products and sums of gemm and convolutions, with their inputs */
    HC_SOURCE_STATE,        /* the optimizer's momenta, after each update */
    HC_SOURCE_MASTER,       /* what the optimizer works on, after each update */
    HC_SOURCE_COUNT
};

extern const char *const hc_source_names[HC_SOURCE_COUNT];

/* The format of each source under a recipe; HC_FP64 stands for no rounding. */
struct hc_rounding {
    enum hc_format format[HC_SOURCE_COUNT];
};

struct hc_rounding hc_rounding_of(const struct hc_recipe *recipe);

/* Of one layer with weights, or of the network (all layers), over the steps: means. */
struct hc_drift_layer {
    double error;     /* |g - g64| / |g64| of weight gradients, unscaled, Euclidean norms */
    double cosine;    /* between them */
    double underflow; /* share of gradients that are 0 and not 0 in fp64 */
    double lost;      /* share of weights that an update of fp64 moves and this one does not */
};

struct hc_drift {
    const struct hc_recipe *recipe;
    struct hc_drift_layer layer[HC_MAX_LAYERS];
    struct hc_drift_layer all;
    double free;   /* |w - w64| / |w64 - w at the start|, after the last step of the free run */
    double unlike; /* free run's last loss less that of fp64 */

    /* By source, and [HC_SOURCE_COUNT] with all of them: gradient error at the first step's weights of
       each step as above, and distance of the free run. */
    double alone_gradient[HC_SOURCE_COUNT + 1];
    double alone_free[HC_SOURCE_COUNT + 1];
    double without_gradient[HC_SOURCE_COUNT + 1];
    double without_free[HC_SOURCE_COUNT + 1];
};

struct hc_drift_options {
    const struct hc_network *network;
    const struct hc_dataset *data;
    const struct hc_backend *backend; /* host memory, with fp64 */
    int threads;
    int batch;
    int steps;
    double lr; /* of every step; beta1 is 0.9 */
    uint64_t seed;
};

/* Measures one recipe. HC_UNSUPPORTED where the backend has no fp64 or no host memory. */
enum hc_status hc_drift_measure(const struct hc_drift_options *options,
                                const struct hc_recipe *recipe, struct hc_drift *drift);

#endif
