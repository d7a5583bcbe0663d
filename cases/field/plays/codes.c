/* Codes below half that are taken apart or divided. */
#include <math.h>

#include "cases/fixture/bug.h"
#include "cases/fixture/training/update_fixture.h"

/* Codes that are taken apart by hand.

   A code of e4m3 or e5m2 is a sign, an exponent and a fraction, and so it is tempting to shift
   these into the fields of a wider format and to correct the exponent. That is right for normal
   numbers. Subnormal numbers have no hidden bit; infinity and NaN have an exponent of their own,
   which becomes that of a number. A conversion into a code has a corner, too: a fraction of all
   ones that is rounded up is the next power of two, and the carry must reach the exponent. And a
   scale in e8m0 is an exponent alone: bits of a fraction that go with it end up in its neighbour.

   The rule of thumb: 256 codes are few; try them all. */

/* The backend's cast of one number. */
static double cast_of(struct hc_check *check, enum hc_format from, double x, enum hc_format to)
{
    struct hc_tensor in = hc_check_vector(check, from, 1);
    struct hc_tensor out = hc_check_vector(check, to, 1);
    struct hc_call call = {.op = HC_OP_cast, .in = {[HC_X] = in}, .out = {[HC_OUT] = out}};
    hc_tensor_set(&in, 0, x);
    return hc_do(check, &call) == HC_OK ? hc_tensor_get(&out, 0) : (double)NAN;
}

/* e5m2's fields, or those of e4m3 as AMD's code has them, with another bias: no special codes. */
static double shifted(uint32_t code, int fraction, int bias)
{
    int exponent = (int)(code >> fraction & (0x7fu >> fraction));
    double size = 1 + ldexp((double)(code & ((1u << fraction) - 1)), -fraction);
    return ldexp(code & 0x80u ? -size : size, exponent - bias);
}

static void loses_specials(struct hc_check *check, struct hc_exhibits *shown)
{
    double lost[2] = {0};
    double inf = cast_of(check, HC_E5M2, (double)INFINITY, HC_BF16);
    double nan = cast_of(check, HC_E4M3, (double)NAN, HC_BF16);
    for (uint32_t code = 0; code < 256; code++) {
        double x = hc_decode(HC_E5M2, code);
        lost[0] += !isfinite(x) && isfinite(shifted(code, 2, 15));
        lost[1] += !isfinite(x) && isfinite(cast_of(check, HC_E5M2, x, HC_BF16));
    }
    hc_exhibits_add(shown, "e5m2's 7c", HC_BF16, shifted(0x7c, 2, 15), inf, (double)INFINITY, 0);
    hc_exhibits_add(shown, "specials of e5m2 lost", HC_FORMAT_COUNT, lost[0], lost[1], 0, 0);
    hc_claim_value(check, "buggy: e4m3's NaN, 7f", 480, shifted(0x7f, 3, 7));
    hc_claim_true(check, "fixed: e4m3's NaN, 7f, stays one", isnan(nan) != 0);
}

/* Scales of NVFP4 blocks: the 126 positive codes of e4m3. */
static void decodes_scales(struct hc_check *check, struct hc_exhibits *shown)
{
    double wrong[2] = {0};
    double tiny = hc_decode(HC_E4M3, 1);
    double cast = cast_of(check, HC_E4M3, tiny, HC_FP32);
    for (uint32_t code = 1; code < 0x7f; code++) {
        double x = hc_decode(HC_E4M3, code);
        wrong[0] += shifted(code, 3, 7) != x;
        wrong[1] += cast_of(check, HC_E4M3, x, HC_FP32) != x;
    }
    hc_exhibits_add(shown, "scale 01", HC_FP32, shifted(1, 3, 7), cast, tiny, 0);
    hc_exhibits_add(shown, "wrong of 126 scales", HC_FORMAT_COUNT, wrong[0], wrong[1], 0, 0);
}

/* Into e4m3, a positive normal number: ties away from zero, and no carry into the exponent. */
static double without_carry(double x)
{
    double power = ldexp(1, ilogb(x));
    double eighths = floor((x / power - 1) * 8 + 0.5);
    return power * (1 + fmod(eighths, 8) / 8);
}

