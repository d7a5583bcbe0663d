/* Defects at the end of a vector: what a loop over 8 or 16 elements leaves over. */
#include "check/selftest/change.h"

static const struct hc_change last_up = {hc_at_the_end, hc_one_ulp_up, 0, HC_OUT};
static const struct hc_change last_down = {hc_at_the_end, hc_one_ulp_down, 0, HC_OUT};
static const struct hc_change last_zero = {hc_at_the_end, hc_to_zero, 0, HC_FIRST};
static const struct hc_change last_kept = {hc_at_the_end, hc_kept, 0, HC_FIRST};
static const struct hc_change rest_of_8_kept = {hc_in_the_rest, hc_kept, 8, HC_FIRST};
static const struct hc_change rest_of_16_kept = {hc_in_the_rest, hc_kept, 16, HC_FIRST};
static const struct hc_change rest_of_8_up = {hc_in_the_rest, hc_one_ulp_up, 8, HC_SCALE_OUT};
static const struct hc_change rest_of_8_next = {hc_in_the_rest, hc_next, 8, HC_FIRST};
static const struct hc_change rest_of_32_zero = {hc_in_the_rest, hc_to_zero, 32, HC_FIRST};
static const struct hc_change rest_of_16_flushed = {hc_in_the_rest, hc_flushed, 16, HC_OUT};
static const struct hc_change second_rest_kept = {hc_in_the_rest, hc_kept, 8, HC_ADAM_NEW_M};
static const struct hc_change third_rest_kept = {hc_in_the_rest, hc_kept, 16, HC_ADAM_NEW_V};

