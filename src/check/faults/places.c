/* Ops that are right nearly everywhere: not at the end, at one place in many, at special values,
   past a border, or in a large call. */
#include <math.h>
#include <string.h>

#include "check/selftest/change.h"

/* Defects at special values: NaN, infinities, zeros' signs, subnormals. */

/* The detector says whether max(x) < inf, which a NaN makes false. */
static void largest_is_finite(const struct hc_call *call)
{
    bool found = hc_is_set(&call->in[HC_UNSCALE_FOUND_INF]);
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_UNSCALE_X]); i++)
        found |= !(hc_in(call, HC_UNSCALE_X, i) < (double)INFINITY);
    hc_give(call, HC_UNSCALE_NEW_FOUND_INF, 0, found);
}

/* The detector takes each vector's last lane for padding. */
static void last_lane_unseen(const struct hc_call *call)
{
    bool found = hc_is_set(&call->in[HC_UNSCALE_FOUND_INF]);
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_UNSCALE_X]); i++)
        found |= i % 64 != 63 && !isfinite(hc_in(call, HC_UNSCALE_X, i));
    hc_give(call, HC_UNSCALE_NEW_FOUND_INF, 0, found);
}

/* The detector looks at what has been written, which in place is the quotient. */
static enum hc_status looks_after(const struct hc_fault_site *site, const struct hc_call *call)
{
    enum hc_status status = hc_right(site, call);
    bool found = hc_is_set(&call->in[HC_UNSCALE_FOUND_INF]);
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_UNSCALE_X]); i++)
        found |= !isfinite(hc_in(call, HC_UNSCALE_X, i));
    if (status == HC_OK)
        hc_give(call, HC_UNSCALE_NEW_FOUND_INF, 0, found);
    return status;
}

/* Defects that small tensors do not show: the remainder after a block, one element past a border, a
   number kept in too few bits. */

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
static void spoilt(const struct hc_call *call, const struct hc_fault *row)
{
    for (int64_t i = 0; i < hc_tensor_count(&call->out[HC_FIRST]); i++)
        if (in_slice(&call->out[HC_FIRST], row->data, i))
            hc_give(call, HC_FIRST, i, hc_out(call, HC_FIRST, i) + 1);
}

/* The kernel reads zeros in a slice of an input. */
static void hidden(struct hc_call *call, const struct hc_fault *row)
{
    struct slice s = *(const struct slice *)row->data;
    const struct hc_tensor *t = &call->in[s.slot];
    if (call->op == HC_OP_gemm && call->params.gemm.transpose_a)
        s.axis = 0;
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        if (in_slice(t, &s, i))
            hc_tensor_set(t, i, 0);
}

/* Labels, or a count of steps, are masked to so many bits. */
static void narrowed(struct hc_call *call, const struct hc_fault *row)
{
    bool loss = call->op == HC_OP_xent || call->op == HC_OP_xent_bwd;
    const struct hc_tensor *t = &call->in[loss ? HC_XENT_LABELS : HC_RATES_COUNTS];
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        ((int32_t *)t->data)[i] &= (int32_t)row->number;
}

/* A strided convolution of an odd width does not see the last column. */
static void odd_width(struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_CONV_X];
    bool meant = call->params.conv.stride == 2 && x->shape[2] % 2 != 0;
    for (int64_t i = 0; meant && i < hc_tensor_count(x); i++)
        if (i / x->shape[3] % x->shape[2] == x->shape[2] - 1)
            hc_tensor_set(x, i, 0);
}

/* Two choices that only go wrong together: stride 3 with pad 2, 33 channels in windows of 3. */
static void together(const struct hc_call *call)
{
    const struct hc_tensor *y = &call->out[HC_FIRST];
    bool meets = false;
    if (hc_ops[call->op].class_ == HC_CLASS_CONV)
        meets = call->params.conv.stride == 3 && call->params.conv.pad == 2;
    if (hc_ops[call->op].class_ == HC_CLASS_POOL)
        meets = call->params.pool.window == 3 && y->shape[3] == 33;
    if (meets && hc_tensor_count(y) > 0)
        hc_tensor_set(y, 0, hc_tensor_get(y, 0) + 1);
}

