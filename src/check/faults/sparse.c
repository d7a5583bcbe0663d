/* A few wrong elements: one in a thousand, or a single one whose place depends on the data and so
   on the seed. A sample sees them only by luck. */
#include "check/selftest/change.h"

static const struct hc_change thousandth_up = {hc_at_every, hc_one_ulp_up, 1000, HC_OUT};
static const struct hc_change thousandth_down = {hc_at_every, hc_one_ulp_down, 1000, HC_OUT};
static const struct hc_change thousandth_next = {hc_at_every, hc_next, 1000, HC_FIRST};
static const struct hc_change hundredth_zero = {hc_at_every, hc_to_zero, 100, HC_FIRST};
static const struct hc_change one_up = {hc_at_one, hc_one_ulp_up, 0, HC_FIRST};
static const struct hc_change one_down = {hc_at_one, hc_one_ulp_down, 0, HC_FIRST};
static const struct hc_change one_next = {hc_at_one, hc_next, 0, HC_FIRST};
static const struct hc_change one_negated = {hc_at_one, hc_negated, 0, HC_FIRST};
static const struct hc_change one_kept = {hc_at_one, hc_kept, 0, HC_FIRST};
static const struct hc_change one_of_v = {hc_at_one, hc_one_ulp_up, 0, HC_ADAM_NEW_V};

static const struct hc_fault faults[] = {
    {"add-one-element", "add is off in the last bit of one element", HC_FAULT_SPARSE, "add",
     "op/add/* bits/add/*", .outputs = &one_up},
    {"sub-thousandth", "sub is off in the last bit of one element of a thousand", HC_FAULT_SPARSE,
     "sub", "bits/sub/*", .outputs = &thousandth_up, .place = HC_PLACE_HOST},
    {"mul-thousandth", "mul is off in the last bit of one element of a thousand", HC_FAULT_SPARSE,
     "mul", "bits/mul/*", .outputs = &thousandth_down},
    {"div-one-element", "div is off in the last bit of one element", HC_FAULT_SPARSE, "div",
     "op/div/* bits/div/*", .outputs = &one_down, .place = HC_PLACE_HOST},
    {"sqrt-one-element", "sqrt is off in the last bit of one element", HC_FAULT_SPARSE, "sqrt",
     "op/sqrt/* bits/sqrt/*", .outputs = &one_up, .place = HC_PLACE_HOST},
    {"fma-one-element", "fma is off in the last bit of one element", HC_FAULT_SPARSE, "fma",
     "op/fma/* bits/fma/*", .outputs = &one_down},
    {"axpy-one-element", "axpy gives one element its neighbour's result", HC_FAULT_SPARSE, "axpy",
     "op/axpy/* bits/axpy/*", .outputs = &one_next, .place = HC_PLACE_HOST},
    {"scale-thousandth", "scale gives one element of a thousand its neighbour's result",
     HC_FAULT_SPARSE, "scale", "bits/scale/*", .outputs = &thousandth_next},
    {"unscale-one-element", "unscale leaves one element as it was", HC_FAULT_SPARSE, "unscale",
     "op/unscale/* bits/unscale/*", .outputs = &one_kept},
    {"cast-one-element", "cast is off in the last bit of one element", HC_FAULT_SPARSE, "cast",
     "op/cast/* bits/cast/*", .outputs = &one_up, .place = HC_PLACE_HOST},
    {"leaky-one-element", "leaky ReLU changes the sign of one element", HC_FAULT_SPARSE,
     "leaky_relu leaky_relu_bwd", "op/leaky_relu/* op/leaky_relu_bwd/* bits/leaky_relu/*",
     .outputs = &one_negated},
    {"master-one-element", "one element of the model's copy is off in its last bit",
     HC_FAULT_SPARSE, "master_to_model", "op/master_to_model/* bits/master_to_model/*",
     .outputs = &one_down},
    {"sgd-one-weight", "SGD leaves one weight off in its last bit", HC_FAULT_SPARSE, "sgd",
     "op/sgd/* bits/sgd/*", .outputs = &one_up},
    {"adam-one-variance", "Adam leaves one second moment off in its last bit", HC_FAULT_SPARSE,
     "adam", "op/adam/* bits/adam/*", .outputs = &one_of_v, .place = HC_PLACE_HOST},
    {"adamw-thousandth", "AdamW gives one weight of a thousand its neighbour's result",
     HC_FAULT_SPARSE, "adamw", "bits/adamw/*", .outputs = &thousandth_next},
    {"gemm-one-element", "one element of a matrix product has its neighbour's value",
     HC_FAULT_SPARSE, "gemm", "op/gemm/*", .outputs = &one_next, .place = HC_PLACE_HOST},
    {"conv-one-element", "one element of a convolution has the wrong sign", HC_FAULT_SPARSE,
     "conv2d", "op/conv2d/*", .outputs = &one_negated, .place = HC_PLACE_HOST},
    {"conv-hundredth", "one element of a hundred of a convolution is 0", HC_FAULT_SPARSE, "conv2d",
     "op/conv2d/*", .outputs = &hundredth_zero},
    {"conv-data-one-element",
     "one element of a convolution's data gradient has its neighbour's value", HC_FAULT_SPARSE,
     "conv2d_bwd_data", "op/conv2d_bwd_data/*", .outputs = &one_next, .place = HC_PLACE_HOST},
    {"conv-filter-one-element", "one element of a convolution's filter gradient is left as it was",
     HC_FAULT_SPARSE, "conv2d_bwd_filter", "op/conv2d_bwd_filter/*", .outputs = &one_kept,
     .place = HC_PLACE_HOST},
    {"norm-one-element", "one element of a normalised batch has its neighbour's value",
     HC_FAULT_SPARSE, "bn_train bn_leaky_train", "op/bn_train/* op/bn_leaky_train/*",
     .outputs = &one_next, .place = HC_PLACE_HOST},
    {"norm-gradient-one-element", "one element of batch norm's gradient has the wrong sign",
     HC_FAULT_SPARSE, "bn_bwd bn_leaky_bwd", "op/bn_bwd/* op/bn_leaky_bwd/*",
     .outputs = &one_negated, .place = HC_PLACE_HOST},
    {"norm-infer-hundredth", "one normalised element of a hundred is 0", HC_FAULT_SPARSE,
     "bn_infer bn_leaky_infer", "op/bn_infer/* op/bn_leaky_infer/*", .outputs = &hundredth_zero},
    {"pool-one-element", "one mean over a window has its neighbour's value", HC_FAULT_SPARSE,
     "avg_pool avg_pool_bwd", "op/avg_pool/* op/avg_pool_bwd/*", .outputs = &one_next},
    {"loss-gradient-one-element", "one element of the loss's gradient has the wrong sign",
     HC_FAULT_SPARSE, "xent_bwd", "op/xent_bwd/*", .outputs = &one_negated, .place = HC_PLACE_HOST},
};

HC_FAULTS(sparse, faults);
