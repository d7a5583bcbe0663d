/* The smallest sub-problem: it still fails, by the same real value and the same given result. */
#include "check/judge/testing.h"

struct small {
    struct hc_call call;
    struct hc_judged_element before;
    struct hc_judged_element after;
    int64_t elements; /* of the output */
};

/* Cuts an element down, and judges the small call as if it had come from a file. */
static struct small cut_down(const struct hc_call *call, int out, int64_t index)
{
    struct hc_judge judge;
    struct hc_judge again;
    struct hc_cut cut;
    struct small s;
    cr_assert_eq(hc_judge_open(&judge, call, &fp32_sums), HC_OK, "%s", hc_message());
    hc_judge_element(&judge, out, index, &s.before);
    cr_assert_eq(hc_cut_down(&cut, &judge, out, index), HC_OK);
    cr_assert_eq(hc_judge_open(&again, &cut.call, &fp32_sums), HC_OK, "%s", hc_message());
    hc_judge_element(&again, out, cut.index, &s.after);
    s.call = cut.call;
    s.elements = hc_tensor_count(&cut.call.out[out]);
    hc_judge_close(&again);
    hc_judge_close(&judge);
    hc_cut_close(&cut);
    return s;
}

static void expect_as_wrong(const struct small *s, const char *what)
{
    cr_expect(s->before.wrong && s->after.wrong, "%s", what);
    cr_expect_eq(s->after.got_bits, s->before.got_bits, "%s", what);
    cr_expect_eq(s->after.want.hi, s->before.want.hi, "%s", what);
    cr_expect(s->after.ulps == s->before.ulps, "%s", what);
}

static void expect_shape(const struct hc_tensor *t, int64_t n, int64_t h, int64_t w, int64_t c)
{
    cr_expect(t->shape[0] == n && t->shape[1] == h && t->shape[2] == w && t->shape[3] == c,
              "[%d, %d, %d, %d]", (int)t->shape[0], (int)t->shape[1], (int)t->shape[2],
              (int)t->shape[3]);
}

/* Moves a result far out of its bound. */
static void spoil(const struct hc_tensor *t, int64_t i)
{
    hc_tensor_set(t, i, 3 * hc_tensor_get(t, i) + 1);
}

Test(cut, a_window_inside_the_image_is_all_that_is_left_of_a_convolution)
{
    struct hc_call call = convolution(HC_FP32, 1, 1);
    int64_t index = ((1 * 9 + 4) * 8 + 5) * 4 + 2; /* y[1, 4, 5, 2] */
    spoil(&call.out[HC_CONV_Y], index);
    struct small s = cut_down(&call, HC_CONV_Y, index);
    expect_as_wrong(&s, "inside");
    cr_expect(s.elements == 1 && s.call.params.conv.pad == 0);
    expect_shape(&s.call.in[HC_CONV_X], 1, 3, 3, 3);
    expect_shape(&s.call.in[HC_CONV_W], 1, 3, 3, 3);
}

/* A padded border that is read as 0.01 and not as nothing: the padding stays in the case. */
Test(cut, a_border_keeps_its_padding)
{
    struct hc_call call = convolution(HC_FP32, 2, 1);
    const struct hc_tensor *y = &call.out[HC_CONV_Y]; /* [2, 5, 4, 4] */
    const int64_t corners[] = {0, (4 * 4 + 0) * 4 + 1, ((5 + 0) * 4 + 3) * 4 + 2};
    for (int i = 0; i < 3; i++) {
        double right = hc_tensor_get(y, corners[i]);
        hc_tensor_set(y, corners[i], right + 0.01);
        struct small s = cut_down(&call, HC_CONV_Y, corners[i]);
        expect_as_wrong(&s, "border");
        cr_expect_eq(s.call.params.conv.pad, 1);
        cr_expect_leq(hc_tensor_count(&s.call.in[HC_CONV_X]), 4 * 4 * 3);
        hc_tensor_set(y, corners[i], right);
    }
}

