/* Defects that small tensors do not show: the remainder after a block, one element past a border, a
   number kept in too few bits. */
#include "check/selftest/change.h"

#include <stdlib.h>
#include <string.h>

/* A slice of a tensor along the extent `axis`, if that is larger than `border`: what comes after
   the last multiple of `border`, or with `one` only what lies at the border. Axis -1 counts
   elements. */
struct slice {
    int slot; /* the input that is hidden; not for outputs */
    int axis;
    int64_t border;
    bool one;
};

static int64_t extent_of(const struct hc_tensor *t, int axis)
{
    return axis < 0 ? hc_tensor_count(t) : t->shape[axis];
}

static bool in_slice(const struct hc_tensor *t, const struct slice *s, int64_t i)
{
    int64_t inner = 1;
    for (int axis = s->axis + 1; s->axis >= 0 && axis < t->rank; axis++)
        inner *= t->shape[axis];
    int64_t extent = extent_of(t, s->axis);
    int64_t at = i / inner % (extent ? extent : 1);
    if (extent <= s->border)
        return false;
    return s->one ? at == s->border : at >= (extent - 1) / s->border * s->border;
}

/* Results in the slice are one too large. */
static enum hc_status spoilt(const struct hc_fault_site *site, struct hc_queue *queue,
                             const struct hc_call *call)
{
    const struct slice *s = site->fault->data;
    const struct hc_tensor *t = &call->out[HC_FIRST];
    enum hc_status status = site->right(queue, call);
    for (int64_t i = 0; status == HC_OK && i < hc_tensor_count(t); i++)
        if (in_slice(t, s, i))
            hc_tensor_set(t, i, hc_tensor_get(t, i) + 1);
    return status;
}

/* The kernel reads zeros in a slice of an input. */
static enum hc_status hidden(const struct hc_fault_site *site, struct hc_queue *queue,
                             const struct hc_call *call)
{
    struct slice s = *(const struct slice *)site->fault->data;
    struct hc_call bad = *call;
    struct hc_tensor *t = &bad.in[s.slot];
    if (call->op == HC_OP_gemm && call->params.gemm.transpose_a)
        s.axis = 0;
    t->data = hc_fault_copy(t);
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        if (in_slice(t, &s, i))
            hc_tensor_set(t, i, 0);
    enum hc_status status = site->right(queue, &bad);
    free(t->data);
    return status;
}

/* Labels, or a count of steps, are masked to so many bits. */
static enum hc_status narrowed(const struct hc_fault_site *site, struct hc_queue *queue,
                               const struct hc_call *call)
{
    int32_t mask = (int32_t)site->fault->number;
    struct hc_call bad = *call;
    bool loss = call->op == HC_OP_xent || call->op == HC_OP_xent_bwd;
    struct hc_tensor *t = &bad.in[loss ? HC_XENT_LABELS : HC_RATES_COUNTS];
    t->data = hc_fault_copy(t);
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        ((int32_t *)t->data)[i] &= mask;
    enum hc_status status = site->right(queue, &bad);
    free(t->data);
    return status;
}

/* A strided convolution of an odd width does not see the last column. */
static enum hc_status odd_width(const struct hc_fault_site *site, struct hc_queue *queue,
                                const struct hc_call *call)
{
    struct hc_call bad = *call;
    struct hc_tensor *x = &bad.in[HC_CONV_X];
    if (call->params.conv.stride != 2 || x->shape[2] % 2 == 0)
        return site->right(queue, call);
    x->data = hc_fault_copy(x);
    for (int64_t i = 0; i < hc_tensor_count(x); i++)
        if (i / x->shape[3] % x->shape[2] == x->shape[2] - 1)
            hc_tensor_set(x, i, 0);
    enum hc_status status = site->right(queue, &bad);
    free(x->data);
    return status;
}

