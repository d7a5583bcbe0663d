/* Convolutions, average pools, and convolutions as products of matrices. */
#include <stdio.h>

#include "check/family/kit.h"
#include "check/generate/draw.h"
#include "check/generate/integers.h"
#include "num/clones.h"

static const struct hc_op_shape convolutions[] = {
    {"2x7x5x6-k10r3", HC_QUICK, true, false, {2, 7, 5, 6, 10, 3, 1, 1}},
    {"2x8x8x3-k5r3-s2", HC_STANDARD, true, false, {2, 8, 8, 3, 5, 3, 2, 1}},
    {"3x4x4x3-k4r2-p2", HC_STANDARD, true, false, {3, 4, 4, 3, 4, 2, 1, 2}},
    {"2x5x5x9-k7r1", HC_STANDARD, false, false, {2, 5, 5, 9, 7, 1, 1, 0}},
    {"1x7x7x8-k16r1-s2", HC_STANDARD, false, false, {1, 7, 7, 8, 16, 1, 2, 0}},
    {"3x6x6x1-k1r3-p0", HC_STANDARD, false, false, {3, 6, 6, 1, 1, 3, 1, 0}},
    {"1x3x3x16-k16r3", HC_STANDARD, false, false, {1, 3, 3, 16, 16, 3, 1, 1}},
    {"2x3x3x32-k32r1", HC_STANDARD, true, false, {2, 3, 3, 32, 32, 1, 1, 0}},
    {"0x4x4x3-k2r3", HC_STANDARD, false, false, {0, 4, 4, 3, 2, 3, 1, 1}},
    {"1x9x9x4-k3r5-s3p2", HC_STANDARD, false, false, {1, 9, 9, 4, 3, 5, 3, 2}},
    {"4x16x16x24-k40r3", HC_EXHAUSTIVE, true, false, {4, 16, 16, 24, 40, 3, 1, 1}},
    {.name = NULL},
};

/* Convolutions as products of matrices. */
static const struct hc_op_shape columns[] = {
    {"2x7x5x6-r3", HC_QUICK, true, false, {2, 7, 5, 6, 0, 3, 1, 1}},
    {"2x8x8x3-r3-s2", HC_STANDARD, true, false, {2, 8, 8, 3, 0, 3, 2, 1}},
    {"3x4x4x3-r2-p2", HC_STANDARD, true, false, {3, 4, 4, 3, 0, 2, 1, 2}},
    {"1x7x7x8-r1-s2", HC_STANDARD, false, false, {1, 7, 7, 8, 0, 1, 2, 0}},
    {"0x4x4x3-r3", HC_STANDARD, false, false, {0, 4, 4, 3, 0, 3, 1, 1}},
    {"1x9x9x4-r5-s3p2", HC_STANDARD, false, false, {1, 9, 9, 4, 0, 5, 3, 2}},
    {"4x16x16x24-r3", HC_EXHAUSTIVE, true, false, {4, 16, 16, 24, 0, 3, 1, 1}},
    {.name = NULL},
};

static const struct hc_op_shape pools[] = {
    {"2x6x9x5-3", HC_QUICK, true, false, {2, 6, 9, 5, 3}},
    {"1x1x1x1-1", HC_STANDARD, false, false, {1, 1, 1, 1, 1}},
    {"1x4x4x3-2", HC_STANDARD, false, false, {1, 4, 4, 3, 2}},
    {"0x4x4x3-2", HC_STANDARD, false, false, {0, 4, 4, 3, 2}},
    {.name = NULL},
};

static void open_conv(struct hc_call *call, const int64_t *d, const struct hc_variant *variant)
{
    int64_t p = (d[1] + 2 * d[7] - d[5]) / d[6] + 1;
    int64_t q = (d[2] + 2 * d[7] - d[5]) / d[6] + 1;
    struct hc_tensor x = hc_rank4(d[0], d[1], d[2], d[3]);
    struct hc_tensor w = hc_rank4(d[4], d[5], d[5], d[3]);
    struct hc_tensor y = hc_rank4(d[0], p, q, d[4]);
    bool data = call->op == HC_OP_conv2d_bwd_data;
    bool filter = call->op == HC_OP_conv2d_bwd_filter;
    (void)variant;
    call->params.conv = (struct hc_conv){.stride = (int)d[6], .pad = (int)d[7]};
    call->in[HC_CONV_FIRST] = data ? y : x;
    call->in[HC_CONV_SECOND] = filter ? y : w;
    call->out[HC_CONV_RESULT] = data ? x : filter ? w : y;
}