static void drops_the_carry(struct hc_check *check, struct hc_exhibits *shown)
{
    double wrong[2] = {0};
    double want = hc_round(HC_E4M3, 126.24);
    double got = cast_of(check, HC_FP32, 126.24, HC_E4M3);
    for (int i = 0; i < 1024; i++) {
        double x = 64 * (1 + i / 1024.0);
        wrong[0] += without_carry(x) != hc_round(HC_E4M3, x);
        wrong[1] += cast_of(check, HC_FP32, x, HC_E4M3) != hc_round(HC_E4M3, x);
    }
    hc_exhibits_add(shown, "126.24", HC_E4M3, without_carry(126.24), got, want, 0);
    hc_exhibits_add(shown, "wrong of 1024 in [64, 128)", HC_FORMAT_COUNT, wrong[0], wrong[1], 0, 0);
}

/* Four fp32 scales in one word, each by its exponent field. `up`: a scale that is no power of two
   becomes the next one first. */
static uint32_t packed(const float scale[4], bool up)
{
    uint32_t word = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t bits = hc_fp32_bits(scale[i]);
        if (up)
            bits = (bits + 0x7fffffu) & 0x7f800000u;
        word |= i < 3 ? bits >> (23 - 8 * i) : bits << 1;
    }
    return word;
}

static void leaks(struct hc_check *check, struct hc_exhibits *shown)
{
    static const float scale[4] = {0x1.8p-3F, 0x1.fep-1F, 0x1.fffp0F, 0x1.4p2F};
    double wrong[2] = {0};
    double first[2];
    (void)check;
    for (int up = 0; up < 2; up++) {
        uint32_t word = packed(scale, up);
        first[up] = hc_decode(HC_E8M0, word & 0xffu);
        for (int i = 0; i < 4; i++)
            wrong[up] +=
                (word >> (8 * i) & 0xffu) != hc_encode(HC_E8M0, (double)scale[i], 0, HC_UPWARD);
    }
    hc_exhibits_add(shown, "the scale of 0.1875", HC_E8M0, first[0], first[1], 0.25, 0);
    hc_exhibits_add(shown, "wrong bytes of 4", HC_FORMAT_COUNT, wrong[0], wrong[1], 0, 0);
}

/* The midpoints of a format that are rounded to another number than the even one: all by the
   backend's cast, and where they are pulled toward zero first. */
static void count_ties(struct hc_check *check, struct hc_exhibits *shown, const char *name,
                       enum hc_format format, uint32_t codes)
{
    double wrong[2] = {0};
    for (uint32_t code = 0; code + 1 < codes; code++) {
        double tie = (hc_decode(format, code) + hc_decode(format, code + 1)) / 2;
        double even = hc_decode(format, code + (code & 1));
        wrong[0] += cast_of(check, HC_FP32, tie * (1 - 0x1p-20), format) != even;
        wrong[1] += cast_of(check, HC_FP32, tie, format) != even;
    }
    hc_exhibits_add(shown, name, HC_FORMAT_COUNT, wrong[0], wrong[1], 0, 0);
}

static void rounds_ties_down(struct hc_check *check, struct hc_exhibits *shown)
{
    count_ties(check, shown, "wrong of 7 midpoints of e2m1", HC_E2M1, 8);
    count_ties(check, shown, "wrong of 31 midpoints of e2m3", HC_E2M3, 32);
}

/* ONNX Runtime's conversion without saturation: 480, which would have NaN's code, becomes 448. */
static double without_nans_code(struct hc_check *check, double x)
{
    return x >= 480 && x < 496 ? 448 : cast_of(check, HC_FP32, x, HC_E4M3);
}

static void ends_at_480(struct hc_check *check, struct hc_exhibits *shown)
{
    static const double beyond[] = {464.5, 470, 480, 496, 1000};
    double numbers[2] = {0};
    for (int i = 0; i < 5; i++) {
        numbers[0] += !isnan(without_nans_code(check, beyond[i]));
        numbers[1] += !isnan(cast_of(check, HC_FP32, beyond[i], HC_E4M3));
    }
    hc_exhibits_add(shown, "no NaN of 5 numbers above 464", HC_FORMAT_COUNT, numbers[0], numbers[1],
                    0, 0);
    hc_claim_value(check, "fixed: 464", 448, cast_of(check, HC_FP32, 464, HC_E4M3));
    hc_claim_value(check, "buggy: 480", 448, without_nans_code(check, 480));
}

