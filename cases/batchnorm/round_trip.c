/* Batch norm's parameters and statistics through half() and float(). */
#include "cases/fixture/batchnorm.h"
#include "cases/fixture/running_tally.h"
#include "cases/fixture/scalar.h"

#include <math.h>

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

static const struct hc_case cases[] = {
    {.name = "batchnorm/half-and-back",
     .title = "half() then float() of batch norm: 70000 is inf, 1e-8 is 0, 1234.567 is 1235, "
              "otherwise 2^-11 at most",
     .source =
         "fast.ai forums, 'I think to_fp16 behaves in a weird way internally': 'seems unlikely to "
         "matter, if your BN stats are so sensitive that the fp32->fp16->fp32 reduces performance'",
     .run = values},
    {.name = "batchnorm/infinite-variance-gives-beta",
     .title = "a running variance of 70000 that went through half() is inf: the layer's output is "
              "beta, whatever comes in",
     .source = "fast.ai forums, 'I think to_fp16 behaves in a weird way internally'; coreai-torch "
               "PR 54, 'Compute fp16 batch norm in fp32 instead of downcasting the params'",
     .run = infinite_variance},
};

HC_CASES(batchnorm_round_trip, cases);
