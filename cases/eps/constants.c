/* The epsilons that people write: as numbers, in norms and in recipes. */
#include <math.h>

#include "cases/fixture/batchnorm.h"
#include "cases/fixture/scalar.h"
#include "cases/fixture/training/update_fixture.h"

/* What half precision makes of the epsilons that people write. */

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

/* The epsilons of batch norm, layer norm and normalize. */

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

/* The same epsilons in the trainer's recipes: half throughout against half with fp32 masters. */

/* Three weights of 0.5 with the gradients 0, 1e-5 and 5e-3, one step of lr 1e-3 without decay. */
static bool step(struct hc_check *check, const char *name, double w[3])
{
    static const double g[3] = {0, 1e-5, 5e-3};
    struct hc_recipe recipe = *hc_recipe_by_name(name);
    struct hc_fixture fixture;
    recipe.weight_decay = 0;
    hc_fixture_open_weights(&fixture, check, &recipe, 3, 0.5);
    for (int i = 0; i < 3; i++)
        hc_fixture_gradient(&fixture, 0, i, g[i]);
    hc_fixture_step(&fixture, 1e-3, 0.9);
    for (int i = 0; i < 3; i++)
        w[i] = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, i);
    hc_say(check, "%-16s eps %.0e: g = 0, 1e-5, 5e-3 make w = %.7g, %.7g, %.7g", name, recipe.eps,
           w[0], w[1], w[2]);
    return hc_fixture_close(&fixture);
}

/* The right step is lr for every gradient far above eps, up to a relative eps / g (1e-3 for g =
   1e-5), and 0 for 0. The ulp of half at 0.5 is 2^-11. */
static void recipes(struct hc_check *check)
{
    static const char *const masters[] = {"fp32", "fastai-004b-flat", "amp", "amp-bf16"};
    double w[3];
    if (!step(check, "fp16-pure", w))
        return;
    hc_claim_true(check, "fp16-pure: g = 0 gives NaN", isnan(w[0]));
    hc_claim_value(check, "fp16-pure: g = 1e-5", (double)-INFINITY, w[1]);
    if (!step(check, "adamw16", w))
        return;
    hc_claim_value(check, "adamw16: g = 0", 0.5, w[0]);
    hc_claim_value(check, "adamw16: g = 1e-5 moves nothing", 0.5, w[1]);
    for (size_t i = 0; i < sizeof masters / sizeof masters[0]; i++) {
        if (!step(check, masters[i], w))
            return;
        hc_claim_value(check, "masters: g = 0 moves nothing", 0.5, w[0]);
        for (int k = 1; k < 3; k++)
            hc_claim_within(check, "masters: one step of lr", 0.5 - 1e-3, w[k],
                            1e-3 * 1e-3 + ldexp(1, -24));
    }
}

static const struct hc_case cases[] = {
    {"eps/1e-8-is-zero-in-half", "Adam's default eps 1e-8 is 0 in half", blog, .run = in_half,
     .data = &rows[0]},
    {"eps/1e-7-grows-in-half", "eps 1e-7 becomes 1.1921e-7 in half, 19.2 % more", blog,
     .run = in_half, .data = &rows[1]},
    {"eps/1e-5-in-half", "batch norm's eps 1e-5 becomes 1.00136e-5 in half",
     "PyTorch's default for BatchNorm; kept as it is by fastai/fastai_old @c8285fbc "
     "dev_nb/004b_mixed_precision.ipynb",
     .run = in_half, .data = &rows[2]},
    {"eps/1e-4-in-half", "eps 1e-4, the usual cure, becomes 1.00017e-4 in half",
     "vxlabs.com 2019, 'Improving fastai's mixed precision support with NVIDIA's Automatic Mixed "
     "Precision': AdamW16 with eps=1e-4",
     .run = in_half, .data = &rows[3]},
    {"eps/zero-up-to-2-to-minus-25",
     "everything up to 2^-25 is 0 in half, the next number above is 2^-24",
     "IEEE 754, ties to even; PyTorch forums 1765, 'Adam+Half Precision = NaNs?'",
     .run = zero_up_to},
    {"eps/batch-norm-1e-5",
     "batch norm's eps 1e-5 survives half: a constant channel stays finite and gives beta",
     "PyTorch's default for BatchNorm; PyTorch forums 11815, 'Training with Half Precision': 'make "
     "sure that the BatchNormalization layers use float32'",
     .run = batch_norm},
    {"eps/layer-norm-1e-12",
     "layer norm's eps 1e-12 is 0 in half: a row of zeros gives NaN; in fp32 zeros",
     "DeepSpeed issue 581, 'Possible bug with layernorm kernel'; fast.ai forums, 'I think to_fp16 "
     "behaves in a weird way internally' on norms that are left in half",
     .run = layer_norm},
    {"eps/normalize-1e-12",
     "normalize's eps 1e-12 is 0 in half: 0/0 = NaN; with 2^-14, or in fp32, zeros",
     "PyTorch issue 32137, 'torch.nn.functional.normalize epsilon too small for half precision'",
     .run = normalize},
    {"eps/recipes",
     "the trainer's recipes: half throughout gives NaN and -inf, eps 1e-4 loses small gradients, "
     "masters make the right step",
     "vxlabs.com 2019, 'Improving fastai's mixed precision support with NVIDIA's Automatic Mixed "
     "Precision'; PyTorch forums 1765, 'Adam+Half Precision = NaNs?'; PyTorch forums 11815, "
     "'Training with Half Precision': 'all parameters = NaN'",
     .run = recipes},
};

HC_CASES(eps_constants, cases);