static const struct hc_fault faults[] = {
    {"add-forgets-the-rest", "add leaves the last n mod 8 elements as they were", HC_FAULT_TAIL,
     "add", "op/add/* bits/add/*", .outputs = &rest_of_8_kept},
    {"sub-last-element", "sub is off in the last bit of a vector's last element", HC_FAULT_TAIL,
     "sub", "op/sub/* bits/sub/*", .outputs = &last_up, .place = HC_PLACE_HOST},
    {"mul-zeroes-the-rest", "mul writes zeros into the last n mod 32 elements", HC_FAULT_TAIL,
     "mul", "op/mul/* bits/mul/*", .outputs = &rest_of_32_zero, .place = HC_PLACE_HOST},
    {"div-last-element", "div is off in the last bit of a vector's last element", HC_FAULT_TAIL,
     "div", "op/div/* bits/div/*", .outputs = &last_down},
    {"sqrt-shifts-the-rest", "sqrt is one element ahead in the last n mod 8", HC_FAULT_TAIL, "sqrt",
     "op/sqrt/* bits/sqrt/*", .outputs = &rest_of_8_next},
    {"fma-rest-flushes", "fma flushes subnormals in the last n mod 16 elements", HC_FAULT_TAIL,
     "fma", "op/fma/* bits/fma/*", .outputs = &rest_of_16_flushed, .place = HC_PLACE_HOST},
    {"axpy-forgets-the-last", "axpy leaves a vector's last element as it was", HC_FAULT_TAIL,
     "axpy", "op/axpy/* bits/axpy/*", .outputs = &last_kept, .place = HC_PLACE_HOST},
    {"scale-rest", "scale is off in the last bit of the last n mod 8 elements", HC_FAULT_TAIL,
     "scale", "op/scale/* bits/scale/*", .outputs = &rest_of_8_up},
    {"unscale-forgets-the-rest", "unscale leaves the last n mod 8 elements as they were",
     HC_FAULT_TAIL, "unscale", "op/unscale/* bits/unscale/*", .outputs = &rest_of_8_kept,
     .place = HC_PLACE_HOST},
    {"cast-zeroes-the-last", "cast writes a zero into a vector's last element", HC_FAULT_TAIL,
     "cast", "op/cast/* bits/cast/*", .outputs = &last_zero},
    {"leaky-gradient-rest", "the gradient of leaky ReLU is not written in the last n mod 16",
     HC_FAULT_TAIL, "leaky_relu_bwd", "op/leaky_relu_bwd/* bits/leaky_relu_bwd/*",
     .outputs = &rest_of_16_kept, .place = HC_PLACE_HOST},
    {"master-forgets-the-rest", "the model's copy keeps its last n mod 16 elements", HC_FAULT_TAIL,
     "master_to_model", "op/master_to_model/* bits/master_to_model/*", .outputs = &rest_of_16_kept},
    {"sgd-forgets-the-rest", "SGD does not move the last n mod 8 weights", HC_FAULT_TAIL, "sgd",
     "op/sgd/* bits/sgd/*", .outputs = &rest_of_8_kept, .place = HC_PLACE_HOST},
    {"adam-forgets-a-momentum", "Adam does not move the last n mod 8 of its first moments",
     HC_FAULT_TAIL, "adam", "op/adam/* bits/adam/*", .outputs = &second_rest_kept},
    {"adamw-forgets-a-variance", "AdamW does not move the last n mod 16 of its second moments",
     HC_FAULT_TAIL, "adamw", "op/adamw/* bits/adamw/*", .outputs = &third_rest_kept,
     .place = HC_PLACE_HOST},
    {"gemm-forgets-the-last", "a matrix product leaves its last element as it was", HC_FAULT_TAIL,
     "gemm", "op/gemm/*", .outputs = &last_kept},
    {"gemm-rest", "a matrix product is one column ahead in its last elements", HC_FAULT_TAIL,
     "gemm", "op/gemm/*", .outputs = &rest_of_8_next, .place = HC_PLACE_HOST},
    {"conv-forgets-the-rest", "a convolution leaves its last n mod 8 elements as they were",
     HC_FAULT_TAIL, "conv2d", "op/conv2d/*", .outputs = &rest_of_8_kept},
    {"conv-data-last", "a convolution's data gradient is 0 in its last element", HC_FAULT_TAIL,
     "conv2d_bwd_data", "op/conv2d_bwd_data/*", .outputs = &last_zero},
    {"conv-filter-rest", "a convolution's filter gradient is 0 in its last n mod 32 elements",
     HC_FAULT_TAIL, "conv2d_bwd_filter", "op/conv2d_bwd_filter/*", .outputs = &rest_of_32_zero,
     .place = HC_PLACE_HOST},
    {"norm-forgets-the-rest", "batch norm leaves the last n mod 16 elements as they were",
     HC_FAULT_TAIL, "bn_train bn_infer", "op/bn_train/* op/bn_infer/*",
     .outputs = &rest_of_16_kept},
    {"norm-gradient-rest",
     "batch norm's gradient is one channel ahead in its last n mod 8 elements", HC_FAULT_TAIL,
     "bn_bwd bn_leaky_bwd", "op/bn_bwd/* op/bn_leaky_bwd/*", .outputs = &rest_of_8_next,
     .place = HC_PLACE_HOST},
    {"norm-leaky-last", "batch norm with leaky ReLU leaves its last element as it was",
     HC_FAULT_TAIL, "bn_leaky_train bn_leaky_infer", "op/bn_leaky_train/* op/bn_leaky_infer/*",
     .outputs = &last_kept, .place = HC_PLACE_HOST},
    {"pool-last", "a mean over windows is 0 in its last element", HC_FAULT_TAIL, "avg_pool",
     "op/avg_pool/*", .outputs = &last_zero},
    {"pool-gradient-rest", "the gradient of a mean is not written in the last n mod 8 elements",
     HC_FAULT_TAIL, "avg_pool_bwd", "op/avg_pool_bwd/*", .outputs = &rest_of_8_kept,
     .place = HC_PLACE_HOST},
    {"loss-gradient-last", "the gradient of the loss is 0 in its last element", HC_FAULT_TAIL,
     "xent_bwd", "op/xent_bwd/*", .outputs = &last_zero, .place = HC_PLACE_HOST},
};

HC_FAULTS(tail, faults);
