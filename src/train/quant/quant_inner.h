/* The inside of quantised convolutions, for the files that allocate and multiply. */
#ifndef HC_TRAIN_QUANT_QUANT_INNER_H
#define HC_TRAIN_QUANT_QUANT_INNER_H

#include "train/net/parameter.h"
#include "train/quant/quant.h"

/* An operand's codes, their scales, and what of the rule's results is one number. */
struct hc_quant_buffers {
    struct hc_storage *codes;
    struct hc_storage *scales;
    struct hc_storage *numbers; /* tensor, and an amax that nobody asks for */
};

/* The scales of one pass under delayed scaling: x and w of each layer, or dy. */
struct hc_quant_group {
    int64_t tensors;
    struct hc_storage *amax;
    struct hc_storage *zero; /* what amax is before a step */
    struct hc_storage *history;
    struct hc_storage *scale;
};

enum { HC_QUANT_GROUPS = 2 };

struct hc_quant {
    struct hc_device *device;
    const struct hc_quant_recipe *recipe;
    enum hc_format format;
    int count;
    struct hc_quant_shape *shape;
    int64_t history;
    struct hc_storage *columns;         /* im2col of x, in the model's format */
    struct hc_storage *back;            /* gradient of the columns, in fp32, or fp64 as the model */
    struct hc_storage *weight;          /* masters in the model's format, for a plain product */
    struct hc_quant_buffers operand[2]; /* A and B */
    struct hc_quant_group group[HC_QUANT_GROUPS];
    uint64_t seed;
    int64_t step;
    bool holds;
    hc_quant_watch *watch; /* or NULL */
    void *watch_context;
    hc_quant_run *run; /* or NULL */
    void *run_context;
};

/* Rows of the columns, and numbers in a row. */
struct hc_quant_extent {
    int64_t pixels;
    int64_t taps;
};
struct hc_quant_extent hc_quant_extent(const struct hc_quant_shape *shape);

#endif
