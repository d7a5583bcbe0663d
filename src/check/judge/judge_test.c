/* The judge of results: numbers that were computed by hand, results that are right, and planted
   ones that are wrong. */
#include "check/judge/testing.h"

/* x y^T = 2051 as five products of small integers, into fp16, whose numbers are even there. */
static struct hc_call five_terms(uint16_t result)
{
    static const double x[] = {1000, 500, 500, 50, 1};
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = 1}};
    call.in[HC_GEMM_A] = hc_tensor2(HC_FP16, 1, 5, NULL);
    call.in[HC_GEMM_B] = hc_tensor2(HC_FP16, 5, 1, NULL);
    call.out[HC_GEMM_OUT] = hc_tensor2(HC_FP16, 1, 1, NULL);
    for (int s = 0; s < 4; s++)
        if (s != HC_GEMM_C)
            hc_slot_tensor(&call, s)->data = aligned_alloc(64, 64);
    for (int i = 0; i < 5; i++) {
        hc_tensor_set(&call.in[HC_GEMM_A], i, x[i]);
        hc_tensor_set(&call.in[HC_GEMM_B], i, 1);
    }
    hc_tensor_set_bits(&call.out[HC_GEMM_OUT], 0, result);
    return call;
}

/* 2051 lies between 2050 and 2052. The sum of five exact products takes four additions, of at most
   2^-24 2051 each; then half an ulp of fp16, which is 1. got = 2056 (0x6804) is 5 = 2.5 ulp away.
   `exact` sums integers without an error, and rounds the tie to even, 2052 (0x6802). */
Test(judge, error_bound_and_ulps_are_those_computed_by_hand)
{
    struct hc_call call = five_terms(0x6804);
    struct hc_judged_output r = judged(&call, HC_GEMM_OUT);
    double bound = 4 * 0x1p-24 * 2051 + 1;
    cr_expect_eq(r.worst.want.hi, 2051);
    cr_expect_eq(r.worst.error, 5);
    cr_expect_eq(r.worst.ulps, 2.5);
    cr_expect_float_eq(r.worst.bound, bound, 1e-12);
    cr_expect_float_eq(r.worst.ratio, 5 / bound, 1e-12);
    cr_expect_eq(r.worst.exact, 2052);
    cr_expect_float_eq(r.worst.implementation, 4 / bound, 1e-12);
    cr_expect_float_eq(r.worst.format, 1 / bound, 1e-12);
    cr_expect(r.wrong == 1 && r.judged == 1 && r.as_exact == 0);
    cr_expect_eq(r.count[7], 1, "2 to 10");
    cr_expect_eq(hc_ratio_edges[7], 10);
}

Test(judge, both_neighbours_of_a_sum_are_right)
{
    struct hc_call low = five_terms(0x6801);
    struct hc_call high = five_terms(0x6802);
    cr_expect_eq(judged(&low, HC_GEMM_OUT).wrong, 0);
    cr_expect_eq(judged(&high, HC_GEMM_OUT).wrong, 0);
}

Test(judge, the_terms_of_a_sum_are_counted)
{
    struct hc_call call = five_terms(0x6802);
    struct hc_judged_sum sum;
    cr_assert(hc_judge_sum(&(struct hc_element){&call, HC_GEMM_OUT, 0}, &sum));
    cr_expect(sum.terms == 5 && sum.largest.a == 1000 && sum.largest.b == 1);
    struct hc_call conv = convolution(HC_FP32, 1, 1);
    cr_assert(hc_judge_sum(&(struct hc_element){&conv, HC_CONV_Y, 0}, &sum));
    cr_expect_eq(sum.terms, 12, "a corner has 2 x 2 pixels of 3 channels");
    call.op = HC_OP_add;
    cr_expect_not(hc_judge_sum(&(struct hc_element){&call, 0, 0}, &sum));
}