Test(cut, channels_whose_products_are_zero_are_cut)
{
    struct hc_call call = convolution(HC_FP32, 1, 0);
    for (int64_t i = 1; i < hc_tensor_count(&call.in[HC_CONV_W]); i += 3)
        hc_tensor_set(&call.in[HC_CONV_W], i, 0);
    spoil(&call.out[HC_CONV_Y], 9);
    struct small s = cut_down(&call, HC_CONV_Y, 9);
    expect_as_wrong(&s, "channels");
    expect_shape(&s.call.in[HC_CONV_X], 1, 3, 3, 2);
    expect_shape(&s.call.in[HC_CONV_W], 1, 3, 3, 2);
}

/* A kernel that takes every second row where every row is meant: its first results are right. */
Test(cut, a_wrong_stride_is_kept_in_one_element)
{
    struct hc_call call = convolution(HC_FP32, 1, 0);
    struct hc_call strided = convolution(HC_FP32, 2, 0);
    struct hc_tensor *y = &call.out[HC_CONV_Y];              /* [2, 7, 6, 4] */
    const struct hc_tensor *wrong = &strided.out[HC_CONV_Y]; /* [2, 4, 3, 4] */
    for (int64_t k = 0; k < 4; k++)
        hc_tensor_set(y, (2 * 6 + 2) * 4 + k, hc_tensor_get(wrong, (2 * 3 + 2) * 4 + k));
    struct hc_judged_output r = judged(&call, HC_CONV_Y);
    cr_assert_geq(r.wrong, 3);
    struct small s = cut_down(&call, HC_CONV_Y, r.worst.index);
    expect_as_wrong(&s, "stride");
    cr_expect_eq(s.elements, 1);
}

Test(cut, a_product_of_matrices_becomes_one_of_vectors_without_zeros)
{
    for (int transposed = 0; transposed < 4; transposed++) {
        bool ta = transposed & 1;
        bool tb = transposed & 2;
        struct hc_call call = {
            .op = HC_OP_gemm,
            .params.gemm = {.alpha = 1, .beta = 1, .transpose_a = ta, .transpose_b = tb}};
        call.in[HC_GEMM_A] = hc_tensor2(HC_BF16, ta ? 40 : 5, ta ? 5 : 40, NULL);
        call.in[HC_GEMM_B] = hc_tensor2(HC_BF16, tb ? 6 : 40, tb ? 40 : 6, NULL);
        call.in[HC_GEMM_C] = hc_tensor2(HC_BF16, 5, 6, NULL);
        call.out[HC_GEMM_OUT] = hc_tensor2(HC_BF16, 5, 6, NULL);
        give_memory(&call);
        hc_draw_inputs(&call, HC_DRAW_NORMAL, 2);
        for (int64_t i = 0; i < 200; i++)
            if ((ta ? i / 5 : i % 40) >= 30)
                hc_tensor_set(&call.in[HC_GEMM_A], i, 0);
        run_on("host", &call);
        spoil(&call.out[HC_GEMM_OUT], 3 * 6 + 4);
        struct small s = cut_down(&call, HC_GEMM_OUT, 3 * 6 + 4);
        expect_as_wrong(&s, "gemm");
        cr_expect_eq(s.elements, 1);
        cr_expect_eq(hc_tensor_count(&s.call.in[HC_GEMM_A]), 30);
        cr_expect_eq(hc_tensor_count(&s.call.in[HC_GEMM_B]), 30);
        cr_expect_eq(hc_tensor_count(&s.call.in[HC_GEMM_C]), 1);
    }
}

/* How many elements an output of the op has at most, when it is cut; 0: it is not cut. */
static int64_t smallest(enum hc_op op, int out)
{
    switch (hc_ops[op].class_) {
    case HC_CLASS_ELEMENTWISE:
    case HC_CLASS_OPTIMIZER:
    case HC_CLASS_REDUCTION:
    case HC_CLASS_GEMM:
    case HC_CLASS_COLLECTIVE:
        return 1;
    case HC_CLASS_BATCH_NORM:
        return op == HC_OP_bn_infer || op == HC_OP_bn_leaky_infer || out != HC_FIRST ? 1 : 0;
    default:
        return op == HC_OP_avg_pool ? 1 : 0;
    }
}