/* A code without a zero, divided by epsilon.

   An optimizer that keeps its first moment in 8 bits stores, for a block of weights, the smallest
   and the largest element, and for each element which of 256 equal steps between them is nearest.
   If the block has elements of both signs, 0 is in general not one of the 256 numbers. So a weight
   whose gradient is always 0 gets a first moment of up to half a step. Its second moment, kept in
   fp32, is 0. Adam divides the one by the root of the other plus epsilon, 1e-8: the weight runs
   away, with steps that no gradient ever asked for.

   The rule of thumb: where v is 0, m is 0, too; or take a code that has a zero. Both arms run the
   trainer's own Adam; between its steps the first moments go through the code and back. */

enum { BLOCK = 64, STEPS = 500 };

static const double lr = 1e-3;

/* The elements of a block between their extremes in 255 steps, decoded into fp32. */
static void code(float m[BLOCK], const float v[BLOCK], bool zero_where_v_is)
{
    float low = m[0];
    float high = m[0];
    for (int i = 1; i < BLOCK; i++) {
        low = fminf(low, m[i]);
        high = fmaxf(high, m[i]);
    }
    float unit = (high - low) / 255;
    for (int i = 0; i < BLOCK && unit > 0; i++) {
        m[i] = low + unit * rintf((m[i] - low) / unit);
        if (zero_where_v_is && v[i] == 0)
            m[i] = 0;
    }
}

/* Element 0 never has a gradient. The others have normal numbers times 1e-4. */
static bool train(struct hc_check *check, bool fixed, double *still, double *residue)
{
    struct hc_fixture fixture;
    struct hc_recipe recipe = *hc_recipe_by_name("fp32");
    float m[BLOCK] = {0};
    float v[BLOCK] = {0};
    recipe.weight_decay = 0;
    recipe.beta2 = 0.999;
    hc_fixture_open_weights(&fixture, check, &recipe, BLOCK, 0);
    *residue = 0;
    for (int step = 0; step < STEPS && !fixture.failed; step++) {
        for (int64_t e = 1; e < BLOCK; e++)
            hc_fixture_set(&fixture, HC_STATE_GRADIENT, 0, e,
                           1e-4 * hc_random_normal(1, (uint64_t)step, (uint64_t)e));
        hc_fixture_step(&fixture, lr, 0.9);
        if (fixture.failed ||
            !hc_check_ok(check, hc_update_read(fixture.update, HC_STATE_M, 0, m)) ||
            !hc_check_ok(check, hc_update_read(fixture.update, HC_STATE_V, 0, v)))
            fixture.failed = true;
        *residue = fmax(*residue, fabs((double)m[0]));
        code(m, v, fixed);
        if (!fixture.failed &&
            !hc_check_ok(check, hc_update_write(fixture.update, HC_STATE_M, 0, m)))
            fixture.failed = true;
    }
    *still = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0);
    return hc_fixture_close(&fixture);
}

static void runs_away(struct hc_check *check, struct hc_exhibits *shown)
{
    double weight[2];
    double residue[2];
    for (int fixed = 0; fixed < 2; fixed++)
        if (!train(check, fixed, &weight[fixed], &residue[fixed]))
            return;
    hc_exhibits_add(shown, "weight without a gradient", HC_FP32, weight[0], weight[1], 0, 0);
    hc_exhibits_add(shown, "its first moment, at most", HC_FP32, residue[0], residue[1], 0, 0);
    hc_claim_true(check, "buggy arm: the weight moves by more than a hundred rates",
                  fabs(weight[0]) > 100 * lr);
}