/* Two choices that only go wrong together: stride 3 with pad 2, 33 channels in windows of 3. */
static enum hc_status together(const struct hc_fault_site *site, struct hc_queue *queue,
                               const struct hc_call *call)
{
    const struct hc_tensor *y = &call->out[HC_FIRST];
    bool meets = false;
    if (hc_ops[call->op].class_ == HC_CLASS_CONV)
        meets = call->params.conv.stride == 3 && call->params.conv.pad == 2;
    if (hc_ops[call->op].class_ == HC_CLASS_POOL)
        meets = call->params.pool.window == 3 && y->shape[3] == 33;
    enum hc_status status = site->right(queue, call);
    if (status == HC_OK && meets && hc_tensor_count(y) > 0)
        hc_tensor_set(y, 0, hc_tensor_get(y, 0) + 1);
    return status;
}

/* Unscaling checks no element after the last whole block for overflow. */
static enum hc_status unseen(const struct hc_fault_site *site, struct hc_queue *queue,
                             const struct hc_call *call)
{
    enum { BLOCK = 2048 };
    struct hc_call whole = *call;
    int64_t n = hc_tensor_count(&call->in[HC_UNSCALE_X]);
    float found = 0;
    enum hc_status status = HC_OK;
    whole.in[HC_UNSCALE_X] = whole.out[HC_UNSCALE_OUT] = hc_tensor1(HC_FP32, 0, NULL);
    if (n <= BLOCK || call->in[HC_UNSCALE_X].data == call->out[HC_UNSCALE_OUT].data)
        return site->right(queue, call);
    whole.in[HC_UNSCALE_X] =
        hc_tensor1(call->in[HC_UNSCALE_X].format, n / BLOCK * BLOCK, call->in[HC_UNSCALE_X].data);
    whole.out[HC_UNSCALE_OUT] = hc_tensor1(call->out[HC_UNSCALE_OUT].format, n / BLOCK * BLOCK,
                                           call->out[HC_UNSCALE_OUT].data);
    whole.in[HC_UNSCALE_OVERRIDE] = hc_tensor1(HC_FP32, 0, NULL);
    status = site->right(queue, &whole);
    found = *(const float *)call->out[HC_UNSCALE_NEW_FOUND_INF].data;
    if (status == HC_OK)
        status = site->right(queue, call);
    *(float *)call->out[HC_UNSCALE_NEW_FOUND_INF].data = found;
    return status;
}

/* A product whose row or column number is all that it has loses the last of 65. */
static enum hc_status lone_row(const struct hc_fault_site *site, struct hc_queue *queue,
                               const struct hc_call *call)
{
    enum { ROWS = 65 };
    const struct hc_tensor *out = &call->out[HC_GEMM_OUT];
    enum hc_status status = site->right(queue, call);
    if (status == HC_OK && hc_tensor_count(out) == ROWS &&
        hc_tensor_count(&call->in[HC_GEMM_A]) == ROWS)
        hc_tensor_set(out, ROWS - 1, 0);
    return status;
}

/* A loss over the first 64 rows. */
static enum hc_status few_rows(const struct hc_fault_site *site, struct hc_queue *queue,
                               const struct hc_call *call)
{
    enum { ROWS = 64 };
    struct hc_call bad = *call;
    int64_t rows = call->in[HC_XENT_LOGITS].shape[0];
    if (rows <= ROWS)
        return site->right(queue, call);
    bad.in[HC_XENT_LOGITS].shape[0] = bad.in[HC_XENT_LABELS].shape[0] = ROWS;
    enum hc_status status = site->right(queue, &bad);
    double part = call->params.xent.sum ? 1 : (double)ROWS / (double)rows;
    hc_tensor_set(&call->out[HC_XENT_LOSS], 0, hc_tensor_get(&call->out[HC_XENT_LOSS], 0) * part);
    return status;
}

