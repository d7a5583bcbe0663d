/* The numbers of half precision that everybody should know, on the backend's own conversion. */
#include <stdio.h>

#include "case.h"

/* An input, its fp16 value, and what is worth knowing about it. */
struct row {
    const char *input; /* decimal */
    uint16_t want;
    const char *why;
};

struct claim {
    enum hc_format from;
    const struct row *rows;
    int count;
};

/* Each row's expectation must be what MPFR and the backend make of the input as it is written. */
static void thresholds(struct hc_check *check)
{
    const struct claim *claim = hc_check_case(check)->data;
    struct hc_tensor x = hc_check_vector(check, claim->from, claim->count);
    struct hc_tensor h = hc_check_vector(check, HC_FP16, claim->count);
    struct hc_call call = {.op = HC_OP_cast, .in = {[HC_X] = x}, .out = {[HC_OUT] = h}};
    struct hc_real *real = hc_real_new(0);
    for (int i = 0; i < claim->count; i++) {
        hc_real_set_text(real, claim->rows[i].input);
        hc_tensor_set_bits(&x, i, hc_real_bits(real, claim->from, HC_NEAREST));
    }
    enum hc_status status = hc_do(check, &call);
    for (int i = 0; i < claim->count && status == HC_OK; i++) {
        const struct row *row = &claim->rows[i];
        hc_real_set_text(real, row->input);
        hc_say(check, "%-13s %s", row->input, row->why);
        char what[48];
        (void)snprintf(what, sizeof what, "%s by MPFR", row->input);
        hc_claim_bits(check, what, HC_FP16, row->want, hc_real_bits(real, HC_FP16, HC_NEAREST));
        (void)snprintf(what, sizeof what, "%s by the backend", row->input);
        hc_claim_bits(check, what, HC_FP16, row->want, hc_tensor_bits(&h, i));
    }
    hc_real_free(real);
}

static const struct row after_one[] = {
    {"1", 0x3c00, "ten bits of fraction follow the leading 1"},
    {"1.0000000002", 0x3c00, "1 + 2e-10, as the notebook has it, is 1"},
    {"1.00048828125", 0x3c00, "1 + 2^-11 is the tie, and goes to the even 1"},
    {"1.0004883", 0x3c01, "just above the tie"},
    {"1.0009765625", 0x3c01, "1 + 2^-10, the next value: 1.0005 is not one"},
    {"1.001953125", 0x3c02, "1 + 2^-9, the one after it"},
};

static const struct row overflow[] = {
    {"65504", 0x7bff, "the largest value, (2 - 2^-10) 2^15"},
    {"65519", 0x7bff, "below the middle between 65504 and 65536"},
    {"65519.996", 0x7bff, "the last fp32 value below the middle"},
    {"65520", 0x7c00, "the middle: to even, which is 2^16, which is infinity"},
    {"-65519", 0xfbff, "the same on the negative side"},
    {"-65520", 0xfc00, "the same on the negative side"},
};

static const struct row underflow[] = {
    {"5.9604644775390625e-8", 0x0001, "2^-24, the smallest subnormal"},
    {"2.98023223876953125e-8", 0x0000, "2^-25, half of it: a tie, to the even 0"},
    {"2.9802326e-8", 0x0001, "the next fp32 value above half of it"},
    {"2.9802320612e-8", 0x0000, "the one below"},
    {"-2.98023223876953125e-8", 0x8000, "a zero keeps the sign of what it came from"},
    {"8.94069671630859375e-8", 0x0002, "one and a half: a tie, to the even 2"},
    {"6.0975551605224609375e-5", 0x03ff, "the largest subnormal, below 2^-14 by one step"},
    {"6.10053539276123046875e-5", 0x0400, "half a step below 2^-14: a tie, to the even 2^-14"},
};

static const struct row wide[] = {
    {"63343.99805", 0x7bbb, "63328: below the middle 63344; in fp32 it is the middle"},
    {"63344", 0x7bbc, "the middle between 63328 and 63360, to even"},
    {"63344.00195", 0x7bbc, "above it"},
};

enum { AFTER_ONE, OVERFLOW, UNDERFLOW, WIDE };

static const struct claim claims[] = {
    [AFTER_ONE] = {HC_FP64, after_one, sizeof after_one / sizeof after_one[0]},
    [OVERFLOW] = {HC_FP32, overflow, sizeof overflow / sizeof overflow[0]},
    [UNDERFLOW] = {HC_FP32, underflow, sizeof underflow / sizeof underflow[0]},
    [WIDE] = {HC_FP64, wide, sizeof wide / sizeof wide[0]},
};

static const struct hc_case cases[] = {
    {"rounding/after-one", "after 1 come 1 + 2^-10 and 1 + 2^-9; 1 + 2e-10 is 1",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb writes 1+2e-10; IEEE 754-2019, "
     "binary16",
     .run = thresholds, .data = &claims[AFTER_ONE]},
    {"rounding/overflow-threshold", "65519 becomes 65504, 65520 becomes infinity",
     "IEEE 754-2019, 4.3.1", .run = thresholds, .data = &claims[OVERFLOW]},
    {"rounding/underflow-threshold", "2^-25 becomes 0, the next value above becomes 2^-24",
     "IEEE 754-2019, 4.3.1", .run = thresholds, .data = &claims[UNDERFLOW]},
    {"rounding/fp64-not-through-fp32",
     "63343.99805 is 63328 in fp16; by way of fp32 it would be 63360",
     "double rounding: Figueroa, When is double rounding innocuous?, 1995", .run = thresholds,
     .data = &claims[WIDE]},
    {"rounding/checker-power", "the sweeps catch each of eleven planted conversion defects",
     "TestFloat-3e level 1 misses four of them, level 2 two", .once = true,
     .run = hc_claim_sweeps_catch_faults},
};

HC_CASES(rounding_thresholds, cases);
