/* The epsilons of batch norm, layer norm and normalize. */
#include "cases/fixture/batchnorm.h"
#include "cases/fixture/scalar.h"

#include <math.h>

/* A row of zeros through (x - mean) / sqrt(var + eps), one operation after the other. */
static double layer_norm_of_zero(struct hc_scalar *scalar, const char *eps)
{
    double var = 0;
    double sum = hc_scalar_add(scalar, var, hc_decimal(scalar->format, eps));
    double inverse = hc_scalar_div(scalar, 1, hc_scalar_sqrt(scalar, sum));
    hc_say(scalar->check, "%s: var + eps = %.6g, 1/sqrt = %.6g, (0 - 0) * that = %.6g",
           hc_formats[scalar->format].name, sum, inverse, hc_scalar_mul(scalar, 0, inverse));
    return hc_scalar_mul(scalar, 0, inverse);
}

static void layer_norm(struct hc_check *check)
{
    struct hc_scalar half = {.check = check, .format = HC_FP16};
    struct hc_scalar single = {.check = check, .format = HC_FP32};
    double in_half = layer_norm_of_zero(&half, "1e-12");
    double in_single = layer_norm_of_zero(&single, "1e-12");
    if (half.failed || single.failed)
        return;
    hc_claim_true(check, "half: a row of zeros gives NaN", isnan(in_half));
    hc_claim_value(check, "fp32: a row of zeros", 0, in_single);
}

/* x / max(|x|, eps) for a row of zeros. The maximum of two numbers is exact. */
static double normalize_zero(struct hc_scalar *scalar, const char *eps)
{
    double norm = hc_scalar_sqrt(scalar, hc_scalar_mul(scalar, 0, 0));
    double bound = fmax(norm, hc_decimal(scalar->format, eps));
    double y = hc_scalar_div(scalar, 0, bound);
    hc_say(scalar->check, "%s, eps %s: |x| = %g, max(|x|, eps) = %.6g, x / that = %.6g",
           hc_formats[scalar->format].name, eps, norm, bound, y);
    return y;
}

static void normalize(struct hc_check *check)
{
    struct hc_scalar half = {.check = check, .format = HC_FP16};
    struct hc_scalar single = {.check = check, .format = HC_FP32};
    double buggy = normalize_zero(&half, "1e-12");
    double larger = normalize_zero(&half, "6.103515625e-5");
    double fixed = normalize_zero(&single, "1e-12");
    if (half.failed || single.failed)
        return;
    hc_claim_true(check, "half, eps 1e-12: NaN", isnan(buggy));
    hc_claim_value(check, "half, eps 2^-14", 0, larger);
    hc_claim_value(check, "fp32, eps 1e-12", 0, fixed);
}

/* A constant channel: var = 0, so 1/sqrt(var + eps) depends on eps alone. In fp32 eps and the sum
   are rounded, then root and quotient: at most 0.5 + 0.5 + 1 + 1 = 3 u of it. y = beta, since a
   mean of 8 equal halves is exact and x - mean is 0. In half the eps of 1.00136e-5 survives. */
static void batch_norm(struct hc_check *check)
{
    struct hc_batchnorm norm = hc_batchnorm_new(check, HC_FP16, HC_FP32, 8, 1);
    struct hc_scalar half = {.check = check, .format = HC_FP16};
    struct hc_scalar definition = {.format = HC_FP16};
    for (int i = 0; i < 8; i++)
        hc_tensor_set(&norm.x, i, 0.375);
    hc_tensor_set(&norm.beta, 0, 0.25);
    double eps = hc_decimal(HC_FP16, "1e-5");
    double want_half = hc_scalar_div(&definition, 1, hc_scalar_sqrt(&definition, eps));
    double got_half = hc_scalar_div(&half, 1, hc_scalar_sqrt(&half, hc_scalar_add(&half, 0, eps)));
    if (hc_batchnorm_train(&norm) != HC_OK || half.failed)
        return;
    struct hc_real *x = hc_real_new(0);
    struct hc_real *one = hc_real_new(1);
    hc_real_set_text(x, "1e-5");
    hc_real_sqrt(x, x);
    hc_real_div(x, one, x);
    double want = hc_real_double(x);
    hc_real_free(x);
    hc_real_free(one);
    hc_claim_within(check, "fp32: 1/sqrt(0 + 1e-5)", want, hc_tensor_get(&norm.saved_invstd, 0),
                    ldexp(3 * want, -24));
    for (int i = 0; i < 8; i++)
        hc_claim_value(check, "a constant channel gives beta", 0.25, hc_tensor_get(&norm.y, i));
    hc_claim_value(check, "half: 1/sqrt(0 + 1e-5)", want_half, got_half);
    hc_claim_within(check, "half against the real value", want, got_half,
                    want * (ldexp(1, -26) / 1e-5 + ldexp(1, -10)));
}

static const struct hc_case cases[] = {
    {.name = "eps/batch-norm-1e-5",
     .title = "batch norm's eps 1e-5 survives half: a constant channel stays finite and gives beta",
     .source = "PyTorch's default for BatchNorm; PyTorch forums 11815, 'Training with Half "
               "Precision': 'make sure that the BatchNormalization layers use float32'",
     .run = batch_norm},
    {.name = "eps/layer-norm-1e-12",
     .title = "layer norm's eps 1e-12 is 0 in half: a row of zeros gives NaN; in fp32 zeros",
     .source = "DeepSpeed issue 581, 'Possible bug with layernorm kernel'; fast.ai forums, 'I "
               "think to_fp16 behaves in a weird way internally' on norms that are left in half",
     .run = layer_norm},
    {.name = "eps/normalize-1e-12",
     .title = "normalize's eps 1e-12 is 0 in half: 0/0 = NaN; with 2^-14, or in fp32, zeros",
     .source = "PyTorch issue 32137, 'torch.nn.functional.normalize epsilon too small for half "
               "precision'",
     .run = normalize},
};

HC_CASES(eps_norms, cases);