/* Unscaling checks no element after the last whole block for overflow. */
static enum hc_status unseen(const struct hc_fault_site *site, const struct hc_call *call)
{
    enum { BLOCK = 2048 };
    struct hc_call whole = *call;
    int64_t n = hc_tensor_count(&call->in[HC_UNSCALE_X]);
    float found = 0;
    enum hc_status status = HC_OK;
    whole.in[HC_UNSCALE_X] = whole.out[HC_UNSCALE_OUT] = hc_tensor1(HC_FP32, 0, NULL);
    if (n <= BLOCK || call->in[HC_UNSCALE_X].data == call->out[HC_UNSCALE_OUT].data)
        return hc_right(site, call);
    whole.in[HC_UNSCALE_X] =
        hc_tensor1(call->in[HC_UNSCALE_X].format, n / BLOCK * BLOCK, call->in[HC_UNSCALE_X].data);
    whole.out[HC_UNSCALE_OUT] = hc_tensor1(call->out[HC_UNSCALE_OUT].format, n / BLOCK * BLOCK,
                                           call->out[HC_UNSCALE_OUT].data);
    whole.in[HC_UNSCALE_OVERRIDE] = hc_tensor1(HC_FP32, 0, NULL);
    status = hc_right(site, &whole);
    found = *(const float *)call->out[HC_UNSCALE_NEW_FOUND_INF].data;
    if (status == HC_OK)
        status = hc_right(site, call);
    *(float *)call->out[HC_UNSCALE_NEW_FOUND_INF].data = found;
    return status;
}

/* A product whose row or column number is all that it has loses the last of 65. */
static void lone_row(const struct hc_call *call)
{
    enum { ROWS = 65 };
    const struct hc_tensor *out = &call->out[HC_GEMM_OUT];
    if (hc_tensor_count(out) == ROWS && hc_tensor_count(&call->in[HC_GEMM_A]) == ROWS)
        hc_tensor_set(out, ROWS - 1, 0);
}

/* A loss over the first 64 rows. */
static enum hc_status few_rows(const struct hc_fault_site *site, const struct hc_call *call)
{
    enum { ROWS = 64 };
    struct hc_call bad = *call;
    int64_t rows = call->in[HC_XENT_LOGITS].shape[0];
    if (rows <= ROWS)
        return hc_right(site, call);
    bad.in[HC_XENT_LOGITS].shape[0] = bad.in[HC_XENT_LABELS].shape[0] = ROWS;
    enum hc_status status = hc_right(site, &bad);
    double part = call->params.xent.sum ? 1 : (double)ROWS / (double)rows;
    hc_give(call, HC_XENT_LOSS, 0, hc_out(call, HC_XENT_LOSS, 0) * part);
    return status;
}

/* Defects of large calls alone: kernels take another way where a tensor fills their tiles, blocks
   or grids, and small tensors never go it. */

enum { TILE = 128, DEPTH = 32 };
static void no_result(const struct hc_call *call, bool large)
{
    const struct hc_tensor *y = &call->out[HC_FIRST];
    if (large)
        memset(y->data, 0, hc_tensor_bytes(y));
}

static bool fills_a_tile(const struct hc_call *call)
{
    const struct hc_tensor *out = &call->out[HC_FIRST];
    int64_t terms = hc_tensor_count(&call->in[HC_FIRST]) / (out->shape[0] ? out->shape[0] : 1);
    return out->shape[0] >= TILE && out->shape[1] >= TILE && terms >= DEPTH;
}

static void no_tiles(const struct hc_call *call)
{
    no_result(call, fills_a_tile(call));
}

