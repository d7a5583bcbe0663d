/* Codes below half, written and read by hand: what cases/field/plays/fp8_codes.c says of bits, in
   numbers.

   A conversion into a format without infinity has an end that is easily put at the wrong place: at
   the last power of two, at the largest number before the rounding, or where a wider format would
   have gone on. And a scale in e8m0 is a byte that stands for a power of two: 0 is no zero, the
   byte is no number, and a code below 0 must not wrap around.

   The rule of thumb: try all codes, all midpoints, and their neighbours; halfcheck vectors has
   them. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/fp8-codes/fp8-clamp-before-rounding",
           "58000 is infinite in e5m2, and 460 has overflown in e4m3.",
           "stillwater-sc/universal issue 1302, 'microfloat e4m3 is not bit-correct for OCP E4M3', "
           "https://github.com/stillwater-sc/universal/issues/1302, and PR 1351",
           .formula = "x = 58000; y = select(x > most, inf, fp32(e5m2(x)))", .show = "y",
           .buggy = {.in = "fp32", .with = "most := 57344", .prints = "inf"},
           .fixed = {.in = "fp32", .with = "most := inf", .prints = "57344 exact"},
           .fault = "cast-e4m3-overflow-before-rounding",
           .lesson = "Round first, as if there were no largest number, and ask for overflow then."),
    HC_BUG(
        "field/fp8-codes/fp8-top-binade-saturates",
        "Every number from 256 on is 448: the largest of a group are off by up to 75 %.",
        "sgl-project/sglang PR 40581, 'fix(dsv4): correct software FP8 RNE encoding and edge "
        "cases', https://github.com/sgl-project/sglang/pull/40581; it says the same of e4m3fnuz, "
        "from 128 on",
        .formula = "x = 256; y = select(x >= last, 448, fp32(e4m3(x)))\n"
                   "z = select(x / 2 >= last / 2, 240, fp32(e4m3fnuz(x / 2)))",
        .show = "y, z",
        .buggy = {.in = "fp32", .with = "last := 256", .prints = "448 exact, 240 exact"},
        .fixed = {.in = "fp32", .with = "last := inf", .prints = "256 exact, 128 exact"},
        .lesson = "In e4m3 the largest exponent has seven numbers, and only the eighth code is "
                  "NaN."),
    HC_BUG("field/fp8-codes/gguf-ue4m3-from-248", "NVFP4 scales from 248 on are 448.",
           "found by halfcheck in gguf 0.19.0, fp32_to_ue4m3 (reports/packages/cast_gguf.py): "
           "7,340,093 inputs; no report of it was found",
           .formula = "x = 250; y = select(x >= last, 448, fp32(ue4m3(x)))", .show = "y",
           .buggy = {.in = "fp32", .with = "last := 248", .prints = "448 exact"},
           .fixed = {.in = "fp32", .with = "last := inf", .prints = "256 exact"},
           .lesson = "A carry out of the fraction goes into the exponent; it is no overflow below "
                     "464."),
    HC_BUG("field/fp8-codes/e8m0-code-0-is-no-zero", "Blocks with the smallest scale are 0.",
           "uxlfoundation/oneDNN PR 4218, 'common, xe: general e8m0 adjustments', "
           "https://github.com/uxlfoundation/oneDNN/pull/4218; triton-lang/triton PR 11624; "
           "NVIDIA/TransformerEngine PR 3262",
           .formula = "scale = fp32(e8m0(2^-127)); x = 448 * select(scale < least, 0, scale)",
           .show = "x", .buggy = {.in = "fp32", .with = "least := 2^-126", .prints = "0"},
           .fixed = {.in = "fp32", .with = "least := 0", .prints = "2.633e-36"},
           .fault = "cast-e8m0-zero-by-shift",
           .lesson =
               "Byte 0 is 2^-127, which is subnormal in fp32: a shift into the exponent field "
               "makes 0 of it."),
    HC_BUG("field/fp8-codes/e8m0-bytes-as-numbers",
           "Weights of an MXFP8 checkpoint are some 450,000 times too large.",
           "jundot/omlx PR 2159, 'fix(oq): decode U8 e8m0 block scales in MXFP8 dequant', "
           "https://github.com/jundot/omlx/pull/2159: scales are stored as bytes, and were taken "
           "for numbers",
           .formula = "x = 2^-12 * scale / 2^-12; times = x / 2^-12", .show = "times",
           .buggy = {.in = "fp32", .with = "scale := 115", .prints = "471040 exact"},
           .fixed = {.in = "fp32", .with = "scale := 2^(115 - 127)", .prints = "1 exact"},
           .lesson =
               "A scale's format is part of the checkpoint: 115 stands for 2^-12. Compare the "
               "mean magnitude of what was loaded."),
    HC_BUG("field/fp8-codes/mlx-e8m0-code-wraps",
           "Blocks of tiny numbers become infinite in MXFP8 and MXFP4.",
           "found by halfcheck in MLX 0.32.4 (reports/packages/scale_mlx.py), for amaxes up to "
           "1.3e-36; gguf 0.19.0 does the same in MXFP4 below 2^-126; no report of it was found",
           .formula = "code := 127 - floor(-log(2^-138 / 448) / log(2))\n"
                      "scale = 2^(max(code, least) - 256 * floor(max(code, least) / 256) - 127)",
           .show = "scale", .buggy = {.in = "fp32", .with = "least := -1000", .prints = "1.298e33"},
           .fixed = {.in = "fp32", .with = "least := 0", .prints = "5.877e-39"},
           .fault = "cast-e8m0-exponent-field",
           .lesson = "Limit the exponent to -127 before it becomes a byte: -19 as a byte is 237. "
                     "See halfcheck calc 'scale(mx-rp, e4m3, 2^-138)'."),
};

HC_CASES(field_numbers_fp8_codes, cases);