static const struct slice last_of_2048 = {.axis = -1, .border = 2048};
static const struct slice element_16384 = {.axis = -1, .border = 16384, .one = true};
static const struct slice element_65536 = {.axis = -1, .border = 65536, .one = true};
static const struct slice element_131072 = {.axis = -1, .border = 131072, .one = true};
static const struct slice element_262144 = {.axis = -1, .border = 262144, .one = true};
static const struct slice element_333 = {.axis = -1, .border = 333, .one = true};
static const struct slice rest_of_64 = {.axis = -1, .border = 64};
static const struct slice tail_of_terms = {.slot = HC_GEMM_A, .axis = 1, .border = 256};
static const struct slice tail_of_32 = {.slot = HC_GEMM_A, .axis = 1, .border = 32};
static const struct slice row_64 = {.axis = 0, .border = 64, .one = true};
static const struct slice columns_16 = {.axis = 1, .border = 16};
static const struct slice column_128 = {.axis = 1, .border = 128, .one = true};
static const struct slice image_32 = {.axis = 0, .border = 32, .one = true};
static const struct slice images_8 = {.slot = HC_CONV_BWD_FILTER_X, .axis = 0, .border = 8};
static const struct slice filters_16 = {.axis = 3, .border = 16};
static const struct slice channels_16 = {.slot = HC_CONV_FIRST, .axis = 3, .border = 16};
static const struct slice width_512 = {.slot = HC_CONV_BWD_FILTER_DY, .axis = 2, .border = 512};
static const struct slice filter_963 = {.axis = 0, .border = 960};
static const struct slice channel_64 = {.axis = 3, .border = 64, .one = true};
static const struct slice channel_4096 = {.axis = 3, .border = 4096, .one = true};
static const struct slice channels_128 = {.slot = HC_BN_X, .axis = 3, .border = 128};
static const struct slice row_32768 = {.axis = 0, .border = 32768, .one = true};
static const struct slice rows_4096 = {.slot = HC_BN_BWD_DY, .axis = 0, .border = 4096};
static const struct slice channel_2048 = {.axis = 3, .border = 2048, .one = true};
static const struct slice classes_32 = {.axis = 1, .border = 32};
static const struct slice row_65536 = {.axis = 0, .border = 65536, .one = true};