static void open_pool(struct hc_call *call, const int64_t *d, const struct hc_variant *variant)
{
    bool backward = call->op == HC_OP_avg_pool_bwd;
    struct hc_tensor x = hc_rank4(d[0], d[1], d[2], d[3]);
    struct hc_tensor y = hc_rank4(d[0], d[1] / d[4], d[2] / d[4], d[3]);
    (void)variant;
    call->params.pool.window = (int)d[4];
    call->in[HC_FIRST] = backward ? y : x;
    call->out[HC_FIRST] = backward ? x : y;
}

static void open_columns(struct hc_call *call, const int64_t *d, const struct hc_variant *variant)
{
    int64_t p = (d[1] + 2 * d[7] - d[5]) / d[6] + 1;
    int64_t q = (d[2] + 2 * d[7] - d[5]) / d[6] + 1;
    struct hc_tensor x = hc_rank4(d[0], d[1], d[2], d[3]);
    struct hc_tensor matrix = hc_rank2(d[0] * p * q, d[5] * d[5] * d[3], false);
    bool back = call->op == HC_OP_col2im;
    (void)variant;
    call->params.columns = (struct hc_columns){(int)d[5], (int)d[6], (int)d[7]};
    call->in[HC_FIRST] = back ? matrix : x;
    call->out[HC_FIRST] = back ? x : matrix;
}

/* Convolutions accumulate in fp32 alone. */
static bool allows_conv(const struct hc_format_set *set, const struct hc_variant *variant)
{
    (void)variant;
    return set->work != HC_FP16;
}

static struct hc_run along_channels(const struct hc_call *call, int slot)
{
    return (struct hc_run){1, call->in[slot].shape[3]};
}

static struct hc_run along_filters(const struct hc_call *call, int slot)
{
    const int64_t *d = call->in[slot].shape;
    return (struct hc_run){d[1] * d[2] * d[3], d[0]};
}

static struct hc_run along_channels_or_filters(const struct hc_call *call, int slot)
{
    return slot == HC_CONV_FIRST ? along_channels(call, slot) : along_filters(call, slot);
}

static struct hc_run along_window(const struct hc_call *call, int slot)
{
    return (struct hc_run){call->in[slot].shape[3], call->params.pool.window};
}

static bool is_first_of_filter(const struct hc_draw_site *p, int slot)
{
    const int64_t *d = p->call->in[slot].shape;
    return (int64_t)p->index % (d[1] * d[2] * d[3]) == 0;
}

static bool is_first_of_channel(const struct hc_draw_site *p, int slot)
{
    return (int64_t)p->index < p->call->in[slot].shape[3];
}

static bool is_first_of_window(const struct hc_draw_site *p, int slot)
{
    const int64_t *d = p->call->in[slot].shape;
    int64_t i = (int64_t)p->index;
    int64_t window = p->call->params.pool.window;
    return i / d[3] % d[2] % window == 0 && i / d[3] / d[2] % d[1] % window == 0;
}

static double whole_of_window(const struct hc_draw_site *p, int slot)
{
    (void)slot;
    return hc_whole_term(p);
}

static const struct hc_family_sums sums_forward = {.terms = HC_CONV_SECOND,
                                                   .is_first = is_first_of_filter};
static const struct hc_family_sums sums_backward = {.terms = HC_CONV_SECOND,
                                                    .is_first = is_first_of_channel};
static const struct hc_family_sums sums_of_window = {
    .terms = HC_POOL_X, .added = true, .is_first = is_first_of_window, .whole = whole_of_window};

static void exponents_of_pool(const struct hc_draw_site *p, double *low, double *high)
{
    const struct hc_format_info *f = &hc_formats[hc_op_narrow(p->call, p->format)];
    *low = f->emin - f->precision + 1;
    *high = f->emax - 4;
}