/* Every op: an element in the middle of each output is spoilt and cut down. */
Test(cut, whatever_is_cut_down_fails_as_before, .timeout = 120)
{
    int cuts = 0;
    for (int op = 0; op < HC_OP_COUNT; op++) {
        struct hc_opspace space = hc_opspace((enum hc_op)op);
        const struct hc_format_set *set = space.sets;
        struct hc_call call = hc_op_call((enum hc_op)op, set, space.shapes, space.variants);
        if (!set->name) /* it has no generated cases */
            continue;
        give_memory(&call);
        hc_draw_inputs(&call, HC_DRAW_NORMAL, 3);
        run_on("exact", &call);
        for (int o = 0; o < hc_ops[op].outputs; o++) {
            const struct hc_tensor *t = &call.out[o];
            if (!t->data)
                continue;
            int64_t index = hc_tensor_count(t) / 2;
            uint64_t bits = hc_tensor_bits(t, index);
            hc_tensor_set(t, index, 1e4);
            struct small s = cut_down(&call, o, index);
            expect_as_wrong(&s, hc_ops[op].name);
            int64_t most = smallest((enum hc_op)op, o);
            cr_expect(most == 0 || s.elements <= most, "%s: %d elements", hc_ops[op].name,
                      (int)s.elements);
            hc_tensor_set_bits(t, index, bits);
            cuts++;
        }
    }
    cr_expect_gt(cuts, 40);
}

/* Gradients of convolutions: the image, the rows and columns about the element. */
Test(cut, gradients_of_convolutions_are_cut)
{
    struct hc_call call = {.op = HC_OP_conv2d_bwd_data, .params.conv = {.stride = 2, .pad = 1}};
    call.in[HC_CONV_BWD_DATA_DY] = hc_tensor4(HC_FP32, 2, 8, 8, 4, NULL);
    call.in[HC_CONV_BWD_DATA_W] = hc_tensor4(HC_FP32, 4, 3, 3, 5, NULL);
    call.out[HC_CONV_BWD_DATA_DX] = hc_tensor4(HC_FP32, 2, 15, 15, 5, NULL);
    give_memory(&call);
    hc_draw_inputs(&call, HC_DRAW_NORMAL, 4);
    run_on("host", &call);
    int64_t index = ((1 * 15 + 7) * 15 + 6) * 5 + 3;
    spoil(&call.out[HC_CONV_BWD_DATA_DX], index);
    struct small s = cut_down(&call, HC_CONV_BWD_DATA_DX, index);
    expect_as_wrong(&s, "data");
    cr_expect_leq(hc_tensor_count(&s.call.in[HC_CONV_BWD_DATA_DY]), 3 * 3 * 4);
    expect_shape(&s.call.in[HC_CONV_BWD_DATA_W], 4, 3, 3, 1);
}

Test(cut, stochastic_rounding_keeps_the_place_of_an_element)
{
    struct hc_call call = {.op = HC_OP_sgd, .params.sgd = {.arithmetic = HC_FP32}};
    call.params.sgd.stochastic = (struct hc_stochastic){.on = true, .seed = 9, .first = 128};
    for (int s = 0; s < hc_slot_count(HC_OP_sgd); s++)
        *hc_slot_tensor(&call, s) = hc_tensor1(HC_BF16, 300, NULL);
    call.in[HC_SGD_HYPER] = hc_tensor1(HC_FP32, 3, NULL);
    call.in[HC_SGD_FOUND_INF] = hc_tensor1(HC_FP32, 1, NULL);
    call.in[HC_SGD_COMPENSATION].shape[0] = call.out[HC_SGD_NEW_COMPENSATION].shape[0] = 0;
    give_memory(&call);
    hc_draw_inputs(&call, HC_DRAW_NORMAL, 8);
    run_on("exact", &call);
    spoil(&call.out[HC_SGD_NEW_W], 200);
    struct small s = cut_down(&call, HC_SGD_NEW_W, 200);
    expect_as_wrong(&s, "stochastic");
    cr_expect_eq(s.call.params.sgd.stochastic.first, 128 + 192);
    cr_expect_eq(s.elements, 9);
}
