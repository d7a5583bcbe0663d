/* Two roundings in a row, through a format in between.

   The first rounding can move a number onto the midpoint between two numbers of the second format.
   The second rounding then sees a tie and goes to the even one, though the number itself lay beside
   the midpoint and its neighbour on the other side was nearer. The result is off by more than half
   an ulp, but for few numbers, so that a random test hardly meets one.

   For sums, products, quotients and roots of numbers of p bits a second rounding does no harm if
   the format in between has 2p + 2 bits or more, as fp32 has for fp16 and bf16. For a cast, whose
   operand has more bits than that, it does.

   Rule of thumb: cast from the widest format that you have, once. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/double-rounding/double-rounding-bf16",
           "A double becomes the wrong bf16 number, because it goes through float.",
           "JuliaMath/BFloat16s.jl issue 78, 'Avoid double rounding', "
           "https://github.com/JuliaMath/BFloat16s.jl/issues/78; JuliaLang/julia PR 57809, 'Fix "
           "fptrunc Float64 -> Float16 rounding through Float32'",
           .formula = "x = 1 + 2^-8 + 2^-30; y = bf16(via(x))", .show = "y",
           .buggy = {.in = "fp64 via=fp32", .prints = "1 exact"},
           .fixed = {.in = "fp64 via=fp64", .prints = "1.0078125 exact"},
           .fault = "cast-bf16-through-fp32",
           .lesson = "Round a double to bf16 in one step: float(x) is the tie 1 + 2^-8 here."),
    HC_BUG("field/double-rounding/e4m3-double-rounding-bf16",
           "A float becomes the wrong E4M3 number, because it goes through bf16.",
           "MurrellGroup/Microfloats.jl PR 25, 'Rounding modes and per-call overflow override for "
           "conversions', https://github.com/MurrellGroup/Microfloats.jl/pull/25; "
           "pytorch/ao issue 4725, https://github.com/pytorch/ao/issues/4725",
           .formula = "x = 1.31640625; y = e4m3(via(x))", .show = "y",
           .buggy = {.in = "fp32 via=bf16", .prints = "1.25 exact"},
           .fixed = {.in = "fp32 via=fp32", .prints = "1.375 exact"},
           .fault = "cast-e4m3-through-bf16",
           .lesson = "Round to fp8 from fp32: bf16(x) is 1.3125 here, midway from 1.25 to 1.375."),
    HC_BUG(
        "field/double-rounding/onednn-fp8-through-fp16",
        "A float becomes the wrong e4m3 number, because it goes through fp16.",
        "uxlfoundation/oneDNN PR 2361, 'doc: clarify conversions can be impacted by "
        "double-rounding', https://github.com/uxlfoundation/oneDNN/pull/2361; openvino PR 28501 "
        "does so by intention; 1,040,384 inputs of fp32 differ (reports/packages/cast_onednn.py)",
        .formula = "x = 2^-10 + 2^-33; y = fp32(e4m3(via(x)))", .show = "y",
        .buggy = {.in = "fp32 via=fp16", .prints = "0"},
        .fixed = {.in = "fp32 via=fp32", .prints = "0.001953125 exact"},
        .fault = "cast-e4m3-through-fp16",
        .lesson = "Two roundings are not one: what is a hair above a midpoint of fp8 lies on it "
                  "in fp16.",
        .also = {{"triton-fp8-double-rounding",
                  "triton-lang/triton PR 2583, 'Prevent double rounding when doing f32 -> fp8', "
                  "https://github.com/triton-lang/triton/pull/2583"}}),
    HC_BUG("field/double-rounding/e8m0-via-bf16-double-rounding",
           "The scale of an MXFP8 block is twice too large, because its amax goes through bf16.",
           "pytorch/ao PR 4725, 'Refine MXFP8 CUDA quantization semantics', "
           "https://github.com/pytorch/ao/pull/4725, a review's remark: 'fp32->bf16->e8m0 can "
           "round some fp32 values across the threshold'",
           .formula = "s = scale(mx-floor, e4m3, via(511.5))", .show = "s",
           .buggy = {.in = "fp32 via=bf16", .prints = "2 exact"},
           .fixed = {.in = "fp32 via=fp32", .prints = "1 exact"},
           .lesson =
               "Take the exponent of the fp32 number: 511.5 has 8, and bf16 makes 512 of it."),
};

HC_CASES(field_numbers_double_rounding, cases);