static const struct hc_fault faults[] = {
    {"last-past-2048", "the elements after the last whole block of 2,048 are wrong",
     HC_FAULT_BORDER, "add scale cast",
     "border/add/*/elements border/scale/*/elements border/cast/*/elements", .wrong = spoilt,
     .data = &last_of_2048, .place = HC_PLACE_HOST},
    {"element-16384", "the first element of a second thread's share is wrong", HC_FAULT_BORDER,
     "mul axpy", "border/mul/*/elements border/axpy/*/elements", .wrong = spoilt,
     .data = &element_16384, .place = HC_PLACE_HOST},
    {"element-65536", "an index kept in 16 bits misses one element", HC_FAULT_BORDER,
     "adam* sgd fma", "border/adamw/*/elements border/sgd/*/elements border/fma/*/elements",
     .wrong = spoilt, .data = &element_65536, .place = HC_PLACE_HOST},
    {"element-262144", "the first element of a grid's second pass is wrong", HC_FAULT_BORDER,
     "sub master_to_model", "border/sub/*/elements border/master*/*/elements", .wrong = spoilt,
     .data = &element_262144, .place = HC_PLACE_HOST},
    {"gemm-lone-row-65", "a product of a column by one number loses its last row where it has 65",
     HC_FAULT_TAIL, "gemm", "border/gemm/*/m op/gemm/*/normal", .wrong = lone_row,
     .place = HC_PLACE_HOST},
    {"leaky-rest-of-64", "the elements after the last multiple of 64 are wrong", HC_FAULT_TAIL,
     "leaky_relu leaky_relu_bwd", "border/leaky_relu/*/elements border/leaky_relu_bwd/*/elements",
     .wrong = spoilt, .data = &rest_of_64},
    {"term-131072", "a sum leaves out the first term after 131,072", HC_FAULT_BORDER,
     "sum dot sum_squares", "border/sum/*/terms border/dot/*/terms border/sum_squares/*/terms",
     .wrong = hidden, .data = &element_131072, .place = HC_PLACE_HOST},
    {"terms-rest-of-2048", "a sum leaves out the terms after its last block of 2,048",
     HC_FAULT_TAIL, "sum dot sum_squares",
     "border/sum/*/terms border/dot/*/terms border/sum_squares/*/terms", .wrong = hidden,
     .data = &last_of_2048, .place = HC_PLACE_HOST},
    {"found-in-the-rest", "the detector does not look past the last whole block", HC_FAULT_BORDER,
     "unscale", "border/unscale/*/elements", .wrong = unseen, .place = HC_PLACE_HOST},
    {"gemm-k-tail-256", "a product leaves out the terms after the last multiple of 256",
     HC_FAULT_TAIL, "gemm", "border/gemm/*/k", .wrong = hidden, .data = &tail_of_terms,
     .place = HC_PLACE_HOST},
    {"gemm-k-tail-32", "a product leaves out the terms after the last multiple of 32",
     HC_FAULT_TAIL, "gemm", "border/gemm/*/k", .wrong = hidden, .data = &tail_of_32,
     .place = HC_PLACE_HOST},
    {"gemm-row-64", "the first row of a product's second block is wrong", HC_FAULT_BORDER, "gemm",
     "border/gemm/*/m", .wrong = spoilt, .data = &row_64, .place = HC_PLACE_HOST},
    {"gemm-column-128", "the first column of a product's second tile is wrong", HC_FAULT_BORDER,
     "gemm", "border/gemm/*/n", .wrong = spoilt, .data = &column_128, .place = HC_PLACE_HOST},
    {"gemm-columns-of-16", "the columns after the last multiple of 16 are wrong", HC_FAULT_TAIL,
     "gemm", "border/gemm/*/n", .wrong = spoilt, .data = &columns_16},
    {"image-33", "the first image of a second run of 32 is wrong", HC_FAULT_BORDER,
     "conv2d conv2d_bwd_data", "border/conv2d/*/images border/conv2d_bwd_data/*/images",
     .wrong = spoilt, .data = &image_32, .place = HC_PLACE_HOST},
    {"images-behind-8", "the gradient of the filter leaves out images after the last multiple of 8",
     HC_FAULT_TAIL, "conv2d_bwd_filter", "border/conv2d_bwd_filter/*/images", .wrong = hidden,
     .data = &images_8, .place = HC_PLACE_HOST},
    {"filters-behind-16", "a convolution's filters after the last multiple of 16 are wrong",
     HC_FAULT_TAIL, "conv2d", "border/conv2d/*/filters", .wrong = spoilt, .data = &filters_16},
    {"channels-behind-16", "a convolution leaves out channels after the last multiple of 16",
     HC_FAULT_TAIL, "conv2d conv2d_bwd_filter",
     "border/conv2d/*/channels border/conv2d_bwd_filter/*/channels", .wrong = hidden,
     .data = &channels_16},
    {"pixels-behind-512", "the gradient of the filter leaves out pixels past the 512th",
     HC_FAULT_BORDER, "conv2d_bwd_filter", "border/conv2d_bwd_filter/*/pixels", .wrong = hidden,
     .data = &width_512, .place = HC_PLACE_HOST},
    {"large-filter-rest", "the last filters of a large gradient are wrong", HC_FAULT_BORDER,
     "conv2d_bwd_filter", "border/conv2d_bwd_filter/*/weights", .wrong = spoilt,
     .data = &filter_963, .place = HC_PLACE_HOST},
    {"odd-width-of-stride-2", "a convolution of stride 2 does not see an odd width's last column",
     HC_FAULT_BORDER, "conv2d", "border/conv2d/*/images", .wrong = odd_width,
     .place = HC_PLACE_HOST},
    {"two-choices-of-a-convolution", "a convolution is wrong where stride 3 meets pad 2",
     HC_FAULT_PARAMETER, "conv2d*",
     "border/conv2d/*/pairs border/conv2d_bwd_data/*/pairs border/conv2d_bwd_filter/*/pairs",
     .wrong = together, .place = HC_PLACE_HOST},
    {"two-choices-of-a-pool", "a pool is wrong where windows of 3 meet 33 channels",
     HC_FAULT_PARAMETER, "avg_pool*", "border/avg_pool/*/pairs border/avg_pool_bwd/*/pairs",
     .wrong = together, .place = HC_PLACE_HOST},
    {"norm-channel-64", "the first channel of batch norm's second strip is wrong", HC_FAULT_BORDER,
     "bn_*", "border/bn_train/*/channels border/bn_bwd/*/channels", .wrong = spoilt,
     .data = &channel_64, .place = HC_PLACE_HOST},
    {"norm-channel-4096", "the first channel that no block holds is wrong", HC_FAULT_BORDER, "bn_*",
     "border/bn_infer/*/channels border/bn_leaky_train/*/channels", .wrong = spoilt,
     .data = &channel_4096, .place = HC_PLACE_HOST},
    {"norm-channels-of-128", "batch norm reads zeros in channels after the last multiple of 128",
     HC_FAULT_TAIL, "bn_train bn_infer", "border/bn_train/*/channels border/bn_infer/*/channels",
     .wrong = hidden, .data = &channels_128},
    {"norm-row-32768", "the first element of batch norm's second chunk is wrong", HC_FAULT_BORDER,
     "bn_*", "border/bn_train/*/elements border/bn_leaky_bwd/*/elements", .wrong = spoilt,
     .data = &row_32768, .place = HC_PLACE_HOST},
    {"norm-rows-behind-4096", "the gradients' sums leave out rows after the last multiple of 4,096",
     HC_FAULT_TAIL, "bn_bwd", "border/bn_bwd/*/elements", .wrong = hidden, .data = &rows_4096,
     .place = HC_PLACE_HOST},
    {"pool-channel-2048", "the first channel of a pool's second run is wrong", HC_FAULT_BORDER,
     "avg_pool*", "border/avg_pool/*/channels border/avg_pool_bwd/*/channels", .wrong = spoilt,
     .data = &channel_2048, .place = HC_PLACE_HOST},
    {"loss-of-64-rows", "the loss counts only the first 64 rows", HC_FAULT_BORDER, "xent",
     "border/xent/*/rows border/xent/*/classes", .wrong = few_rows, .place = HC_PLACE_HOST},
    {"loss-gradient-row-65536", "a row's number is kept in 16 bits", HC_FAULT_BORDER, "xent_bwd",
     "border/xent_bwd/*/rows", .wrong = spoilt, .data = &row_65536},
    {"loss-classes-behind-32", "the gradient is wrong in classes after the last multiple of 32",
     HC_FAULT_TAIL, "xent_bwd", "border/xent_bwd/*/classes", .wrong = spoilt, .data = &classes_32},
    {"label-in-seven-bits", "a label is kept in a signed byte", HC_FAULT_BORDER, "xent xent_bwd",
     "border/xent/*/classes border/xent_bwd/*/classes", .wrong = narrowed, .number = 127},
    {"label-in-a-byte", "a label is kept in a byte", HC_FAULT_BORDER, "xent xent_bwd",
     "border/xent/*/classes border/xent_bwd/*/classes", .wrong = narrowed, .number = 255},
    {"one-output-of-many", "element 333 of a large output is wrong", HC_FAULT_SPARSE,
     "conv2d conv2d_bwd_data bn_train",
     "op/conv2d/fp32/2x7x* op/conv2d_bwd_data/fp32/2x7x* op/bn_train/fp32/17x*", .wrong = spoilt,
     .data = &element_333, .place = HC_PLACE_HOST},
    {"steps-in-a-byte", "the count of steps is kept in a byte where a table is looked up",
     HC_FAULT_BORDER, "step_log", "border/step_log/*/rows", .wrong = narrowed, .number = 255},
    {"steps-in-16-bits", "the count of steps is kept in 16 bits where a table is looked up",
     HC_FAULT_BORDER, "rates", "border/rates/*/rows", .wrong = narrowed, .number = 65535},
};

HC_FAULTS(borders, faults);
