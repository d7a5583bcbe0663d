/* What a fingerprint does to bounds and verdicts. */
#include "check/fingerprint/use.h"

#include "check/bound/bound.h"
#include "check/fingerprint/testing.h"
#include "check/testing.h"

/* exact with a unit for its gemm that states this accumulator. */
static struct hc_backend backend;

static void make_backend(const char *unit, struct hc_accumulator stated)
{
    unit_under_test = *hc_unit_by_name(unit);
    backend = *hc_backend_by_name("exact");
    backend.kernel[HC_OP_gemm] = unit_gemm;
    backend.accumulator = stated;
    backend.name = unit; /* What was found is kept by the name. */
}

static enum hc_found_against use(enum hc_format format, char line[HC_FOUND_LINE])
{
    struct hc_queue *queue;
    struct hc_fingerprint f;
    cr_assert_eq(backend.open(&backend, &queue, 1), HC_OK);
    cr_assert_eq(hc_fingerprint(&backend, queue, format, &f), HC_OK, "%s", hc_message());
    backend.close(queue);
    return hc_fingerprint_use(&backend, &f, line);
}

static struct hc_call gemm_of(enum hc_format format)
{
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = 1}};
    call.in[HC_GEMM_A] = hc_tensor2(format, 1, 64, NULL);
    call.in[HC_GEMM_B] = hc_tensor2(format, 64, 1, NULL);
    call.out[HC_GEMM_OUT] = hc_tensor2(HC_FP32, 1, 1, NULL);
    return call;
}

static const struct hc_accumulator v100 = {
    .precision = 24, .block = 4, .truncates = true, .aligns_subnormals = true};
static const struct hc_accumulator h100 = {
    .precision = 24, .block = 16, .extra_bits = 2, .truncates = true, .aligns_subnormals = true};

Test(use, a_finer_unit_makes_the_bounds_of_gemm_tighter)
{
    char line[HC_FOUND_LINE];
    struct hc_call call = gemm_of(HC_FP16);
    struct hc_call other = gemm_of(HC_BF16);
    make_backend("h100wgmma-fp16-fp32", v100);
    cr_assert_eq(use(HC_FP16, line), HC_FOUND_FINER);
    cr_expect_str_eq(line, "gemm of fp16 sums finer than bounds assume: 24 bits, 16 at once, 2 "
                           "more, cut, small factors raised, not 24 bits, 4 at once, 0 more, cut, "
                           "small factors raised");
    cr_expect_eq(hc_backend_accumulator(&backend, &call).block, 16);
    cr_expect_eq(hc_backend_accumulator(&backend, &other).block, 4, "nothing was found of bf16");
    cr_expect_null(hc_backend_doubt(&backend, &call));
    call.op = HC_OP_conv2d;
    cr_expect_eq(hc_backend_accumulator(&backend, &call).block, 4, "it was seen in gemm alone");
}

Test(use, bounds_never_become_tighter_than_those_of_plain_fp32)
{
    static const char *const units[] = {"mi100-bf16-fp32", "mi300x-bf16-fp32",
                                        "h100wgmma-bf16-fp32"};
    const struct hc_accumulator plain = {.precision = 24, .block = 1};
    char line[HC_FOUND_LINE];
    struct hc_call call = gemm_of(HC_BF16);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        make_backend(units[i], v100);
        cr_assert_eq(use(HC_BF16, line), HC_FOUND_FINER);
        struct hc_accumulator a = hc_backend_accumulator(&backend, &call);
        for (double n = 2; n < 0x1p20; n *= 2)
            cr_expect_geq(hc_bound_growth(&a, n), hc_bound_growth(&plain, n));
    }
}

Test(use, what_is_stated_needs_no_word)
{
    char line[HC_FOUND_LINE];
    make_backend("h100wgmma-fp16-fp32", h100);
    cr_expect_eq(use(HC_FP16, line), HC_FOUND_ALIKE);
    cr_expect_str_eq(line, "");
    make_backend("h100wgmma-tf32-fp32", h100);
    cr_expect_eq(use(HC_TF32, line), HC_FOUND_ALIKE, "half a block of tf32: %s", line);
}

static void one_product(struct hc_check *check)
{
    struct hc_call call = gemm_of(HC_FP16);
    call.in[HC_GEMM_A] = hc_check_tensor(check, call.in[HC_GEMM_A]);
    call.in[HC_GEMM_B] = hc_check_tensor(check, call.in[HC_GEMM_B]);
    call.out[HC_GEMM_OUT] = hc_check_tensor(check, call.out[HC_GEMM_OUT]);
    for (int i = 0; i < 64; i++) {
        hc_tensor_set(&call.in[HC_GEMM_A], i, 1 + i / 97.0);
        hc_tensor_set(&call.in[HC_GEMM_B], i, 1 - i / 89.0);
    }
    (void)hc_claim_call_met(check, &call);
}

Test(use, a_coarser_unit_makes_results_mistrusted_and_no_bound_wider)
{
    char line[HC_FOUND_LINE];
    struct hc_call call = gemm_of(HC_FP16);
    make_backend("v100-fp16-fp32", h100);
    run_on(&backend, one_product);
    cr_assert_eq(result.verdict, HC_PASS, "%s", result.note);
    double bound = result.bound;
    cr_assert_eq(use(HC_FP16, line), HC_FOUND_COARSER);
    cr_expect_eq(hc_backend_accumulator(&backend, &call).block, 16);
    run_on(&backend, one_product);
    cr_expect_eq(result.verdict, HC_MISTRUSTED);
    cr_expect_not_null(strstr(result.note, "gemm of fp16 sums more coarsely than bounds assume"),
                       "%s", result.note);
    cr_expect_eq(result.bound, bound);
}