/* The other extents are small, odd and unlike each other. Filters, strides and pads take turns. */
static void border_conv(enum hc_extent extent, int64_t size, int number, int64_t *d)
{
    static const int64_t filters[][3] = {{3, 1, 1}, {3, 2, 1}, {1, 1, 0}, {5, 2, 2}, {2, 3, 0}};
    const int64_t *f = filters[number % 5];
    switch (extent) {
    case HC_EXTENT_CONV_IMAGES:
        hc_shape_set(d, (int64_t[8]){size, 5, 7, 2, 3, f[0], f[1], f[2]});
        break;
    case HC_EXTENT_CONV_CHANNELS:
        hc_shape_set(d, (int64_t[8]){2, 5, 6, size, 3, f[0], f[1], f[2]});
        break;
    case HC_EXTENT_CONV_FILTERS:
        hc_shape_set(d, (int64_t[8]){2, 6, 5, 3, size, f[0], f[1], f[2]});
        break;
    case HC_EXTENT_CONV_PIXELS:
        hc_shape_set(d, (int64_t[8]){3, 1, size, 2, 3, 3, 1, 1});
        break;
    case HC_EXTENT_CONV_IMAGE: /* more images than a run has that is cut by their size */
        hc_shape_set(d, (int64_t[8]){size < 8192 ? 35 : 11, 1, size, 1, 1, 3, 1, 1});
        break;
    default:
        hc_shape_set(d, (int64_t[8]){2, 3, 3, 17, (size + 67) / 68, 2, 1, 0});
    }
}

static void border_pool(enum hc_extent extent, int64_t size, int number, int64_t *d)
{
    int64_t window = 2 + number % 2;
    if (extent == HC_EXTENT_POOL_CHANNELS)
        hc_shape_set(d, (int64_t[8]){2, 2 * window, window, size, window});
    else
        hc_shape_set(d, (int64_t[8]){size, window, window, 1, window});
}

/* The tensor that is written is the image. */
static void border_pool_bwd(enum hc_extent extent, int64_t size, int number, int64_t *d)
{
    int64_t window = 2 + number % 2;
    int64_t area = window * window;
    border_pool(extent, size, number, d);
    if (extent == HC_EXTENT_POOL_ELEMENTS)
        d[0] = (size + area - 1) / area;
}

static const struct hc_family_extent conv_extents[] = {
    {HC_EXTENT_CONV_IMAGES, 0, true},
    {HC_EXTENT_CONV_CHANNELS, 3, true},
    {HC_EXTENT_CONV_FILTERS, 4, true},
    {HC_EXTENT_CONV_PIXELS, 2, false},
    {HC_EXTENT_CONV_IMAGE, HC_NEVER_ALONE, false},
    {HC_EXTENT_CONV_WEIGHTS, HC_NEVER_ALONE, false},
    {HC_EXTENT_COUNT, 0, false},
};
static const struct hc_family_extent pool_extents[] = {
    {HC_EXTENT_POOL_CHANNELS, HC_NEVER_ALONE, false},
    {HC_EXTENT_POOL_ELEMENTS, HC_NEVER_ALONE, false},
    {HC_EXTENT_COUNT, 0, false},
};

static const struct hc_family_choices conv_choices = {{{2, {1, 3}},
                                                       {2, {5, 8}},
                                                       {2, {6, 9}},
                                                       {4, {1, 3, 8, 17}},
                                                       {4, {1, 4, 16, 19}},
                                                       {4, {1, 2, 3, 5}},
                                                       {3, {1, 2, 3}},
                                                       {3, {0, 1, 2}}}};
static const struct hc_family_choices pool_choices = {
    {{2, {1, 3}}, {2, {1, 4}}, {2, {1, 3}}, {4, {1, 5, 16, 33}}, {4, {1, 2, 3, 4}}}};

/* Extents are whole windows. */
static void choose_windows(int64_t *d)
{
    d[1] *= d[4];
    d[2] *= d[4];
}

