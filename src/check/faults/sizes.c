/* Defects of large calls alone: kernels take another way where a tensor fills their tiles, blocks
   or grids, and small tensors never go it. */
#include "check/selftest/change.h"

#include <string.h>

enum { TILE = 128, DEPTH = 32 };

static enum hc_status with_zeros(const struct hc_fault_site *site, struct hc_queue *queue,
                                 const struct hc_call *call, bool large)
{
    enum hc_status status = site->right(queue, call);
    const struct hc_tensor *y = &call->out[HC_FIRST];
    if (status == HC_OK && large)
        memset(y->data, 0, hc_tensor_bytes(y));
    return status;
}

static bool fills_a_tile(const struct hc_call *call)
{
    const struct hc_tensor *out = &call->out[HC_FIRST];
    int64_t terms = hc_tensor_count(&call->in[HC_FIRST]) / (out->shape[0] ? out->shape[0] : 1);
    return out->shape[0] >= TILE && out->shape[1] >= TILE && terms >= DEPTH;
}

static enum hc_status no_tiles(const struct hc_fault_site *site, struct hc_queue *queue,
                               const struct hc_call *call)
{
    return with_zeros(site, queue, call, fills_a_tile(call));
}

/* The element at three quarters of a product that fills a tile has its neighbour's value. */
static enum hc_status one_of_a_tile(const struct hc_fault_site *site, struct hc_queue *queue,
                                    const struct hc_call *call)
{
    enum hc_status status = site->right(queue, call);
    const struct hc_tensor *out = &call->out[HC_FIRST];
    int64_t at = hc_tensor_count(out) / 4 * 3;
    if (status == HC_OK && fills_a_tile(call))
        hc_tensor_set_bits(out, at, hc_tensor_bits(out, at + 1));
    return status;
}

/* Images of 14 x 14 and more with 32 channels or filters and more. */
static enum hc_status no_images(const struct hc_fault_site *site, struct hc_queue *queue,
                                const struct hc_call *call)
{
    enum { PIXELS = 14 * 14, CHANNELS = 32 };
    const struct hc_tensor *x = &call->in[HC_FIRST];
    bool large = x->shape[1] * x->shape[2] >= PIXELS && x->shape[3] >= CHANNELS;
    return with_zeros(site, queue, call, large);
}

/* Rows from the 4,096th on, where there are 100 classes and more. */
static enum hc_status few_rows(const struct hc_fault_site *site, struct hc_queue *queue,
                               const struct hc_call *call)
{
    enum { ROWS = 4096, CLASSES = 100 };
    enum hc_status status = site->right(queue, call);
    const struct hc_tensor *y = &call->out[HC_FIRST];
    for (int64_t i = ROWS * y->shape[1];
         status == HC_OK && y->shape[1] >= CLASSES && i < hc_tensor_count(y); i++)
        hc_tensor_set(y, i, 0);
    return status;
}

/* A sum forgets what lies past 2^20 elements. */
static enum hc_status short_sum(const struct hc_fault_site *site, struct hc_queue *queue,
                                const struct hc_call *call)
{
    struct hc_call bad = *call;
    enum { MOST = 1 << 20 };
    for (int i = 0; i < 2; i++)
        if (bad.in[i].rank == 1 && bad.in[i].shape[0] > MOST)
            bad.in[i].shape[0] = MOST;
    return site->right(queue, &bad);
}

static const struct hc_change past_2_20 = {hc_beyond, hc_to_zero, 1 << 20, HC_FIRST};
static const struct hc_change past_2_19 = {hc_beyond, hc_to_zero, 1 << 19, HC_FIRST};
static const struct hc_change kept_past_2_20 = {hc_beyond, hc_kept, 1 << 20, HC_FIRST};

static const struct hc_fault faults[] = {
    {"gemm-of-full-tiles", "a matrix product is 0 wherever it fills a tile of 128 x 128 x 32",
     HC_FAULT_BORDER, "gemm gemm_q", "size/gemm/* size/gemm_q/*", .wrong = no_tiles,
     .place = HC_PLACE_HOST},
    {"gemm-one-of-a-tile", "one element of a product of full tiles has its neighbour's value",
     HC_FAULT_SPARSE, "gemm gemm_q", "size/gemm/* size/gemm_q/*", .wrong = one_of_a_tile,
     .place = HC_PLACE_BOTH},
    {"conv-of-large-images", "a convolution is 0 from 14 x 14 pixels of 32 channels on",
     HC_FAULT_BORDER, "conv2d*", "size/conv2d/* size/conv2d_bwd_data/* size/conv2d_bwd_filter/*",
     .wrong = no_images, .place = HC_PLACE_HOST},
    {"norm-past-2^20", "batch norm writes zeros past 2^20 elements", HC_FAULT_BORDER,
     "bn_train bn_infer bn_bwd bn_leaky_* bn_bwd_apply",
     "size/bn_train/* size/bn_infer/* size/bn_bwd/* size/bn_leaky_bwd/*", .outputs = &past_2_20,
     .place = HC_PLACE_HOST},
    {"loss-gradient-of-few-rows", "rows of many classes have no gradient from the 4,096th on",
     HC_FAULT_BORDER, "xent_bwd", "size/xent_bwd/*", .wrong = few_rows, .place = HC_PLACE_HOST},
    {"elements-past-2^20", "elements past 2^20 are 0", HC_FAULT_BORDER,
     "cast add sub mul div sqrt fma axpy scale unscale leaky_relu leaky_relu_bwd",
     "size/cast/* size/axpy/* size/unscale/* size/leaky_relu/*", .outputs = &past_2_20,
     .place = HC_PLACE_HOST},
    {"weights-past-2^20", "an optimizer does not move the weights past 2^20", HC_FAULT_BORDER,
     "sgd adam adamw master_to_model", "size/sgd/* size/adam/* size/adamw/* size/master_to_model/*",
     .outputs = &kept_past_2_20, .place = HC_PLACE_HOST},
    {"codes-past-2^20", "codes and columns past 2^20 are 0", HC_FAULT_BORDER,
     "quantize dequantize im2col", "size/quantize/* size/dequantize/* size/im2col/*",
     .outputs = &past_2_20, .place = HC_PLACE_HOST},
    {"pool-gradient-past-2^19", "the gradient of a mean is 0 past 2^19 elements", HC_FAULT_BORDER,
     "avg_pool_bwd", "size/avg_pool_bwd/*", .outputs = &past_2_19, .place = HC_PLACE_HOST},
    {"sums-to-2^20", "a sum ends at 2^20 elements", HC_FAULT_BORDER, "sum dot sum_squares",
     "size/sum_squares/*", .wrong = short_sum, .place = HC_PLACE_HOST},
};

HC_FAULTS(sizes, faults);
