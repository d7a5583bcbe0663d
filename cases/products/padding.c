/* Padding is no pixel. Where the filter reaches over the image the definition has no term; a
   backend that multiplies by a zero there makes NaN of an infinite weight or gradient. The
   generated specials stand in all operands at once; here they stand in the second alone, since a
   kernel may choose its way by the first alone. */
#include <math.h>

#include "case.h"

enum { IMAGES = 2, SIDE = 4, CHANNELS = 3, FILTERS = 2, FILTER = 3 };

static struct hc_tensor image(struct hc_check *check, enum hc_format f, int64_t channels)
{
    return hc_check_tensor(check, hc_tensor4(f, IMAGES, SIDE, SIDE, channels, NULL));
}

static struct hc_tensor filter(struct hc_check *check, enum hc_format f)
{
    return hc_check_tensor(check, hc_tensor4(f, FILTERS, FILTER, FILTER, CHANNELS, NULL));
}

static void fill(struct hc_check *check, const struct hc_tensor *t, uint64_t stream)
{
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        hc_tensor_set(t, i, hc_random_normal(hc_check_seed(check), stream, (uint64_t)i));
}

/* Puts an infinity into a corner of the second operand, where the filter reaches over the image. */
static void claim(struct hc_check *check, enum hc_op op, enum hc_format f)
{
    struct hc_call call = {.op = op, .params.conv = {.stride = 1, .pad = 1}};
    bool of_weights = op == HC_OP_conv2d || op == HC_OP_conv2d_bwd_data;
    call.in[HC_CONV_FIRST] = image(check, f, op == HC_OP_conv2d_bwd_data ? FILTERS : CHANNELS);
    call.in[HC_CONV_SECOND] = of_weights ? filter(check, f) : image(check, f, FILTERS);
    call.out[HC_CONV_RESULT] = op == HC_OP_conv2d            ? image(check, f, FILTERS)
                               : op == HC_OP_conv2d_bwd_data ? image(check, f, CHANNELS)
                                                             : filter(check, f);
    fill(check, &call.in[HC_CONV_FIRST], 0);
    fill(check, &call.in[HC_CONV_SECOND], 1);
    hc_tensor_set(&call.in[HC_CONV_SECOND], 0, (double)INFINITY);
    hc_claim_call_met(check, &call);
}

static void padding(struct hc_check *check, const enum hc_format *formats, int count)
{
    static const enum hc_op ops[] = {HC_OP_conv2d, HC_OP_conv2d_bwd_data, HC_OP_conv2d_bwd_filter};
    for (int o = 0; o < 3; o++)
        for (int f = 0; f < count; f++)
            claim(check, ops[o], formats[f]);
}

static void short_formats(struct hc_check *check)
{
    static const enum hc_format formats[] = {HC_FP32, HC_FP16, HC_BF16};
    padding(check, formats, 3);
}

static void fp64(struct hc_check *check)
{
    static const enum hc_format format = HC_FP64;
    padding(check, &format, 1);
}

static const struct hc_case cases[] = {
    {.name = "products/padding-meets-no-infinity",
     .title = "an infinite weight or gradient meets no zero of the padding",
     .source = "src/op/conv.h: terms outside the image do not exist",
     .level = HC_QUICK,
     .run = short_formats},
    {.name = "products/padding-meets-no-infinity-fp64",
     .title = "an infinite weight or gradient meets no zero of the padding in fp64",
     .source = "src/op/conv.h: terms outside the image do not exist",
     .level = HC_QUICK,
     .run = fp64},
};

HC_CASES(products_padding, cases);