/* A pixel of the image and one of the output that a tap of the filter joins: x and y are their
   first elements, w is the first of the tap's in the first filter. */
struct joint {
    int64_t x;
    int64_t y;
    int64_t w;
};

/* x [N, H, W, C], w [K, R, S, C] and y [N, P, Q, K], two of which are inputs. */
struct trio {
    const struct hc_tensor *x;
    const struct hc_tensor *w;
    const struct hc_tensor *y;
};

static struct trio trio_of(const struct hc_call *call)
{
    if (call->op == HC_OP_conv2d_bwd_data)
        return (struct trio){&call->out[HC_CONV_BWD_DATA_DX], &call->in[HC_CONV_BWD_DATA_W],
                             &call->in[HC_CONV_BWD_DATA_DY]};
    if (call->op == HC_OP_conv2d_bwd_filter)
        return (struct trio){&call->in[HC_CONV_BWD_FILTER_X], &call->out[HC_CONV_BWD_FILTER_DW],
                             &call->in[HC_CONV_BWD_FILTER_DY]};
    return (struct trio){&call->in[HC_CONV_X], &call->in[HC_CONV_W], &call->out[HC_CONV_Y]};
}

/* want[i] += by * x[i] */
HC_CLONES static void add_multiple(double *want, const int32_t *x, int32_t by, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        want[i] += (double)(by * x[i]);
}

