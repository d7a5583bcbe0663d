/* Batch norm's parameters and signs: through half and back, and through leaky ReLU. */
#include <math.h>

#include "case.h"
#include "cases/fixture/batchnorm.h"
#include "cases/fixture/scalar.h"

/* Batch norm's parameters and statistics through half() and float(). */

/* Sends the fp32 values of a parameter through fp16 and back. */
static bool round_trip(struct hc_check *check, const struct hc_tensor *values,
                       const struct hc_tensor *back)
{
    struct hc_device device = hc_case_device(check);
    struct hc_parameter parameter;
    enum hc_status status =
        hc_parameter_open(&parameter, &device, "variance", HC_ROLE_STATISTIC, values);
    if (status == HC_OK) {
        status = hc_storage_write(parameter.storage, values->data);
        if (status == HC_OK)
            status = hc_parameter_to(&parameter, HC_FP16);
        if (status == HC_OK)
            status = hc_parameter_to(&parameter, HC_FP32);
        if (status == HC_OK)
            status = hc_storage_read(parameter.storage, back->data);
        hc_parameter_close(&parameter);
    }
    hc_device_end(&device);
    return hc_check_ok(check, status);
}

/* The numbers of the claim, rounded once by MPFR; and 4096 values over the whole normal range,
   which half moves by at most 2^-11 of themselves. */
static void values(struct hc_check *check)
{
    static const struct {
        const char *decimal;
        double claimed;
    } rows[] = {
        {"70000", (double)INFINITY}, {"65519", 65504}, {"1e-8", 0}, {"1234.567", 1235}, {"1", 1}};
    enum { ROWS = sizeof rows / sizeof rows[0], COUNT = 4096 };
    struct hc_tensor in = hc_check_vector(check, HC_FP32, COUNT);
    struct hc_tensor out = hc_check_vector(check, HC_FP32, COUNT);
    struct hc_comparisons tally = {0};
    double worst = 0;
    for (int i = 0; i < COUNT; i++) {
        double uniform = hc_random_uniform(hc_check_seed(check), 11, (uint64_t)i);
        hc_tensor_set(&in, i,
                      i < ROWS ? hc_decimal(HC_FP32, rows[i].decimal) : exp2(-14 + 29 * uniform));
    }
    if (!round_trip(check, &in, &out))
        return;
    for (int i = 0; i < COUNT; i++) {
        double x = hc_tensor_get(&in, i);
        double got = hc_tensor_get(&out, i);
        hc_running_tally_note(&tally, i, hc_round(HC_FP16, x), got);
        if (i >= ROWS)
            worst = fmax(worst, fabs(got - x) / x);
    }
    for (int i = 0; i < ROWS; i++) {
        hc_claim_value(check, rows[i].decimal, hc_decimal(HC_FP16, rows[i].decimal),
                       hc_tensor_get(&out, i));
        hc_claim_value(check, "as claimed", rows[i].claimed, hc_tensor_get(&out, i));
    }
    hc_claim_comparisons(check, &tally);
    hc_claim_within(check, "largest relative error", 0, worst, ldexp(1, -11));
    if (worst < ldexp(1, -12))
        hc_mistrust(check, "no value came near the bound");
}

/* Buggy arm: a running variance of 70000 becomes infinite, and the layer gives beta whatever comes
   in. Fixed arm: without the round trip, to 8 roundings of fp32 (eps, its sum, root, reciprocal,
   difference, two products, sum). */
static void infinite_variance(struct hc_check *check)
{
    struct hc_batchnorm norm = hc_batchnorm_new(check, HC_FP32, HC_FP32, 2, 1);
    const double beta = 0.25;
    hc_tensor_set(&norm.beta, 0, beta);
    hc_tensor_set(&norm.var, 0, 70000);
    hc_tensor_set(&norm.x, 0, 300);
    hc_tensor_set(&norm.x, 1, -300);
    if (hc_batchnorm_infer(&norm) != HC_OK)
        return;
    struct hc_real *x = hc_real_new(70000 + norm.params.eps);
    struct hc_real *y = hc_real_new(300);
    hc_real_sqrt(x, x);
    hc_real_div(x, y, x);
    double want = hc_real_double(x);
    hc_real_free(x);
    hc_real_free(y);
    for (int i = 0; i < 2; i++)
        hc_claim_within(check, "variance 70000: y", beta + (i ? -want : want),
                        hc_tensor_get(&norm.y, i), ldexp(8 * (want + beta), -24));
    if (!round_trip(check, &norm.var, &norm.var) || hc_batchnorm_infer(&norm) != HC_OK)
        return;
    hc_say(check, "after half() and float() the variance is %g", hc_tensor_get(&norm.var, 0));
    for (int i = 0; i < 2; i++)
        hc_claim_value(check, "variance inf: y is beta", beta, hc_tensor_get(&norm.y, i));
}

