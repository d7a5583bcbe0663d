/* What is said of a unit, and of calls of other sizes, holds. */
#include <stdio.h>

#include "check/fingerprint/testing.h"

/* Plain fp32 in fused multiply-adds, to be changed. */
static struct hc_unit fused_chain(void)
{
    struct hc_unit u = *hc_unit_by_name("avx512bf16-bf16-fp32");
    u.rule = HC_UNIT_CHAIN;
    u.last_first = false;
    u.k = u.piece = 1;
    u.inputs = HC_INPUTS_KEPT;
    u.underflow = HC_UNDERFLOW_GRADUAL;
    u.nans = HC_NANS_CANONICAL;
    return u;
}

Test(fingerprint, calls_no_unit_plain_that_flushes)
{
    char text[HC_FINGERPRINT_TEXT];
    struct hc_unit u = fused_chain();
    struct hc_fingerprint f = fingerprint_of_unit(&u);
    cr_expect(hc_fingerprint_is_plain(&f));
    u.underflow = HC_UNDERFLOW_FLUSHED_UNBOUNDED;
    f = fingerprint_of_unit(&u);
    cr_assert_eq(f.main.small_results, HC_SMALL_FLUSHED);
    cr_expect(!hc_fingerprint_is_plain(&f));
    hc_fingerprint_text(&f, text);
    cr_expect_not_null(strstr(text, "; small ones flushed; bits "), "%s", text);
}

Test(fingerprint, says_of_no_exact_product_that_it_is_rounded)
{
    static const enum hc_unit_rounding outputs[] = {HC_ROUND_NEAREST, HC_ROUND_CUT, HC_ROUND_FLOOR,
                                                    HC_ROUND_ODD};
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++) {
        struct hc_unit u = fused_chain();
        u.output = outputs[i];
        cr_expect(!fingerprint_of_unit(&u).main.rounded, "%s", hc_unit_rounding_names[outputs[i]]);
    }
}

/* The text of one line of the fingerprint. */
struct line {
    const char *name;
    char text[1024];
};

static void keep_line(const char *name, const char *fact, void *context)
{
    struct line *line = context;
    if (strcmp(name, line->name) == 0)
        (void)snprintf(line->text, sizeof line->text, "%s", fact);
}

static struct hc_unit long_unit;
static bool is_reversed;

/* Has another unit for long sums; both may start with the last product. */
static enum hc_status other_long_sums(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_unit kept = unit_under_test;
    struct hc_call reversed = *call;
    struct hc_tensor *a = &reversed.in[HC_GEMM_A];
    struct hc_tensor *b = &reversed.in[HC_GEMM_B];
    int64_t k = a->shape[1];
    int64_t n = call->out[HC_GEMM_OUT].shape[1];
    if (k > 64)
        unit_under_test = long_unit;
    a->data = calloc(1, hc_tensor_bytes(a));
    b->data = calloc(1, hc_tensor_bytes(b));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < k; j++) {
            int64_t from = is_reversed ? k - 1 - j : j;
            hc_tensor_set_bits(a, i * k + j, hc_tensor_bits(&call->in[HC_GEMM_A], i * k + from));
            hc_tensor_set_bits(b, j * n + i, hc_tensor_bits(&call->in[HC_GEMM_B], from * n + i));
        }
    enum hc_status status = unit_gemm(queue, &reversed);
    unit_under_test = kept;
    free(a->data);
    free(b->data);
    return status;
}

/* A unit that no model follows: zeros of C are aligned otherwise than those of products. */
static struct hc_unit no_model(int fraction)
{
    struct hc_unit u = *hc_unit_by_name("a100-bf16-fp32");
    u.zero_exponent = -120;
    u.zero_c_exponent = -90;
    u.fraction = fraction;
    return u;
}

Test(fingerprint, calls_no_long_sums_the_same_that_nothing_was_compared_with)
{
    static const struct {
        bool reversed;
        int fraction;
        const char *want;
    } rows[] = {
        {false, 24, "all findings are the same, but nothing is known to compare its sums with"},
        {false, 12, "otherwise: 8 at once, 12 fraction bits, cut; C joins the first piece"},
        {true, 24, "no order either, and the other findings are the same, but nothing is known"},
        {true, 12, "otherwise: unknown order, 12 fraction bits, cut"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct line line = {.name = "16 x 16 x 1024"};
        unit_under_test = no_model(24);
        long_unit = no_model(rows[i].fraction);
        is_reversed = rows[i].reversed;
        struct hc_fingerprint f = fingerprint_of_kernel(other_long_sums, HC_BF16);
        cr_expect(f.equal_count == 0 && !f.in_words);
        hc_fingerprint_tell(&f, keep_line, &line);
        cr_expect_eq(strncmp(line.text, rows[i].want, strlen(rows[i].want)), 0, "%zu: %s", i,
                     line.text);
    }
}

static int changed_nan;

/* Many elements have another NaN, all of them or some. */
static enum hc_status other_nans(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_status status = unit_gemm(queue, call);
    const struct hc_tensor *out = &call->out[HC_GEMM_OUT];
    int64_t n = out->shape[1];
    for (int64_t i = n > 32 ? changed_nan : n; i < n; i++)
        if (isnan(hc_tensor_get(out, i * n + i)))
            hc_tensor_set_bits(out, i * n + i, 0x7fc00001);
    return status;
}

Test(fingerprint, says_what_is_otherwise_in_other_sizes)
{
    static const struct {
        int from;
        const char *want;
    } rows[] = {{0, "; NaN always 0x7fc00001; "}, {4, "all findings are the same, but "}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct line line = {.name = "128 x 128 x 64"};
        unit_under_test = *hc_unit_by_name("a100-bf16-fp32");
        changed_nan = rows[i].from;
        struct hc_fingerprint f = fingerprint_of_kernel(other_nans, HC_BF16);
        hc_fingerprint_tell(&f, keep_line, &line);
        cr_expect_not_null(strstr(line.text, rows[i].want), "%s", line.text);
        cr_expect_not_null(strstr(line.text, " of 512 sums are other codes of NaN"), "%s",
                           line.text);
    }
}