/* An addition is rounded once: the neighbours of the right result are wrong, however near. */
Test(judge, one_ulp_is_wrong_where_one_result_is_right)
{
    struct hc_call call = {.op = HC_OP_add};
    call.in[HC_X] = call.in[HC_Y] = call.out[HC_OUT] = hc_tensor1(HC_BF16, 100, NULL);
    give_memory(&call);
    hc_draw_inputs(&call, HC_DRAW_NORMAL, 1);
    run_on("exact", &call);
    cr_expect_eq(judged(&call, HC_OUT).wrong, 0);
    uint64_t bits = hc_tensor_bits(&call.out[HC_OUT], 61);
    hc_tensor_set_bits(&call.out[HC_OUT], 61, bits + 1);
    struct hc_judged_output r = judged(&call, HC_OUT);
    cr_expect(r.wrong == 1 && r.worst.index == 61 && r.worst.single);
    cr_expect_eq(r.worst.want_bits, bits);
    cr_expect(r.worst.ratio > 1 && r.as_exact == 99);
}

/* The first shape of every op with two sets of formats: `host` sums in an order of its own, and may
   fuse. */
Test(judge, what_host_computes_is_right, .timeout = 120)
{
    int judged_outputs = 0;
    for (int op = 0; op < HC_OP_COUNT; op++) {
        struct hc_opspace space = hc_opspace((enum hc_op)op);
        for (int i = 0; i < 2 && space.sets[i].name; i++) {
            const struct hc_format_set *set = &space.sets[i];
            struct hc_call call = hc_op_call((enum hc_op)op, set, space.shapes, space.variants);
            if (!hc_format_set_allowed((enum hc_op)op, set, space.variants))
                continue;
            give_memory(&call);
            hc_draw_inputs(&call, HC_DRAW_NORMAL, 3);
            run_on(hc_call_fp64(&call) ? "exact" : "host", &call);
            for (int o = 0; o < hc_ops[op].outputs; o++) {
                if (!call.out[o].data)
                    continue;
                struct hc_judged_output r = judged(&call, o);
                judged_outputs++;
                cr_expect_eq(r.wrong, 0, "%s %s: %s", hc_ops[op].name, set->name,
                             hc_descriptor((enum hc_op)op)->out[o].name);
                cr_expect_eq(r.judged, r.elements);
            }
        }
    }
    cr_expect_gt(judged_outputs, 80);
}

/* PyTorch's loop over tensors rounds Adam's formula in other places than ours. */
Test(judge, another_order_of_a_formula_is_right)
{
    struct hc_opspace space = hc_opspace(HC_OP_adamw);
    struct hc_call call = hc_op_call(HC_OP_adamw, space.sets, space.shapes, space.variants);
    int64_t other = 0;
    call.params.adam.order = HC_ORDER_TORCH_LOOP;
    give_memory(&call);
    hc_draw_inputs(&call, HC_DRAW_NORMAL, 6);
    run_on("exact", &call);
    call.params.adam.order = HC_ORDER_OURS;
    for (int o = 0; o < hc_ops[HC_OP_adamw].outputs; o++) {
        if (!call.out[o].data)
            continue;
        struct hc_judged_output r = judged(&call, o);
        cr_expect_eq(r.wrong, 0, "output %d", o);
        other += r.judged - r.as_exact;
    }
    cr_expect_gt(other, 0, "the orders are told apart");
}

/* alpha = 0 leaves C alone, if the products do not overflow: 0 times an infinity is NaN. */
Test(judge, a_product_times_zero_is_judged)
{
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = 0, .beta = 1}};
    call.in[HC_GEMM_A] = hc_tensor2(HC_FP32, 2, 3, (float[]){1, 2, 3, 4, 5, 0x1p+100f});
    call.in[HC_GEMM_B] = hc_tensor2(HC_FP32, 3, 1, (float[]){1, 1, 1});
    call.in[HC_GEMM_C] = hc_tensor2(HC_FP32, 2, 1, (float[]){7, 8});
    call.out[HC_GEMM_OUT] = hc_tensor2(HC_FP32, 2, 1, (float[]){7, 8});
    struct hc_judged_output r = judged(&call, HC_GEMM_OUT);
    cr_expect(r.wrong == 0 && r.worst.bound < 1e-5, "%g", r.worst.bound);
    hc_tensor_set(&call.out[HC_GEMM_OUT], 1, 8 + 0x1p-20);
    cr_expect_eq(judged(&call, HC_GEMM_OUT).wrong, 1, "no product is left to err");
    hc_tensor_set(&call.out[HC_GEMM_OUT], 1, 9);
    cr_expect_eq(judged(&call, HC_GEMM_OUT).wrong, 1);
    hc_tensor_set(&call.in[HC_GEMM_B], 2, 0x1p+100);
    cr_expect_eq(judged(&call, HC_GEMM_OUT).wrong, 0, "the second sum overflows");
}