Test(use, a_unit_that_flushes_and_does_not_say_so_is_mistrusted)
{
    char line[HC_FOUND_LINE];
    struct hc_call call = gemm_of(HC_BF16);
    make_backend("amx-bf16-fp32", (struct hc_accumulator){.precision = 24, .block = 1});
    cr_assert_eq(use(HC_BF16, line), HC_FOUND_COARSER);
    cr_expect_not_null(hc_backend_doubt(&backend, &call));
    call.params.gemm.half_accumulator = true;
    cr_expect_null(hc_backend_doubt(&backend, &call));
}

/* Each simulated unit says itself how it sums. */
Test(use, simulated_units_state_no_less_than_is_found)
{
    static const enum hc_format formats[] = {HC_FP16, HC_BF16, HC_TF32};
    int n;
    int tried = 0;
    bool few = getenv("HALFCHECK_SHORT_TESTS");
    const struct hc_backend *const *all = hc_backends_built_in(&n);
    for (int b = 0; b < n; b++) {
        struct hc_queue *queue;
        if (strncmp(all[b]->name, "sim-", 4) != 0 || (few && tried > 9))
            continue;
        cr_assert_eq(all[b]->open(all[b], &queue, 1), HC_OK);
        for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
            struct hc_fingerprint f;
            char line[HC_FOUND_LINE];
            cr_assert_eq(hc_fingerprint(all[b], queue, formats[i], &f), HC_OK, "%s", hc_message());
            cr_expect_neq(hc_fingerprint_use(all[b], &f, line), HC_FOUND_COARSER, "%s: %s",
                          all[b]->name, line);
            tried++;
        }
        all[b]->close(queue);
    }
    cr_expect_gt(tried, few ? 9 : 30);
}

/* The unit's products from the last one on, and the odd ones before the even: no known order. */
static enum hc_status shuffled_gemm(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_call other = *call;
    struct hc_tensor *a = &other.in[HC_GEMM_A];
    struct hc_tensor *b = &other.in[HC_GEMM_B];
    int64_t k = a->shape[1];
    int64_t n = call->out[HC_GEMM_OUT].shape[1];
    a->data = calloc(1, hc_tensor_bytes(a));
    b->data = calloc(1, hc_tensor_bytes(b));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < k; j++) {
            int64_t from = 2 * j < k ? k - 1 - 2 * j : 2 * (k - 1 - j);
            hc_tensor_set_bits(a, i * k + j, hc_tensor_bits(&call->in[HC_GEMM_A], i * k + from));
            hc_tensor_set_bits(b, j * n + i, hc_tensor_bits(&call->in[HC_GEMM_B], from * n + i));
        }
    enum hc_status status = unit_gemm(queue, &other);
    free(a->data);
    free(b->data);
    return status;
}

Test(use, a_unit_in_no_known_order_is_mistrusted_or_said_not_to_be_compared)
{
    static const struct {
        int fraction;
        enum hc_found_against want;
        const char *line;
    } rows[] = {
        {24, HC_FOUND_ALIKE,
         "gemm of fp16: how it sums is not known well enough to compare it with what bounds "
         "assume: 24 bits, 16 at once, 2 more, cut, small factors raised"},
        {18, HC_FOUND_COARSER,
         "gemm of fp16 sums more coarsely than bounds assume: 18 fraction bits of two "
         "products, not 24 bits, 16 at once, 2 more, cut, small factors raised"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char line[HC_FOUND_LINE];
        struct hc_call call = gemm_of(HC_FP16);
        make_backend(i ? "a100-fp16-fp32" : "ada-fp16-fp32", h100);
        unit_under_test.fraction = rows[i].fraction;
        backend.kernel[HC_OP_gemm] = shuffled_gemm;
        cr_expect_eq(use(HC_FP16, line), rows[i].want);
        cr_expect_str_eq(line, rows[i].line);
        cr_expect_eq(hc_backend_doubt(&backend, &call) != NULL, i == 1);
    }
}

/* The unit is given the factors in a format with more exponents, in which they are normal numbers,
   so that no exponent is raised. */
static enum hc_status unraised_gemm(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_call other = *call;
    unit_under_test.a = unit_under_test.b = HC_OPERAND_TF32;
    for (int slot = HC_GEMM_A; slot <= HC_GEMM_B; slot++) {
        struct hc_tensor *t = &other.in[slot];
        *t = hc_tensor2(HC_FP32, t->shape[0], t->shape[1], NULL);
        t->data = calloc(1, hc_tensor_bytes(t));
        for (int64_t i = 0; i < t->shape[0] * t->shape[1]; i++)
            hc_tensor_set(t, i, hc_tensor_get(&call->in[slot], i));
    }
    enum hc_status status = unit_gemm(queue, &other);
    free(other.in[HC_GEMM_A].data);
    free(other.in[HC_GEMM_B].data);
    return status;
}

Test(use, small_factors_are_raised_only_where_that_was_seen)
{
    for (int raised = 0; raised < 2; raised++) {
        struct hc_queue *queue;
        struct hc_fingerprint f;
        struct hc_accumulator a;
        make_backend("a100-fp16-fp32", h100);
        backend.kernel[HC_OP_gemm] = raised ? unit_gemm : unraised_gemm;
        cr_assert_eq(backend.open(&backend, &queue, 1), HC_OK);
        cr_assert_eq(hc_fingerprint(&backend, queue, HC_FP16, &f), HC_OK, "%s", hc_message());
        backend.close(queue);
        cr_assert(hc_fingerprint_accumulator(&f, &a));
        cr_expect(!f.main.normalized);
        cr_expect_eq(a.aligns_subnormals, raised == 1, "%d", raised);
    }
}