/* Batch norm and leaky ReLU in one op: the rounding between the two must remain, and the backward
   pass must take the sign from the output. */

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
    enum { ROWS_LEAKY = 6 };
    const struct hc_tensor pixels = hc_tensor4(HC_FP16, 1, 1, 1, ROWS_LEAKY, NULL);
    struct hc_call call = {.op = HC_OP_bn_leaky_bwd, .params.bn = {.slope = 0.25}};
    for (int i = HC_BN_LEAKY_BWD_X; i <= HC_BN_LEAKY_BWD_DY; i++)
        call.in[i] = hc_check_tensor(check, pixels);
    for (int i = HC_BN_LEAKY_BWD_GAMMA; i <= HC_BN_LEAKY_BWD_INVSTD; i++)
        call.in[i] = hc_check_vector(check, HC_FP32, ROWS_LEAKY);
    call.out[HC_BN_BWD_DX] = hc_check_tensor(check, pixels);
    call.out[HC_BN_BWD_DGAMMA] = hc_check_vector(check, HC_FP32, ROWS_LEAKY);
    call.out[HC_BN_BWD_DBETA] = hc_check_vector(check, HC_FP32, ROWS_LEAKY);
    for (int i = 0; i < ROWS_LEAKY; i++) {
        hc_tensor_set(&call.in[HC_BN_LEAKY_BWD_X], i, y[i] > 0 ? -3 : 3);
        hc_tensor_set(&call.in[HC_BN_LEAKY_BWD_Y], i, y[i]);
        hc_tensor_set(&call.in[HC_BN_LEAKY_BWD_DY], i, 1);
        hc_tensor_set(&call.in[HC_BN_LEAKY_BWD_GAMMA], i, 1);
        hc_tensor_set(&call.in[HC_BN_LEAKY_BWD_INVSTD], i, 1);
    }
    if (hc_do(check, &call) != HC_OK)
        return;
    for (int i = 0; i < ROWS_LEAKY; i++)
        hc_claim_value(check, "dbeta", y[i] > 0 ? 1 : 0.25,
                       hc_tensor_get(&call.out[HC_BN_BWD_DBETA], i));
    (void)hc_claim_call(check, &call);
}

static const struct hc_case cases[] = {
    {"batchnorm/half-and-back",
     "half() then float() of batch norm: 70000 is inf, 1e-8 is 0, 1234.567 is 1235, otherwise "
     "2^-11 at most",
     "fast.ai forums, 'I think to_fp16 behaves in a weird way internally': 'seems unlikely to "
     "matter, if your BN stats are so sensitive that the fp32->fp16->fp32 reduces performance'",
     .run = values},
    {"batchnorm/infinite-variance-gives-beta",
     "a running variance of 70000 that went through half() is inf: the layer's output is beta, "
     "whatever comes in",
     "fast.ai forums, 'I think to_fp16 behaves in a weird way internally'; coreai-torch PR 54, "
     "'Compute fp16 batch norm in fp32 instead of downcasting the params'",
     .run = infinite_variance},
    {"batchnorm/leaky-rounds-in-between",
     "batch norm and leaky ReLU in one op give what the two ops give: z is rounded into the "
     "output's format before the slope",
     "contract in src/op/norm.h", .level = HC_QUICK, .run = rounding},
    {"batchnorm/leaky-gradient-by-the-sign-of-y",
     "the gradient takes the slope where the output is not above zero, whatever x is",
     "contract in src/op/norm.h", .level = HC_QUICK, .run = sign_of_y},
};

HC_CASES(batchnorm_parameters, cases);
