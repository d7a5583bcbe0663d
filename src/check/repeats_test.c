/* Large calls of which every element is judged. */
#include "check/repeats.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/generate/cases.h"
#include "check/runner.h"
#include "op/defined.h"

Test(repeats, the_first_coordinates_are_themselves_and_the_others_are_some_of_them)
{
    const struct hc_axis axis = {.small = 13, .large = 4096, .step = 1, .kind = 1};
    int seen[13] = {0};
    for (int64_t i = 0; i < axis.large; i++) {
        int64_t at = hc_repeats_of(&axis, 7, i);
        cr_assert(at >= 0 && at < 13 && (i >= 13 || at == i), "%lld", (long long)i);
        seen[at]++;
    }
    for (int k = 0; k < 13; k++)
        cr_expect(seen[k] > 4096 / 13 / 2 && seen[k] < 4096 / 13 * 2, "%d: %d", k, seen[k]);
}

Test(repeats, neighbours_are_seldom_alike)
{
    const struct hc_axis axis = {.small = 11, .large = 4096, .step = 1, .kind = 2};
    for (int64_t apart = 1; apart <= 256; apart *= 2) {
        int alike = 0;
        for (int64_t i = 0; i + apart < axis.large; i++)
            alike += hc_repeats_of(&axis, 0, i) == hc_repeats_of(&axis, 0, i + apart);
        cr_expect(alike < 4096 / 11 * 2, "%lld: %d", (long long)apart, alike);
    }
}

Test(repeats, a_block_stays_together_and_what_is_alone_is_not_repeated)
{
    const struct hc_axis axis = {.small = 96, .large = 999, .step = 32, .kind = 2};
    const struct hc_axis scale = {.small = 3, .large = 32, .step = 1, .kind = 2};
    const struct hc_axis lone = {.small = 9, .large = 1000, .step = 1, .alone = 4, .kind = 2};
    for (int64_t i = 0; i < axis.large; i++) {
        int64_t at = hc_repeats_of(&axis, 5, i);
        cr_assert_eq(at % 32, i % 32);
        cr_assert_eq(at / 32, hc_repeats_of(&scale, 5, i / 32));
    }
    for (int64_t i = 9; i < lone.large; i++)
        cr_assert(hc_repeats_of(&lone, 5, i) >= 4);
}

static const struct hc_axis layouts[][2] = {
    {{7, 50, 1, 0, 1}, {5, 5, 1, 0, 0}},
    {{7, 50, 1, 0, 1}, {5, 5, 1, 0, 0}},
    {{6, 30, 3, 1, 2}, {4, 9, 1, 0, 1}},
};

/* fma, whose third operand is laid out otherwise; as bytes, halves or words. */
static void expect_places(enum hc_format format, bool keeps)
{
    static uint64_t few[3][64];
    static uint64_t many[3][512];
    struct hc_repeats repeats = {.seed = 11};
    struct hc_call small = {.op = HC_OP_fma};
    struct hc_call large = small;
    for (int s = 0; s < 3; s++) {
        const struct hc_axis *a = layouts[s];
        repeats.slot[s] = (struct hc_axes){2, {a[0], a[1]}};
        small.in[s] = hc_tensor2(format, a[0].small, a[1].small, few[s]);
        large.in[s] = hc_tensor2(format, a[0].large, a[1].large, many[s]);
        for (int64_t i = 0; i < hc_tensor_count(&small.in[s]); i++)
            hc_tensor_set_bits(&small.in[s], i, (uint64_t)(64 * s + i));
    }
    cr_assert(!keeps || hc_repeats_keep(&repeats, NULL));
    cr_assert(hc_repeats_fill(&repeats, &small, &large));
    for (int s = 0; s < 3; s++)
        for (int64_t i = 0; i < hc_tensor_count(&large.in[s]); i++) {
            const struct hc_axis *a = layouts[s];
            int64_t row = hc_repeats_of(&a[0], 11, i / a[1].large);
            int64_t column = hc_repeats_of(&a[1], 11, i % a[1].large);
            cr_assert_eq(hc_tensor_bits(&large.in[s], i),
                         (uint64_t)(64 * s + row * a[1].small + column));
        }
    hc_repeats_end(&repeats);
}

Test(repeats, a_large_tensor_is_filled_by_the_hash_of_each_coordinate)
{
    static const enum hc_format formats[] = {HC_E4M3, HC_FP16, HC_FP32, HC_FP64};
    for (int f = 0; f < 4; f++) {
        expect_places(formats[f], false);
        expect_places(formats[f], true);
    }
}

static int runs;
static int64_t wrong_at;
static enum hc_op wrong_op;
static hc_kernel *kernel;

/* host, with one element of the first output that is its neighbour's. */
static enum hc_status one_wrong(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *y = &call->out[HC_FIRST];
    enum hc_status status = hc_backend_by_name("host")->kernel[call->op](queue, call);
    int64_t n = hc_tensor_count(y);
    int64_t at = (wrong_at * 7919 + n - 1) % n;
    double value = hc_tensor_get(y, at);
    hc_tensor_set(y, at, value == 0 ? 1 : -value);
    return status;
}