/* So it is in fp16's sums, which end at 65504. */
Test(judge, a_product_in_fp16_times_zero_is_judged)
{
    uint16_t eight = 0x4800;
    struct hc_call call = five_terms(eight);
    call.params.gemm = (struct hc_gemm){.alpha = 0, .beta = 1, .half_accumulator = true};
    call.in[HC_GEMM_C] = hc_tensor2(HC_FP16, 1, 1, &eight);
    struct hc_judged_output r = judged(&call, HC_GEMM_OUT);
    cr_expect(r.wrong == 0 && r.worst.bound < 0.02, "%g", r.worst.bound);
    hc_tensor_set(&call.out[HC_GEMM_OUT], 0, 8 + 0x3p-7);
    cr_expect_eq(judged(&call, HC_GEMM_OUT).wrong, 1, "no product is left to err");
    hc_tensor_set(&call.in[HC_GEMM_B], 0, 100);
    cr_expect_eq(judged(&call, HC_GEMM_OUT).wrong, 0, "the sum overflows");
}

static struct hc_call sums_in_fp16(void)
{
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = 1, .half_accumulator = true}};
    call.in[HC_GEMM_A] = hc_tensor2(HC_FP16, 4, 2048, NULL);
    call.in[HC_GEMM_B] = hc_tensor2(HC_FP16, 2048, 4, NULL);
    call.out[HC_GEMM_OUT] = hc_tensor2(HC_FP16, 4, 4, NULL);
    call.in[HC_GEMM_C].format = HC_FP16;
    give_memory(&call);
    hc_draw_inputs(&call, HC_DRAW_POSITIVE, 5);
    run_on("host", &call);
    return call;
}

Test(judge, sums_in_fp16_are_wrong_where_fp32_is_owed)
{
    struct hc_call call = sums_in_fp16();
    cr_expect_eq(judged(&call, HC_GEMM_OUT).wrong, 0, "as it says that it sums in fp16");
    call.params.gemm.half_accumulator = false;
    struct hc_judged_output r = judged(&call, HC_GEMM_OUT);
    cr_expect_gt(r.wrong, 8);
    cr_expect(r.worst.implementation > 1 && r.format <= 1);
}

Test(judge, a_wrong_element_of_a_large_output_is_found)
{
    const int64_t n = 1 << 16;
    struct hc_call call = {.op = HC_OP_cast};
    call.in[HC_X] = hc_tensor1(HC_FP16, n, NULL);
    call.out[HC_OUT] = hc_tensor1(HC_BF16, n, NULL);
    struct hc_judge judge = {.call = &call, .exact = call, .has_exact = true};
    void *zeros = calloc((size_t)n, 2);
    uint16_t *got = calloc((size_t)n, 2);
    cr_assert(zeros && got);
    call.in[HC_X].data = judge.exact.in[HC_X].data = judge.exact.out[HC_OUT].data = zeros;
    call.out[HC_OUT].data = got;
    for (int i = 0; i < 100; i++) /* others are as far */
        got[600 * i] = 1;
    got[54321] = 0x3f80;
    int64_t index[64];
    int64_t chosen = hc_judge_choose(&judge, HC_OUT, 64, index);
    bool found = false;
    for (int64_t k = 0; k < chosen; k++) {
        found = found || index[k] == 54321;
        cr_expect(k == 0 || index[k] > index[k - 1]);
    }
    cr_expect(found && chosen > 22);
    free(zeros);
    free(got);
}

