/* Batch norm and leaky ReLU in one op: the rounding between the two must remain, and the backward
   pass must take the sign from the output. */
#include <math.h>

#include "case.h"
#include "cases/fixture/batchnorm.h"

enum { CODES = 65536 };

static const double slope = 0.1;

/* An inference call in which z = x * gain is exact in fp32 however a backend folds the coefficients
   (variance and eps add up to 1, the gain has few bits), and lies half an ulp beside a number of
   the 16-bit format for every second x. */
static struct hc_call inference(struct hc_check *check, enum hc_format format)
{
    struct hc_batchnorm norm = hc_batchnorm_new(check, format, HC_FP32, CODES, 1);
    norm.params = (struct hc_bn){.eps = 0x1p-10, .slope = slope};
    hc_tensor_set(&norm.var, 0, 1 - 0x1p-10);
    hc_tensor_set(&norm.gamma, 0, 1 + ldexp(1, -hc_formats[format].precision));
    for (int i = 0; i < CODES; i++)
        hc_tensor_set_bits(&norm.x, i, (uint64_t)i);
    struct hc_call call = hc_batchnorm_inference(&norm);
    call.op = HC_OP_bn_leaky_infer;
    return call;
}

static double through(enum hc_format format, double x)
{
    return hc_round(format, hc_round(HC_FP32, x));
}

/* Runs every code of the format. For `telling` of them the result would differ without the
   rounding. */
static void rounds_between(struct hc_check *check, enum hc_format format)
{
    struct hc_comparisons c = {.what = "codes", .checked = CODES};
    int telling = 0;
    struct hc_call call = inference(check, format);
    double gain = hc_tensor_get(&call.in[HC_BN_GAMMA], 0);
    double by = (double)(float)slope;
    if (hc_do(check, &call) != HC_OK)
        return;
    for (int i = 0; i < CODES; i++) {
        double exact = hc_tensor_get(&call.in[HC_BN_X], i) * gain;
        double z = through(format, exact);
        double want = z > 0 ? z : through(format, by * z);
        double skipped = exact > 0 ? z : through(format, by * exact);
        double got = hc_tensor_get(&call.out[HC_BN_Y], i);
        bool same = want == got || (isnan(want) && isnan(got));
        telling += want != skipped && !isnan(want);
        if (!same)
            hc_comparisons_wrong(&c, "z = %a: want %a, got %a", z, want, got);
    }
    hc_claim_comparisons(check, &c);
    hc_claim_true(check, "some codes tell the two apart", telling > CODES / 32);
    hc_say(check, "%s: %d codes, %d would be others if z were not rounded; %d differ",
           hc_formats[format].name, CODES, telling, (int)c.wrong);
}

static void rounding(struct hc_check *check)
{
    rounds_between(check, HC_FP16);
    rounds_between(check, HC_BF16);
}

/* dbeta is the sum of dz, which is 1 where y is above zero and the slope where it is not (0 and -0
   included). x has the opposite sign everywhere. */
static void sign_of_y(struct hc_check *check)
{
    static const double y[] = {1, 0x1p-24, 0.0, -0.0, -0x1p-24, -1};
    enum { ROWS = 6 };
    const struct hc_tensor pixels = hc_tensor4(HC_FP16, 1, 1, 1, ROWS, NULL);
    struct hc_call call = {.op = HC_OP_bn_leaky_bwd, .params.bn = {.slope = 0.25}};
    for (int i = HC_BN_LEAKY_BWD_X; i <= HC_BN_LEAKY_BWD_DY; i++)
        call.in[i] = hc_check_tensor(check, pixels);
    for (int i = HC_BN_LEAKY_BWD_GAMMA; i <= HC_BN_LEAKY_BWD_INVSTD; i++)
        call.in[i] = hc_check_vector(check, HC_FP32, ROWS);
    call.out[HC_BN_BWD_DX] = hc_check_tensor(check, pixels);
    call.out[HC_BN_BWD_DGAMMA] = hc_check_vector(check, HC_FP32, ROWS);
    call.out[HC_BN_BWD_DBETA] = hc_check_vector(check, HC_FP32, ROWS);
    for (int i = 0; i < ROWS; i++) {
        hc_tensor_set(&call.in[HC_BN_LEAKY_BWD_X], i, y[i] > 0 ? -3 : 3);
        hc_tensor_set(&call.in[HC_BN_LEAKY_BWD_Y], i, y[i]);
        hc_tensor_set(&call.in[HC_BN_LEAKY_BWD_DY], i, 1);
        hc_tensor_set(&call.in[HC_BN_LEAKY_BWD_GAMMA], i, 1);
        hc_tensor_set(&call.in[HC_BN_LEAKY_BWD_INVSTD], i, 1);
    }
    if (hc_do(check, &call) != HC_OK)
        return;
    for (int i = 0; i < ROWS; i++)
        hc_claim_value(check, "dbeta", y[i] > 0 ? 1 : 0.25,
                       hc_tensor_get(&call.out[HC_BN_BWD_DBETA], i));
    (void)hc_claim_call(check, &call);
}

static const struct hc_case cases[] = {
    {.name = "batchnorm/leaky-rounds-in-between",
     .title =
         "batch norm and leaky ReLU in one op give what the two ops give: z is rounded into the "
         "output's format before the slope",
     .source = "contract in src/op/norm.h",
     .level = HC_QUICK,
     .run = rounding},
    {.name = "batchnorm/leaky-gradient-by-the-sign-of-y",
     .title = "the gradient takes the slope where the output is not above zero, whatever x is",
     .source = "contract in src/op/norm.h",
     .level = HC_QUICK,
     .run = sign_of_y},
};

HC_CASES(batchnorm_leaky, cases);
