/* The table of rules, and what each does. Where a source leaves something open, the choice is the
   one that lets the rule look better: it stands in `applied`, which the page prints. All arithmetic
   here is fp64's. The numbers that are compared are those of fp32 or narrower formats in all but a
   few reports, so that its roundings are far below each threshold. */
#include "cli/catches/rules.h"

#include <math.h>

double hc_expected(enum hc_format format, double real, bool kept)
{
    if (format == HC_FORMAT_COUNT)
        return real;
    double rounded = hc_round(format, real);
    return kept && (!isfinite(rounded) || rounded == 0) ? real : rounded;
}

bool hc_is_close(double got, double want, double rtol, double atol)
{
    return got == want ||
           (isfinite(got) && isfinite(want) && fabs(got - want) <= atol + rtol * fabs(want));
}

/* The relative and absolute tolerance of each format. */
struct tolerance {
    double rtol;
    double atol;
};

static const struct tolerance torch_tolerance[HC_FORMAT_COUNT] = {
    [HC_FP64] = {1e-7, 1e-7},   [HC_FP32] = {1.3e-6, 1e-5}, [HC_TF32] = {1.3e-6, 1e-5},
    [HC_BF16] = {1.6e-2, 1e-5}, [HC_FP16] = {1e-3, 1e-5},   [HC_E4M3] = {0, 0},
    [HC_E5M2] = {0, 0},         [HC_E4M3FNUZ] = {0, 0},     [HC_E5M2FNUZ] = {0, 0},
    [HC_E2M3] = {0, 0},         [HC_E3M2] = {0, 0},         [HC_E2M1] = {0, 0},
    [HC_E8M0] = {0, 0},         [HC_UE4M3] = {0, 0},        [HC_I32] = {0, 0},
    [HC_U8] = {0, 0},
};

static enum hc_judgement judge_torch(const struct hc_judged_arm *arm)
{
    for (int i = 0; i < arm->count; i++) {
        const struct hc_judged_value *v = &arm->value[i];
        bool whole =
            v->format == HC_FORMAT_COUNT && v->got == floor(v->got) && v->want == floor(v->want);
        enum hc_format format = whole ? HC_I32 : v->format == HC_FORMAT_COUNT ? HC_FP64 : v->format;
        struct tolerance t = torch_tolerance[format];
        if (!hc_is_close(v->got, v->want, t.rtol, t.atol))
            return HC_REFUSED;
    }
    return HC_ACCEPTED;
}

static enum hc_judgement judge_close(const struct hc_judged_arm *arm, double rtol, double atol)
{
    for (int i = 0; i < arm->count; i++)
        if (!hc_is_close(arm->value[i].got, arm->value[i].want, rtol, atol))
            return HC_REFUSED;
    return HC_ACCEPTED;
}

static enum hc_judgement judge_numpy(const struct hc_judged_arm *arm)
{
    return judge_close(arm, 1e-5, 1e-8);
}

static enum hc_judgement judge_relative(const struct hc_judged_arm *arm)
{
    return judge_close(arm, 1e-3, 0);
}

/* 0 for the same infinity, NaN if either is NaN. */
static double distance(double x, double real)
{
    return x == real ? 0 : fabs(x - real);
}

static enum hc_judgement judge_flash(const struct hc_judged_arm *arm)
{
    if (!arm->has_half)
        return HC_NOT_APPLIED;
    for (int i = 0; i < arm->count; i++) {
        const struct hc_judged_value *v = &arm->value[i];
        if (!(distance(v->got, v->real) <= 2 * distance(v->half, v->real)))
            return HC_REFUSED;
    }
    return HC_ACCEPTED;
}

static double larger(double most, double x)
{
    return fabs(x) > most ? fabs(x) : most;
}

/* Both sides are divided by their largest element first, so that no square leaves fp64. */
double hc_cosine(const struct hc_judged_arm *arm)
{
    double got = 0;
    double want = 0;
    double got_got = 0;
    double want_want = 0;
    double got_want = 0;
    for (int i = 0; i < arm->count; i++) {
        const struct hc_judged_value *v = &arm->value[i];
        bool finite = isfinite(v->got) && isfinite(v->want);
        if (!finite && v->got != v->want)
            return (double)NAN;
        got = finite ? larger(got, v->got) : got;
        want = finite ? larger(want, v->want) : want;
    }
    if (got == 0 || want == 0)
        return got == want;
    for (int i = 0; i < arm->count; i++) {
        const struct hc_judged_value *v = &arm->value[i];
        double x = isfinite(v->got) ? v->got / got : 0;
        double y = isfinite(v->got) ? v->want / want : 0;
        got_got += x * x;
        want_want += y * y;
        got_want += x * y;
    }
    return got_want / sqrt(got_got * want_want);
}

static enum hc_judgement judge_cosine(const struct hc_judged_arm *arm)
{
    return hc_cosine(arm) > 0.99 ? HC_ACCEPTED : HC_REFUSED;
}

static enum hc_judgement judge_msprobe(const struct hc_judged_arm *arm)
{
    double cosine = hc_cosine(arm);
    double most = 0;
    if (isnan(cosine))
        return HC_REFUSED;
    for (int i = 0; i < arm->count; i++)
        most = larger(most, distance(arm->value[i].got, arm->value[i].want));
    return (cosine < 0.99 && most > 0.001) || cosine < 0.9 || most > 1 ? HC_REFUSED : HC_ACCEPTED;
}