/* One of the elements that are no NaN has the largest difference, and others are farther in ulp. */
Test(judge, nan_of_another_sign_hides_no_wrong_element)
{
    const int64_t n = 1 << 12;
    struct hc_call call = {.op = HC_OP_cast};
    call.in[HC_X] = hc_tensor1(HC_FP16, n, NULL);
    call.out[HC_OUT] = hc_tensor1(HC_BF16, n, NULL);
    struct hc_judge judge = {.call = &call, .exact = call, .has_exact = true};
    uint16_t *exact = calloc((size_t)n, 2);
    uint16_t *got = calloc((size_t)n, 2);
    cr_assert(exact && got);
    judge.exact.out[HC_OUT].data = exact;
    call.out[HC_OUT].data = got;
    for (int i = 0; i < n; i++) {
        exact[i] = i < 500 ? 0x7fc0 : i < 1000 ? 0 : 0x3f80;
        got[i] = i < 500 ? 0xffc0 : i < 1000 ? 0x2000 : 0x3f80;
    }
    got[3217] = 0x4080; /* 4 instead of 1 */
    int64_t index[60];
    int64_t chosen = hc_judge_choose(&judge, HC_OUT, 60, index);
    bool found = false;
    for (int64_t k = 0; k < chosen; k++)
        found = found || index[k] == 3217;
    cr_expect(found);
    free(exact);
    free(got);
}

Test(judge, nan_and_infinity_are_wrong_where_numbers_are_owed)
{
    const uint16_t wrong[] = {0x7e00, 0x7c00, 0xfc00};
    for (int i = 0; i < 3; i++) {
        struct hc_call call = five_terms(wrong[i]);
        struct hc_judged_output r = judged(&call, HC_GEMM_OUT);
        cr_expect(r.wrong == 1 && r.worst.ratio > 100, "%x", wrong[i]);
    }
}

Test(judge, a_call_that_breaks_its_contract_is_refused)
{
    struct hc_call call = five_terms(0);
    struct hc_judge judge;
    call.out[HC_GEMM_OUT].shape[0] = 2;
    cr_expect_eq(hc_judge_open(&judge, &call, &fp32_sums), HC_INVALID);
    cr_expect_str_eq(hc_message(), "gemm: out has shape [2, 1], not [1, 1]");
    hc_judge_close(&judge);
}

/* Elements of a large output are judged by several threads, whose counts are added. */
Test(judge, every_wrong_element_of_a_large_output_is_counted)
{
    const int64_t n = 50000;
    struct hc_call call = {.op = HC_OP_cast};
    call.in[HC_X] = hc_tensor1(HC_FP32, n, NULL);
    call.out[HC_OUT] = hc_tensor1(HC_BF16, n, NULL);
    give_memory(&call);
    memset(call.out[HC_OUT].data, 0x3f, (size_t)n * 2); /* 0.75 for 0 */
    for (int64_t i = 0; i < n; i += 5)
        hc_tensor_set(&call.out[HC_OUT], i, 0);
    struct hc_judged_output r = judged(&call, HC_OUT);
    cr_expect_eq(r.judged, n);
    cr_expect_eq(r.wrong, n - n / 5);
    cr_expect_eq(r.as_exact, n / 5);
    cr_expect_eq(r.count[0], n / 5, "a ratio of 0 is up to 0");
    cr_expect_eq(r.count[HC_RATIO_BINS - 1], n - n / 5);
    cr_expect_eq(r.worst.index, 1);
}

Test(judge, an_infinite_ratio_is_above_the_last_finite_edge)
{
    struct hc_call call = five_terms(0x7e00); /* NaN */
    struct hc_judged_output r = judged(&call, HC_GEMM_OUT);
    cr_expect(isinf(r.worst.ratio) && r.count[HC_RATIO_BINS - 1] == 1);
}