static const struct hc_case cases[] = {
    HC_BUG("field/fp8-codes/fp8-widening-loses-specials",
           "An overflow in fp8 is not seen: infinities and NaNs become numbers in bf16.",
           "triton-lang/triton PR 11784, 'Preserve special values when widening FP8 to BF16', "
           "https://github.com/triton-lang/triton/pull/11784; issues 3634 and 2430",
           .play = loses_specials, .buggy = {.prints = "65536 exact, -", .is = "-, 8"},
           .fixed = {.prints = "inf, -", .is = "-, 0"}, .fault = "cast-e4m3-nan-read-as-480",
           .lesson = "Widen by way of fp16 or a table; a shifted exponent makes numbers of "
                     "infinity and NaN."),
    HC_BUG("field/fp8-codes/e4m3-subnormal-scale-decode",
           "Experts with small NVFP4 scales are 4.5 times too large.",
           "local-inference-lab/b12x PR 388, 'fix(quant): decode E4M3 subnormal scales correctly', "
           "https://github.com/local-inference-lab/b12x/pull/388",
           .play = decodes_scales, .buggy = {.is = "0.0087890625 exact, 7"},
           .fixed = {.is = "0.001953125 exact, 0"}, .fault = "cast-e4m3-subnormals-read-as-0",
           .lesson = "An exponent field of 0 has no hidden bit; look at all 256 codes."),
    HC_BUG("field/fp8-codes/fp8-carry-lost-in-emulation",
           "The emulator that serves as a reference rounds 126.24 to 64 in e4m3.",
           "triton-lang/triton PR 11897, '[BACKEND] Support fp8 <=> fp64 casts by going through "
           "fp32', https://github.com/triton-lang/triton/pull/11897",
           .play = drops_the_carry, .buggy = {.prints = "64 exact, -"},
           .fixed = {.prints = "128 exact, -", .is = "-, 0"}, .fault = "cast-e4m3-carry-lost",
           .lesson = "Round the code as one integer, so that the carry runs from the fraction into "
                     "the exponent; and judge an emulator before it judges others."),
    HC_BUG("field/fp8-codes/ue8m0-pack-mantissa-leaks",
           "NaN at batch 1 alone: fp32 scales are packed into bytes with their fractions.",
           "sgl-project/sglang PR 25733, '[Bug] Fix V4-Pro NaN on Blackwell by converting "
           "fp8_einsum input scale to ue8m0', https://github.com/sgl-project/sglang/pull/25733",
           .play = leaks, .arithmetic_only = true, .fixed = {.is = "0.25 exact, 0"},
           .lesson = "Round a scale up to a power of two before it is packed as e8m0."),
    HC_BUG("field/fp8-codes/fp4-ties-toward-zero",
           "Three of the seven ties of e2m1 go to the wrong neighbour.",
           "found by halfcheck in DeepGEMM 54e2261, _quantize_to_fp4_e2m1, and in MLX 0.32.4, "
           "mxfp4 (reports/packages/cast_fp4.py, cast_mlx.py): 0.75, 1.75 and 3.5, and their "
           "negatives; no report of it was found",
           .play = rounds_ties_down, .buggy = {.is = "3 exact, -"}, .fixed = {.is = "0, 0"},
           .fault = "cast-e2m3-ties-to-zero",
           .lesson = "Eight magnitudes have seven midpoints: put them all to a conversion."),
    HC_BUG("field/fp8-codes/onnxruntime-fp8-nosat-480",
           "480 is 448 in a conversion that promises NaN beyond the range.",
           "found by halfcheck in ONNX Runtime 1.32.0, Cast to FLOAT8E4M3FN with saturate=0 "
           "(reports/packages/cast_onnxruntime.py): 1,048,576 inputs; no report of it was found",
           .play = ends_at_480, .buggy = {.is = "1 exact"}, .fixed = {.is = "0"},
           .fault = "cast-e4m3-saturates",
           .lesson = "What would have the code of NaN after its rounding is NaN."),
    HC_BUG("field/moment-codes/adam8bit-zero-gradient-residue",
           "With 8-bit Adam a weight whose gradient is exactly 0 moves.",
           "unslothai/unsloth-zoo PR 962, 'feat(mlx): Make adamw_8bit actually use 8-bit optimizer "
           "state', https://github.com/unslothai/unsloth-zoo/pull/962; MrNeRF/LichtFeld-Studio PR "
           "2066, 'Adam: decode zero-variance joint moments as exactly zero'",
           .play = runs_away, .fixed = {.prints = "0, -"}, .fault = "moment-without-zero",
           .lesson = "A code for signed numbers needs an exact zero, or the decoder must put it "
                     "where the second moment is 0."),
};

HC_CASES(field_plays_codes, cases);