static bool must_fail(const struct hc_result *result, void *context)
{
    (void)context;
    cr_expect_eq(result->verdict, HC_FAIL, "%s: %s", result->what->name, result->note);
    cr_expect(result->wrong >= 1, "%s", result->note);
    runs++;
    return true;
}

static void run_wrong(const char *pattern)
{
    const struct hc_case_table *table = hc_size_cases();
    const struct hc_case *all[2048];
    struct hc_backend wrong = *hc_backend_by_name("host");
    const struct hc_backend *backend = &wrong;
    cr_assert_leq(table->count, 2048);
    for (int i = 0; i < table->count; i++)
        all[i] = &table->cases[i];
    wrong.kernel[wrong_op] = kernel;
    struct hc_run_options options = {.cases = all,
                                     .case_count = table->count,
                                     .patterns = &pattern,
                                     .pattern_count = 1,
                                     .backends = &backend,
                                     .backend_count = 1,
                                     .level = HC_STANDARD,
                                     .threads = 1,
                                     .report = must_fail};
    cr_assert_eq(hc_run_cases(&options), HC_OK, "%s", hc_message());
}

Test(repeats, no_element_of_a_large_call_may_be_wrong)
{
    static const struct {
        enum hc_op op;
        const char *pattern;
    } tried[] = {
        {HC_OP_gemm, "size/gemm/fp32/128x128x32"},
        {HC_OP_gemm_q, "size/gemm_q/e4m3-fp32/*"},
        {HC_OP_conv2d, "size/conv2d/*"},
        {HC_OP_xent_bwd, "size/xent_bwd/fp16/*"},
        {HC_OP_cast, "size/cast/fp32-fp16/*"},
        {HC_OP_bn_train, "size/bn_train/*"},
        {HC_OP_im2col, "size/im2col/*"},
        {HC_OP_dequantize, "size/dequantize/*"},
        {HC_OP_sum, "size/sum/*"},
        {HC_OP_avg_pool, "size/avg_pool/*"},
        {HC_OP_layer_norm, "size/layer_norm/fp32/*"},
        {HC_OP_rms_norm_backward, "size/rms_norm_backward/fp16/*"},
        {HC_OP_softmax, "size/softmax/bf16/*"},
        {HC_OP_silu, "size/silu/fp32/*"},
        {HC_OP_swiglu, "size/swiglu/fp16/*"},
    };
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        wrong_op = tried[i].op;
        kernel = one_wrong;
        wrong_at = (int64_t)i;
        run_wrong(tried[i].pattern);
    }
    cr_expect_geq(runs, 15);
}

/* What has no large calls: scalars, tables, and what draws by the place of an element, which
   rounding/stochastic-past-2^20 looks at. */
static bool stays_small(enum hc_op op)
{
    return hc_ops[op].class_ == HC_CLASS_CONTROL || op == HC_OP_stochastic_cast;
}

Test(repeats, every_op_that_has_large_calls_has_a_case)
{
    const struct hc_case_table *table = hc_size_cases();
    for (int op = 0; op < HC_OP_COUNT; op++) {
        char start[64];
        bool has = false;
        (void)snprintf(start, sizeof start, "size/%s/", hc_ops[op].name);
        for (int i = 0; i < table->count; i++)
            has |= table->cases[i].level <= HC_STANDARD &&
                   strncmp(table->cases[i].name, start, strlen(start)) == 0;
        cr_expect_eq(has, !stays_small((enum hc_op)op), "%s", hc_ops[op].name);
    }
}

/* host, but a special number from element 65,537 of the first input on is taken for 0. */
static enum hc_status blind(struct hc_queue *queue, const struct hc_call *call)
{
    enum { BLIND_FROM = 65537 };
    struct hc_call changed = *call;
    struct hc_tensor *x = &changed.in[HC_FIRST];
    int64_t n = hc_tensor_count(x);
    x->data = malloc(hc_tensor_bytes(x));
    cr_assert(x->data);
    memcpy(x->data, call->in[HC_FIRST].data, hc_tensor_bytes(x));
    for (int64_t i = BLIND_FROM; i < n; i++)
        if (!isfinite(hc_tensor_get(x, i)))
            hc_tensor_set(x, i, 0);
    enum hc_status status = hc_backend_by_name("host")->kernel[call->op](queue, &changed);
    free(x->data);
    return status;
}

Test(repeats, special_numbers_that_lie_alone_late_are_found)
{
    static const enum hc_op ops[] = {HC_OP_sum, HC_OP_dot, HC_OP_sum_squares, HC_OP_xent};
    runs = 0;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        char pattern[64];
        (void)snprintf(pattern, sizeof pattern, "size/%s/*", hc_ops[ops[i]].name);
        wrong_op = ops[i];
        kernel = blind;
        run_wrong(pattern);
    }
    cr_expect_eq(runs, 7 + 7 + 3 + 4);
}
