/* The cuts of convolutions. */
#include "check/judge/cut.h"

/* conv2d: the image and the filter of the element. */
static bool image_and_filter(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    int64_t image = hc_cut_coordinate(cut, 0);
    int64_t filter = hc_cut_coordinate(cut, 3);
    return hc_cut_only(cut, &call->in[HC_CONV_X], 0, image) &&
           hc_cut_only(cut, &call->in[HC_CONV_W], 0, filter) &&
           hc_cut_only(cut, &call->out[HC_CONV_Y], 0, image) &&
           hc_cut_only(cut, &call->out[HC_CONV_Y], 3, filter);
}

/* conv2d: the rows (columns) that the element's window reads. A window that lies in the image needs
   no padding in this dimension, but there is one padding for both: cuts of both are tried as one.
   At a border the padding stays, and rows are cut in whole strides, so that the window lies at the
   border as before. */
static bool window_along(struct hc_cut *cut, int dimension, bool inside)
{
    struct hc_call *call = &cut->call;
    const struct hc_conv *p = &call->params.conv;
    struct hc_tensor *x = &call->in[HC_CONV_X];
    struct hc_tensor *y = &call->out[HC_CONV_Y];
    int64_t taps = call->in[HC_CONV_W].shape[dimension];
    int64_t at = hc_cut_coordinate(cut, dimension);
    int64_t first = at * p->stride - p->pad;
    int64_t end = first + taps < x->shape[dimension] ? first + taps : x->shape[dimension];
    if (inside)
        return hc_cut_range(cut, x, dimension, first, taps) && hc_cut_only(cut, y, dimension, at);
    int64_t strides = first > 0 ? first / p->stride : 0;
    int64_t from = strides * p->stride;
    int64_t rows = end - from;
    int64_t left = (rows + 2 * p->pad - taps) / p->stride + 1;
    return hc_cut_range(cut, x, dimension, from, rows) &&
           hc_cut_range(cut, y, dimension, strides, left);
}

static bool window_inside(struct hc_cut *cut)
{
    bool good = window_along(cut, 1, true) && window_along(cut, 2, true);
    cut->call.params.conv.pad = 0;
    return good;
}

static bool rows_at_border(struct hc_cut *cut)
{
    return window_along(cut, 1, false);
}

static bool columns_at_border(struct hc_cut *cut)
{
    return window_along(cut, 2, false);
}

static bool channels_of_window(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    const struct hc_tensor *x = &call->in[HC_CONV_X];
    const struct hc_tensor *w = &call->in[HC_CONV_W];
    bool alike = x->shape[0] == 1 && w->shape[0] == 1 && x->shape[1] == w->shape[1] &&
                 x->shape[2] == w->shape[2];
    return alike && hc_cut_zeros(cut, &call->in[HC_CONV_X], 3, &call->in[HC_CONV_W], 3);
}

/* conv2d_bwd_data: the image and the channel of the element. */
static bool image_and_channel(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    struct hc_tensor *dx = &call->out[HC_CONV_BWD_DATA_DX];
    int64_t image = hc_cut_coordinate(cut, 0);
    int64_t channel = hc_cut_coordinate(cut, 3);
    return hc_cut_only(cut, &call->in[HC_CONV_BWD_DATA_DY], 0, image) &&
           hc_cut_only(cut, &call->in[HC_CONV_BWD_DATA_W], 3, channel) &&
           hc_cut_only(cut, dx, 0, image) && hc_cut_only(cut, dx, 3, channel);
}

/* conv2d_bwd_data: the rows (columns) of dy that the element takes, and those of dx that belong to
   them. */
static bool gradient_along(struct hc_cut *cut, int dimension)
{
    struct hc_call *call = &cut->call;
    const struct hc_conv *p = &call->params.conv;
    struct hc_tensor *dy = &call->in[HC_CONV_BWD_DATA_DY];
    struct hc_tensor *dx = &call->out[HC_CONV_BWD_DATA_DX];
    int64_t taps = call->in[HC_CONV_BWD_DATA_W].shape[dimension];
    int64_t at = hc_cut_coordinate(cut, dimension);
    int64_t low = at + p->pad - taps + 1;
    int64_t first = low > 0 ? (low + p->stride - 1) / p->stride : 0;
    int64_t last = (at + p->pad) / p->stride;
    last = last < dy->shape[dimension] ? last : dy->shape[dimension] - 1;
    int64_t from = first * p->stride;
    int64_t rows = (last - first) * p->stride + taps - 2 * p->pad;
    rows = rows > at - from + 1 ? rows : at - from + 1;
    return hc_cut_range(cut, dy, dimension, first, last - first + 1) &&
           hc_cut_range(cut, dx, dimension, from, rows);
}

static bool gradient_rows(struct hc_cut *cut)
{
    return gradient_along(cut, 1);
}

static bool gradient_columns(struct hc_cut *cut)
{
    return gradient_along(cut, 2);
}

/* conv2d_bwd_filter: the channel of the images and the filter of the element. */
static bool channel_and_filter(struct hc_cut *cut)
{
    struct hc_call *call = &cut->call;
    struct hc_tensor *dw = &call->out[HC_CONV_BWD_FILTER_DW];
    int64_t filter = hc_cut_coordinate(cut, 0);
    int64_t channel = hc_cut_coordinate(cut, 3);
    return hc_cut_only(cut, &call->in[HC_CONV_BWD_FILTER_X], 3, channel) &&
           hc_cut_only(cut, &call->in[HC_CONV_BWD_FILTER_DY], 3, filter) &&
           hc_cut_only(cut, dw, 0, filter) && hc_cut_only(cut, dw, 3, channel);
}

hc_cutter *const hc_cut_conv2d[] = {image_and_filter,  window_inside,      rows_at_border,
                                    columns_at_border, channels_of_window, NULL};
hc_cutter *const hc_cut_conv2d_bwd_data[] = {image_and_channel, gradient_rows, gradient_columns,
                                             NULL};
hc_cutter *const hc_cut_conv2d_bwd_filter[] = {channel_and_filter, NULL};
