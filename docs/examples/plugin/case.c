/* Cases of one's own: a loss scale of 2^16 lifts the smallest gradient of fp16, and back. */
#include <halfcheck/case.h>

/* Scales one number, holds the result against MPFR, and against the bits that it must have. */
static void scaled(struct hc_check *check, double x, double by, uint64_t want)
{
    struct hc_call scale = {.op = HC_OP_scale};
    scale.in[HC_SCALE_X] = hc_check_vector(check, HC_FP16, 1);
    scale.in[HC_SCALE_S] = hc_check_vector(check, HC_FP32, 1);
    scale.out[HC_SCALE_OUT] = hc_check_vector(check, HC_FP16, 1);
    hc_tensor_set(&scale.in[HC_SCALE_X], 0, x);
    hc_tensor_set(&scale.in[HC_SCALE_S], 0, by);
    if (hc_claim_call_met(check, &scale) != HC_OK)
        return;
    hc_claim_bits(check, "scaled", HC_FP16, want, hc_tensor_bits(&scale.out[HC_SCALE_OUT], 0));
}

static void lifted(struct hc_check *check)
{
    scaled(check, 0x1p-24, 0x1p16, 0x1c00); /* 2^-8 */
}

static void back(struct hc_check *check)
{
    scaled(check, 0x1p-8, 0x1p-16, 0x0001); /* 2^-24 */
}

static const struct hc_case cases[] = {
    {.name = "mine/lifted",
     .title = "A loss scale of 2^16 lifts fp16's smallest number to 2^-8.",
     .source = "IEEE 754-2019, binary16",
     .level = HC_QUICK,
     .run = lifted},
    {.name = "mine/back",
     .title = "Unscaled, it is fp16's smallest number again.",
     .source = "IEEE 754-2019, binary16",
     .level = HC_QUICK,
     .run = back},
};

HC_PLUGIN_CASES(cases);
