/* The rules of those who write a transformer's kernels, at their thresholds, and the inquiry. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "cli/catches/kernels.h"
#include "define/op.h"
#include "op/defined.h"

enum { FLASH, TE, LIGER, TORCH, FUSED, LLM };

/* What a rule makes of a number of that format where 1 is right, and eager code has 1 + half. */
static enum hc_judgement judged(int rule, enum hc_op op, enum hc_format format, double got,
                                double half)
{
    double memory[3] = {0};
    struct hc_tensor g = hc_tensor1(format, 1, &memory[0]);
    struct hc_tensor r = hc_tensor1(HC_FP64, 1, &memory[1]);
    struct hc_tensor h = hc_tensor1(HC_FP64, 1, &memory[2]);
    hc_tensor_set(&g, 0, got);
    hc_tensor_set(&r, 0, 1);
    hc_tensor_set(&h, 0, 1 + half);
    struct hc_kernel_output out = {.op = op, .got = &g, .real = &r, .half = half != 0 ? &h : NULL};
    return hc_kernel_rules[rule].judge(&out);
}

static const struct threshold {
    int rule;
    enum hc_op op;
    enum hc_format format;
    double accepted; /* as far from 1 */
    double refused;
    double half;
} thresholds[] = {
    {FLASH, HC_OP_attention, HC_BF16, 0x1p-6, 0x1p-5, 0x1p-7},
    {FLASH, HC_OP_attention_backward, HC_BF16, 0x1.8p-6, 0x1p-5, 0x1p-7},
    {TE, HC_OP_gelu, HC_BF16, 0x1p-6, 0x1.8p-6, 0},
    {TE, HC_OP_gelu, HC_FP16, 0x1p-10, 0x1p-9, 0},
    {TE, HC_OP_gelu, HC_FP32, 0x1p-17, 0x1p-16, 0},
    {TE, HC_OP_attention, HC_BF16, 0x1.8p-6, 0x1p-5, 0},
    {TE, HC_OP_softmax, HC_BF16, 0, 0x1p-7, 0},
    {LIGER, HC_OP_rms_norm, HC_BF16, 0x1.8p-3, 0x1p-2, 0},
    {LIGER, HC_OP_rms_norm, HC_FP32, 0x1p-14, 0x1p-13, 0},
    {LIGER, HC_OP_cross_entropy_general_backward, HC_BF16, 0x1.8p-5, 0x1p-4, 0},
    {TORCH, HC_OP_attention, HC_FP32, 0x1p-15, 0x1p-14, 0},
    {TORCH, HC_OP_softmax, HC_BF16, 0x1p-6, 0x1.8p-6, 0},
    {FUSED, HC_OP_attention, HC_BF16, 0x1.8p-4, 0x1p-3, 0},
    {LLM, HC_OP_cross_entropy_general, HC_FP32, 0x1p-5, 0x1p-4, 0},
    {LLM, HC_OP_gelu_backward, HC_FP32, 0x1p-8, 0x1p-7, 0},
};

Test(kernels, a_rule_accepts_up_to_its_threshold)
{
    for (size_t i = 0; i < sizeof thresholds / sizeof thresholds[0]; i++) {
        const struct threshold *t = &thresholds[i];
        cr_expect_eq(judged(t->rule, t->op, t->format, 1 + t->accepted, t->half), HC_ACCEPTED,
                     "row %zu", i);
        cr_expect_eq(judged(t->rule, t->op, t->format, 1 + t->refused, t->half), HC_REFUSED,
                     "row %zu", i);
        cr_expect_eq(judged(t->rule, t->op, t->format, (double)NAN, t->half), HC_REFUSED, "row %zu",
                     i);
    }
}

Test(kernels, a_rule_is_not_applied_where_nobody_states_it)
{
    cr_expect_eq(judged(FLASH, HC_OP_attention, HC_FP32, 1, 0), HC_NOT_APPLIED);
    cr_expect_eq(judged(LIGER, HC_OP_gelu, HC_BF16, 1, 0), HC_NOT_APPLIED);
    cr_expect_eq(judged(FUSED, HC_OP_attention, HC_FP32, 1, 0), HC_NOT_APPLIED);
    cr_expect_eq(judged(FUSED, HC_OP_attention_merge, HC_BF16, 1, 0), HC_NOT_APPLIED);
    cr_expect_eq(judged(LLM, HC_OP_gelu, HC_BF16, 1, 0), HC_NOT_APPLIED);
}