HC_CLONES static int64_t dot(const int32_t *x, const int32_t *y, int64_t n)
{
    int64_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static void add_products(struct hc_integers *z, const struct trio *t, const struct joint *j)
{
    int64_t channels = t->x->shape[3];
    int64_t filters = t->y->shape[3];
    int64_t filter = t->w->shape[1] * t->w->shape[2] * channels;
    bool data = z->call.op == HC_OP_conv2d_bwd_data;
    bool weights = z->call.op == HC_OP_conv2d_bwd_filter;
    const int32_t *first = z->value[HC_CONV_FIRST];
    const int32_t *second = z->value[HC_CONV_SECOND];
    const int32_t *x = data ? NULL : first + j->x;
    const int32_t *y = data ? first + j->y : weights ? second + j->y : NULL;
    const int32_t *w = weights ? NULL : second + j->w;
    double *want = z->want[HC_CONV_RESULT];
    for (int64_t k = 0; k < filters; k++) {
        if (data)
            add_multiple(want + j->x, w + k * filter, y[k], channels);
        else if (weights)
            add_multiple(want + j->w + k * filter, x, y[k], channels);
        else
            want[j->y + k] += (double)dot(x, w + k * filter, channels);
    }
}

/* Sums of fewer than 2^53 in fp64, which are exact. */
static void convolve(struct hc_integers *z, const struct trio *t)
{
    const struct hc_conv *p = &z->call.params.conv;
    const int64_t *x = t->x->shape;
    const int64_t *w = t->w->shape;
    const int64_t *y = t->y->shape;
    for (int64_t i = 0; i < hc_tensor_count(&z->call.out[HC_CONV_RESULT]); i++)
        z->want[HC_CONV_RESULT][i] = 0;
    for (int64_t pixel = 0; pixel < y[0] * y[1] * y[2]; pixel++)
        for (int64_t tap = 0; tap < w[1] * w[2]; tap++) {
            int64_t image = pixel / (y[1] * y[2]);
            int64_t row = pixel / y[2] % y[1] * p->stride - p->pad + tap / w[2];
            int64_t column = pixel % y[2] * p->stride - p->pad + tap % w[2];
            struct joint j = {((image * x[1] + row) * x[2] + column) * x[3], pixel * y[3],
                              tap * x[3]};
            if (row >= 0 && row < x[1] && column >= 0 && column < x[2])
                add_products(z, t, &j);
        }
}

static bool conv_integers(struct hc_integers *z)
{
    const struct hc_call *call = &z->call;
    struct trio t = trio_of(call);
    int64_t taps = t.w->shape[1] * t.w->shape[2];
    int64_t pixels = t.y->shape[0] * t.y->shape[1] * t.y->shape[2];
    int64_t terms = call->op == HC_OP_conv2d            ? taps * t.x->shape[3]
                    : call->op == HC_OP_conv2d_bwd_data ? taps * t.y->shape[3]
                                                        : pixels;
    int32_t most = hc_integers_factor(z, terms);
    if (most == 0)
        return false;
    hc_integers_fill_slot(z, HC_CONV_FIRST, most, 1);
    hc_integers_fill_slot(z, HC_CONV_SECOND, most, 1);
    convolve(z, &t);
    return true;
}

/* Inputs are multiples of the number of elements in a window, so that means are integers. */
static bool pool_integers(struct hc_integers *z)
{
    const struct hc_call *call = &z->call;
    bool back = call->op == HC_OP_avg_pool_bwd;
    int64_t window = call->params.pool.window;
    const int64_t *x = (back ? &call->out[HC_POOL_BWD_DX] : &call->in[HC_POOL_X])->shape;
    const int64_t *y = (back ? &call->in[HC_POOL_BWD_DY] : &call->out[HC_POOL_Y])->shape;
    hc_integers_fill_slot(z, HC_FIRST, 8, (double)(window * window));
    for (int64_t i = 0; !back && i < hc_tensor_count(&call->out[HC_POOL_Y]); i++)
        z->want[HC_FIRST][i] = 0;
    for (int64_t i = 0; i < x[0] * x[1] * x[2] * x[3]; i++) {
        int64_t channel = i % x[3];
        int64_t column = i / x[3] % x[2] / window;
        int64_t row = i / x[3] / x[2] / window;
        int64_t mean = (row * y[2] + column) * y[3] + channel;
        if (back)
            z->want[HC_FIRST][i] = z->value[HC_FIRST][mean];
        else
            z->want[HC_FIRST][mean] += z->value[HC_FIRST][i];
    }
    return true;
}

static void small_images(const union hc_params *params, int64_t *d)
{
    (void)params;
    d[0] = hc_at_most(HC_SMALL_IMAGES, d[0]);
    d[3] = hc_at_most(HC_SMALL_FILTERS, d[3]);
}

static void small_conv(const union hc_params *params, int64_t *d)
{
    (void)params;
    d[0] = hc_at_most(HC_SMALL_IMAGES, d[0]);
    d[4] = hc_at_most(HC_SMALL_FILTERS, d[4]);
}

static void small_filter(const union hc_params *params, int64_t *d)
{
    (void)params;
    d[3] = hc_at_most(HC_SMALL_FILTERS, d[3]);
    d[4] = hc_at_most(HC_SMALL_FILTERS, d[4]);
}

static void layout_conv(const struct hc_call *call, int slot, const struct hc_tensor *small,
                        const struct hc_tensor *large, struct hc_axes *to)
{
    static const enum hc_axis_kind kinds[][3][4] = {
        {{HC_AXIS_ROWS},
         {HC_AXIS_COLUMNS},
         {HC_AXIS_ROWS, HC_AXIS_TERMS, HC_AXIS_TERMS, HC_AXIS_COLUMNS}}, /* x w y */
        {{HC_AXIS_ROWS},
         {HC_AXIS_TERMS, HC_AXIS_TERMS, HC_AXIS_TERMS, HC_AXIS_COLUMNS},
         {HC_AXIS_ROWS, HC_AXIS_TERMS, HC_AXIS_TERMS, HC_AXIS_COLUMNS}}, /* dy w dx */
        {{HC_AXIS_TERMS, HC_AXIS_TERMS, HC_AXIS_TERMS, HC_AXIS_COLUMNS},
         {HC_AXIS_TERMS, HC_AXIS_TERMS, HC_AXIS_TERMS, HC_AXIS_ROWS},
         {HC_AXIS_ROWS, HC_AXIS_TERMS, HC_AXIS_TERMS, HC_AXIS_COLUMNS}}, /* x dy dw */
    };
    hc_axes_plain(to, small, large, kinds[call->op - HC_OP_conv2d][slot]);
}

/* A row of the matrix is a pixel of an image, a column a tap of the filter and a channel. */
static void layout_columns(const struct hc_call *call, int slot, const struct hc_tensor *small,
                           const struct hc_tensor *large, struct hc_axes *to)
{
    bool back = call->op == HC_OP_col2im;
    const struct hc_tensor *x = back ? &call->out[HC_FIRST] : &call->in[HC_FIRST];
    int64_t r = call->params.columns.kernel;
    int64_t taps = r * r;
    if (large->rank == 4) {
        hc_layout_images(call, slot, small, large, to);
        return;
    }
    int64_t images = x->shape[0];
    int64_t channels = large->shape[1] / taps;
    int64_t pixels = large->shape[0] / images;
    hc_axes_add(to, HC_AXIS_ROWS, small->shape[0] / pixels, images, 1, 0);
    hc_axes_add(to, HC_AXIS_TERMS, pixels, pixels, 1, 0);
    hc_axes_add(to, HC_AXIS_TERMS, taps, taps, 1, 0);
    hc_axes_add(to, HC_AXIS_COLUMNS, small->shape[1] / taps, channels, 1, 0);
}

/* Sums over so many pixels of random numbers are no larger than their bound. */
static bool on_integers(const int64_t *d)
{
    enum { LONG = 1 << 16 };
    return d[0] * d[1] * d[2] > LONG;
}

/* Numbers of windows and strides have letters. */
static void write_conv(const int64_t *d, char *text, size_t size)
{
    static const char *const before[] = {"", "x", "x", "x", "-k", "r", "-s", "p"};
    bool same = d[7] == d[5] / 2; /* the output is as large as the image */
    size_t at = 0;
    for (int i = 0; i < 8 && at < size; i++) {
        if ((i == 4 && d[4] == 0) || (i == 6 && d[6] == 1 && same) || (i == 7 && same))
            continue;
        at += (size_t)snprintf(text + at, size - at, "%s%lld", before[i], (long long)d[i]);
    }
}

static void write_pool(const int64_t *d, char *text, size_t size)
{
    (void)snprintf(text, size, "%lldx%lldx%lldx%lld-%lld", (long long)d[0], (long long)d[1],
                   (long long)d[2], (long long)d[3], (long long)d[4]);
}

/* A filter of one place over a tall image. */
static void bit_shape(int64_t length, int64_t *d)
{
    hc_shape_set(d, (int64_t[8]){1, length, 1, 1, 0, 1, 1, 0});
}

static const struct hc_family_size forward_sizes[] = {
    {HC_STANDARD, "fp32", "", {2, 14, 14, 64, 65, 3, 1, 1}},
    {HC_STANDARD, "fp16", "", {3, 28, 28, 33, 129, 1, 1, 0}},
    {HC_STANDARD, "fp16", "", {2, 29, 29, 32, 33, 3, 2, 1}},
    {HC_STANDARD, "fp16", "", {2, 64, 64, 3, 64, 7, 2, 3}},
    {HC_EXHAUSTIVE, "fp16", "", {64, 56, 56, 64, 64, 3, 1, 1}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {65, 8, 8, 33, 65, 1, 1, 0}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {2, 14, 14, 64, 65, 3, 1, 1}},
    {.set = NULL},
};
static const struct hc_family_size data_sizes[] = {
    {HC_STANDARD, "fp32", "", {2, 14, 14, 64, 65, 3, 1, 1}},
    {HC_STANDARD, "bf16", "", {3, 28, 28, 33, 129, 1, 1, 0}},
    {HC_STANDARD, "bf16", "", {2, 29, 29, 32, 33, 3, 2, 1}},
    {HC_EXHAUSTIVE, "fp16", "", {64, 56, 56, 64, 64, 3, 1, 1}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {257, 4, 4, 33, 33, 1, 1, 0}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {2, 14, 14, 64, 65, 3, 1, 1}},
    {.set = NULL},
};
static const struct hc_family_size filter_sizes[] = {
    {HC_STANDARD, "fp32", "", {2, 14, 14, 64, 65, 3, 1, 1}},
    {HC_STANDARD, "fp16", "", {3, 28, 28, 33, 129, 1, 1, 0}},
    {HC_STANDARD, "fp16", "", {2, 29, 29, 32, 33, 3, 2, 1}},
    {HC_EXHAUSTIVE, "fp16", "", {64, 56, 56, 64, 64, 3, 1, 1}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {3, 7, 7, 257, 129, 1, 1, 0}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {2, 14, 14, 64, 65, 3, 1, 1}},
    {.set = NULL},
};
static const struct hc_family_size pool_sizes[] = {
    {HC_STANDARD, "fp16", "", {33, 8, 8, 513, 8}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {17, 8, 8, 129, 8}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {33, 8, 8, 513, 8}},
    {.set = NULL}};
static const struct hc_family_size pool_bwd_sizes[] = {
    {HC_STANDARD, "fp32", "", {33, 8, 8, 513, 8}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {17, 8, 8, 129, 8}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {33, 8, 8, 513, 8}},
    {.set = NULL}};
static const struct hc_family_size im2col_sizes[] = {
    {HC_STANDARD, "fp16", "", {3, 28, 28, 65, 0, 3, 1, 1}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {9, 14, 14, 17, 0, 3, 1, 1}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {3, 28, 28, 65, 0, 3, 1, 1}},
    {.set = NULL}};
static const struct hc_family_size col2im_sizes[] = {
    {HC_STANDARD, "fp32", "", {3, 28, 28, 65, 0, 3, 1, 1}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {9, 14, 14, 17, 0, 3, 1, 1}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {3, 28, 28, 65, 0, 3, 1, 1}},
    {.set = NULL}};

#define ALL_CONVOLUTIONS                                                                           \
    .sets = hc_sets_multiplied, .shapes = convolutions, .variants = hc_variants_plain,             \
    .allows = allows_conv, .open = open_conv, .multiplies = true, .extents = conv_extents,         \
    .border_shape = border_conv, .choices = &conv_choices, .integers = conv_integers,              \
    .layout = layout_conv, .write_shape = write_conv

const struct hc_family hc_family_conv2d = {ALL_CONVOLUTIONS,       .run = along_channels,
                                           .sums = &sums_forward,  .small = small_conv,
                                           .sizes = forward_sizes, .cuts = hc_cut_conv2d};
const struct hc_family hc_family_conv2d_bwd_data = {
    ALL_CONVOLUTIONS,       .run = along_channels_or_filters,
    .sums = &sums_backward, .small = small_images,
    .sizes = data_sizes,    .cuts = hc_cut_conv2d_bwd_data};
const struct hc_family hc_family_conv2d_bwd_filter = {ALL_CONVOLUTIONS,
                                                      .run = along_filters,
                                                      .sums = &sums_backward,
                                                      .small = small_filter,
                                                      .on_integers = on_integers,
                                                      .sizes = filter_sizes,
                                                      .cuts = hc_cut_conv2d_bwd_filter};

#define ALL_POOLS                                                                                  \
    .sets = hc_sets_mixed, .shapes = pools, .variants = hc_variants_plain, .open = open_pool,      \
    .exponents = exponents_of_pool, .run = along_window, .extents = pool_extents,                  \
    .choices = &pool_choices, .choose = choose_windows, .integers = pool_integers,                 \
    .small = small_images, .layout = hc_layout_images, .write_shape = write_pool,                  \
    .cuts = hc_cut_pool

const struct hc_family hc_family_avg_pool = {ALL_POOLS, .sums = &sums_of_window,
                                             .border_shape = border_pool, .sizes = pool_sizes};
const struct hc_family hc_family_avg_pool_bwd = {ALL_POOLS, .border_shape = border_pool_bwd,
                                                 .sizes = pool_bwd_sizes};

#define ALL_COLUMNS                                                                                \
    .sets = hc_sets_mixed, .shapes = columns, .variants = hc_variants_plain, .open = open_columns, \
    .bit_shape = bit_shape, .no_integers = "it moves elements, or adds few",                       \
    .small = small_images, .layout = layout_columns, .write_shape = write_conv,                    \
    .reference_cost = 160

const struct hc_family hc_family_im2col = {ALL_COLUMNS, .sizes = im2col_sizes};
const struct hc_family hc_family_col2im = {ALL_COLUMNS, .sizes = col2im_sizes};
