/* What half precision makes of the epsilons that people write. */
#include "cases/fixture/running_tally.h"
#include "cases/fixture/scalar.h"

#include <math.h>

struct constant {
    const char *decimal; /* as written */
    double printed;      /* what the source says half makes of it */
    double unit;         /* of its last printed digit */
};

static const struct constant rows[] = {
    {"1e-8", 0, 0},
    {"1e-7", 1.1921e-7, 1e-11},
    {"1e-5", 1.00136e-5, 1e-10},
    {"1e-4", 1.00017e-4, 1e-9},
};

/* The decimal rounded once by MPFR against the cast from fp64 and from fp32; and MPFR's value
   against the printed number, to half a unit of its last digit. */
static void in_half(struct hc_check *check)
{
    const struct constant *row = hc_check_case(check)->data;
    struct hc_scalar half = {.check = check, .format = HC_FP16};
    double want = hc_decimal(HC_FP16, row->decimal);
    double from64 = hc_scalar_cast(&half, HC_FP64, hc_decimal(HC_FP64, row->decimal));
    double from32 = hc_scalar_cast(&half, HC_FP32, hc_decimal(HC_FP32, row->decimal));
    if (half.failed)
        return;
    double true_value = hc_decimal(HC_FP64, row->decimal);
    hc_say(check, "eps = %s becomes %.10g in half: %+.2f %%", row->decimal, want,
           100 * (want / true_value - 1));
    hc_claim_value(check, "half(eps), eps in fp64", want, from64);
    hc_claim_value(check, "half(eps), eps in fp32", want, from32);
    hc_claim_within(check, "the number in the claim", row->printed, want, row->unit / 2);
}

/* |x| <= 2^-25 becomes a zero of x's sign, and nothing above does: at the boundary, and at random,
   uniform over the bits of all smaller fp32 numbers. */
static void zero_up_to(struct hc_check *check)
{
    enum { COUNT = 4096 };
    const uint32_t last = 0x33000000; /* 2^-25 */
    struct hc_call call = {.op = HC_OP_cast, .params.cast.direction = HC_NEAREST};
    call.in[HC_X] = hc_check_vector(check, HC_FP32, COUNT);
    call.out[HC_OUT] = hc_check_vector(check, HC_FP16, COUNT);
    for (int i = 0; i < COUNT; i++) {
        uint64_t random = hc_random(hc_check_seed(check), 0, (uint64_t)i);
        uint32_t magnitude = i < 8 ? last - 4 + (uint32_t)i : 1 + (uint32_t)(random % last);
        uint32_t sign = random >> 63 ? 0x80000000u : 0;
        hc_tensor_set_bits(&call.in[HC_X], i, magnitude | sign);
    }
    if (hc_do(check, &call) != HC_OK)
        return;
    struct hc_comparisons tally = {0};
    for (int i = 0; i < COUNT; i++) {
        double x = hc_tensor_get(&call.in[HC_X], i);
        double want = copysign(fabs(x) <= ldexp(1, -25) ? 0 : ldexp(1, -24), x);
        hc_running_tally_note(&tally, i, want, hc_tensor_get(&call.out[HC_OUT], i));
    }
    hc_say(check, "2^-25 = %.9g becomes 0, the next number %.9g %.5g", ldexp(1, -25),
           (double)hc_fp32_value(last + 1), ldexp(1, -24));
    hc_claim_comparisons(check, &tally);
}

static const char blog[] =
    "vxlabs.com 2019, 'Improving fastai's mixed precision support with NVIDIA's Automatic Mixed "
    "Precision': 'Under fp16 encoding, 1e-8 becomes 0', 'down to 1e-7 can still be handled'";

static const struct hc_case cases[] = {
    {.name = "eps/1e-8-is-zero-in-half",
     .title = "Adam's default eps 1e-8 is 0 in half",
     .source = blog,
     .run = in_half,
     .data = &rows[0]},
    {.name = "eps/1e-7-grows-in-half",
     .title = "eps 1e-7 becomes 1.1921e-7 in half, 19.2 % more",
     .source = blog,
     .run = in_half,
     .data = &rows[1]},
    {.name = "eps/1e-5-in-half",
     .title = "batch norm's eps 1e-5 becomes 1.00136e-5 in half",
     .source = "PyTorch's default for BatchNorm; kept as it is by fastai/fastai_old @c8285fbc "
               "dev_nb/004b_mixed_precision.ipynb",
     .run = in_half,
     .data = &rows[2]},
    {.name = "eps/1e-4-in-half",
     .title = "eps 1e-4, the usual cure, becomes 1.00017e-4 in half",
     .source = "vxlabs.com 2019, 'Improving fastai's mixed precision support with NVIDIA's "
               "Automatic Mixed Precision': AdamW16 with eps=1e-4",
     .run = in_half,
     .data = &rows[3]},
    {.name = "eps/zero-up-to-2-to-minus-25",
     .title = "everything up to 2^-25 is 0 in half, the next number above is 2^-24",
     .source = "IEEE 754, ties to even; PyTorch forums 1765, 'Adam+Half Precision = NaNs?'",
     .run = zero_up_to},
};

HC_CASES(eps_constants, cases);