/* exp(-2^-7), their sum and the quotient are each rounded to bf16. */
Test(kernels, eager_code_stores_what_each_equation_gives)
{
    uint16_t x[] = {0x3f80, 0x3f80, 0x3f81};
    uint16_t y[3];
    double real[3];
    struct hc_tensor eager = hc_tensor2(HC_BF16, 1, 3, y);
    struct hc_tensor wide = hc_tensor2(HC_FP64, 1, 3, real);
    struct hc_call call = {.op = HC_OP_softmax, .in = {hc_tensor2(HC_BF16, 1, 3, x)}};
    call.out[HC_FIRST] = eager;
    cr_assert_eq(hc_defined_op_plainly(&call, HC_PLAINLY_EAGER, &eager), HC_OK);
    double e = hc_round(HC_BF16, exp(-0x1p-7));
    double l = hc_round(HC_BF16, e + e + 1);
    cr_expect_eq(hc_tensor_get(&eager, 0), hc_round(HC_BF16, e / l));
    cr_expect_eq(hc_tensor_get(&eager, 2), hc_round(HC_BF16, 1 / l));
    cr_assert_eq(hc_defined_op_plainly(&call, HC_PLAINLY_FP64, &wide), HC_OK);
    cr_expect_float_eq(real[2], 1 / (2 * exp(-0x1p-7) + 1), 1e-15);
}

static enum hc_kernel_word word_of(const struct hc_kernel_inquiry *inquiry, const char *fault,
                                   int column)
{
    for (int i = 0; i < inquiry->count; i++)
        if (strcmp(inquiry->row[i].fault->name, fault) == 0)
            return inquiry->row[i].word[column];
    cr_expect_fail("no row of %s", fault);
    return HC_KERNEL_NOT_APPLIED;
}

/* silu that is stored once more hides in every tolerance, and in what eager code does. */
Test(kernels, own_misses_stand_first)
{
    static const char *const patterns[] = {"swiglu-*", "attention-gradient-of-nothing*"};
    struct hc_kernel_inquiry found;
    cr_assert_eq(hc_kernels_inquire(patterns, 2, &found), HC_OK, "%s", hc_message());
    cr_assert_eq(found.count, 6);
    cr_expect_str_eq(found.row[0].fault->name, "attention-gradient-of-nothing-not-written");
    cr_expect_eq(found.row[0].word[HC_KERNEL_RANDOM], HC_KERNEL_MISSED);
    cr_expect_eq(found.row[0].word[HC_KERNEL_CASES], HC_KERNEL_CAUGHT);
    cr_expect_str_eq(found.row[0].by, "transformer/attention-gradient-of-nothing");
    cr_expect_eq(word_of(&found, "swiglu-stored-between", FLASH), HC_KERNEL_MISSED);
    cr_expect_eq(word_of(&found, "swiglu-stored-between", TORCH), HC_KERNEL_MISSED);
    cr_expect_eq(word_of(&found, "swiglu-stored-between", HC_KERNEL_RANDOM), HC_KERNEL_CAUGHT);
    cr_expect_eq(word_of(&found, "swiglu-halves-swapped", FLASH), HC_KERNEL_CAUGHT);
    cr_expect_eq(word_of(&found, "swiglu-halves-swapped", LIGER), HC_KERNEL_NOT_APPLIED);
    cr_expect_gt(found.calls[FLASH], 0);
    cr_expect_eq(found.alarms[FLASH], 0);
    hc_kernels_free(&found);
}

Test(kernels, a_name_that_no_fault_has_is_refused)
{
    static const char *const patterns[] = {"none-*"};
    struct hc_kernel_inquiry found;
    cr_expect_eq(hc_kernels_inquire(patterns, 1, &found), HC_INVALID);
    hc_kernels_free(&found);
}