/* The real number rounded once to its own format is no bug. */
static bool is_rounded_once(const struct hc_judged_value *v)
{
    return v->format != HC_FORMAT_COUNT && v->got == hc_round(v->format, v->real);
}

static enum hc_judgement judge_bound(const struct hc_judged_arm *arm)
{
    for (int i = 0; i < arm->count; i++) {
        const struct hc_judged_value *v = &arm->value[i];
        bool within = v->got == v->real || fabs(v->got - v->real) <= v->rad;
        if (!within && !(arm->control && is_rounded_once(v)))
            return HC_REFUSED;
    }
    return HC_ACCEPTED;
}

const struct hc_rule hc_rules[HC_CATCH_RULES] = {
    {.name = "torch",
     .what = "torch.testing.assert_close",
     .threshold = "by format: fp16 1e-3, bf16 1.6e-2, fp32 1.3e-6 and fp64 1e-7 of the expected "
                  "value, and 1e-5 absolute (fp64: 1e-7)",
     .source = "PyTorch's default tolerances, https://docs.pytorch.org/docs/stable/testing.html "
               "(torch/testing/_comparison.py, _DTYPE_PRECISIONS)",
     .applied = "Each value has the tolerances of its own format. Whole-number counts and fp8 must "
                "be equal, as must all types that PyTorch's table does not name. Other counts are "
                "fp64 numbers.",
     .judge = judge_torch},
    {.name = "numpy",
     .what = "numpy.allclose",
     .threshold = "1e-5 of the expected value and 1e-8 absolute",
     .source = "https://numpy.org/doc/stable/reference/generated/numpy.allclose.html",
     .applied = "The numbers are compared in fp64: numpy has no bf16, and in its fp16 the 1e-8 "
                "would be 0.",
     .judge = judge_numpy},
    {.name = "flash",
     .what = "FlashAttention's rule",
     .threshold = "error at most twice that of a half implementation",
     .source = "Dao-AILab/flash-attention, tests/test_flash_attn.py at 0251105a: assert (out - "
               "out_ref).abs().max().item() <= 2 * (out_pt - out_ref).abs().max().item(), "
               "https://github.com/Dao-AILab/flash-attention",
     .applied =
         "Errors are distances from the real number, value by value, since the values of a "
         "bug are of different kinds. The half implementation is the fixed arm's formula "
         "with every operation, and every cast to 16 bits or more, rounded to the report's "
         "16-bit format, the first that the buggy arm names. If there is no formula (a play) "
         "or no such format, the rule is not applied. As in the test, everything is refused "
         "if the half implementation is NaN, and everything but NaN is accepted if it is "
         "infinite.",
     .judge = judge_flash},
    {.name = "1e-3",
     .what = "1e-3 relative",
     .threshold = "1e-3 of the expected value",
     .source =
         "a habit, such as rtol=1e-3 for the cache in the same file of FlashAttention, or the "
         "share of errors below one thousandth that msProbe prints",
     .applied = "There is no absolute tolerance: if 0 is expected, only 0 is right.",
     .judge = judge_relative},
    {.name = "cos",
     .what = "cosine above 0.99",
     .threshold = "cosine of the angle between all shown values and the expected ones",
     .source = "thresholds of tools that compare precision: NVIDIA Polygraphy 0.997 "
               "(CompareFunc.distance_metrics, tools/Polygraphy in "
               "https://github.com/NVIDIA/TensorRT), Sophgo TPU-MLIR 0.99 (bmodel_checker.py, "
               "https://github.com/sophgo/tpu-mlir), Ascend Model Accuracy Analyzer 0.99 "
               "<https://www.hiascend.com/document/detail/en/canncommercial/800/devaids/"
               "modelaccuracy/atlasaccuracy_16_0044.html>",
     .applied = "The cosine of a single number is its sign: whatever is not 0 and has the right "
                "sign is accepted. The tools mean whole tensors, and msProbe computes no cosine "
                "of a single number. If all values of only one side are 0, the rule refuses. An "
                "infinity on both sides is left out, as msProbe does; an infinity on one side is "
                "refused.",
     .judge = judge_cosine},
    {.name = "probe",
     .what = "Ascend msProbe, 'Accuracy Reached or Not'",
     .threshold = "refused if the cosine is below 0.9, or the largest error above 1, or the cosine "
                  "below 0.99 and the largest error above 0.001",
     .source =
         "documentation of CANN 7.0, "
         "<https://www.hiascend.com/doc_center/source/zh/canncommercial/700/modeldevpt/ptmigr/"
         "AImpug_000197.html>; the constants stand in python/msprobe/core/common/const.py of "
         "https://github.com/Ascend/msprobe",
     .applied = "Cosine and largest absolute error are those of all shown values; the cosine is "
                "that of the rule above.",
     .judge = judge_msprobe},
    {.name = "bound",
     .what = "halfcheck's bound",
     .threshold = "the fixed arm's running bound around the real number",
     .source = "src/formula/radius.h; for a play, the bound that the play derives",
     .applied = "A negative control may also be the real number rounded once to its own format.",
     .judge = judge_bound},
};