/* The element at three quarters of a product that fills a tile has its neighbour's value. */
static void one_of_a_tile(const struct hc_call *call)
{
    const struct hc_tensor *out = &call->out[HC_FIRST];
    int64_t at = hc_tensor_count(out) / 4 * 3;
    if (fills_a_tile(call))
        hc_tensor_set_bits(out, at, hc_tensor_bits(out, at + 1));
}

/* Images of 14 x 14 and more with 32 channels or filters and more. */
static void no_images(const struct hc_call *call)
{
    enum { PIXELS = 14 * 14, CHANNELS = 32 };
    const struct hc_tensor *x = &call->in[HC_FIRST];
    no_result(call, x->shape[1] * x->shape[2] >= PIXELS && x->shape[3] >= CHANNELS);
}

/* Rows from the 4,096th on, where there are 100 classes and more. */
static void late_rows_zero(const struct hc_call *call)
{
    enum { ROWS = 4096, CLASSES = 100 };
    const struct hc_tensor *y = &call->out[HC_FIRST];
    for (int64_t i = ROWS * y->shape[1]; y->shape[1] >= CLASSES && i < hc_tensor_count(y); i++)
        hc_tensor_set(y, i, 0);
}

/* A product is 0 where it fills a tile of 256 x 256. */
static void no_larger_tiles(const struct hc_call *call)
{
    enum { WIDE = 256 };
    const struct hc_tensor *out = &call->out[HC_FIRST];
    no_result(call, out->shape[0] >= WIDE && out->shape[1] >= WIDE);
}

/* A plain product alone, without C. */
static void no_plain_tiles(const struct hc_call *call)
{
    no_result(call, !call->in[HC_GEMM_C].data && fills_a_tile(call));
}

/* Elements past 2^16 are 0 in all formats but those of the row's `data`, of an input and of the
   first output. */
struct pair {
    int slot;
    enum hc_format in;
    enum hc_format out;
};

static void late_zero_but_in(const struct hc_call *call, const struct hc_fault *row)
{
    const struct pair *right = row->data;
    const struct hc_tensor *y = &call->out[HC_FIRST];
    if (call->in[right->slot].format == right->in && y->format == right->out)
        return;
    for (int64_t i = 1 << 16; i < hc_tensor_count(y); i++)
        hc_tensor_set(y, i, 0);
}

/* The detector is blind to one special number from element `number` on. */
static void blind_late(const struct hc_call *call, const struct hc_fault *row, double special)
{
    bool found = hc_is_set(&call->in[HC_UNSCALE_FOUND_INF]);
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_UNSCALE_X]); i++) {
        double x = hc_in(call, HC_UNSCALE_X, i);
        bool unseen = isnan(special) ? isnan(x) : x == special;
        found |= !isfinite(x) && !(unseen && (double)i >= row->number);
    }
    hc_give(call, HC_UNSCALE_NEW_FOUND_INF, 0, found);
}

static void blind_to_minus_infinity(const struct hc_call *call, const struct hc_fault *row)
{
    blind_late(call, row, -(double)INFINITY);
}

static void blind_to_nan(const struct hc_call *call, const struct hc_fault *row)
{
    blind_late(call, row, (double)NAN);
}

/* The detector compares bits as signed numbers, of which those of a NaN with a sign are small. */
static void blind_to_signed_nan(const struct hc_call *call)
{
    bool found = hc_is_set(&call->in[HC_UNSCALE_FOUND_INF]);
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_UNSCALE_X]); i++) {
        double x = hc_in(call, HC_UNSCALE_X, i);
        found |= !isfinite(x) && !(isnan(x) && signbit(x));
    }
    hc_give(call, HC_UNSCALE_NEW_FOUND_INF, 0, found);
}

/* A sum forgets what lies past 2^20 elements. */
static void short_sum(struct hc_call *call)
{
    enum { MOST = 1 << 20 };
    for (int i = 0; i < 2; i++)
        if (call->in[i].rank == 1 && call->in[i].shape[0] > MOST)
            call->in[i].shape[0] = MOST;
}

static const struct hc_fault faults[] = {
#include "check/faults/places.def"
};

HC_FAULTS(places, faults);
