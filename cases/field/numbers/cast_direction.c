/* Casts that do not round to the nearest number.

   fp32 to bf16 looks like a shift: the upper 16 bits are the bf16 number. To drop the lower 16 bits
   is a rounding toward zero. It is off by up to a whole ulp and not half of one, and always in the
   same direction: by half an ulp on the average, so that whatever is cast at each step shrinks at
   each step. A cast to the nearest, ties to even, has no such drift. The same happens at the lower
   end of half, where all between 2^-25 and 2^-24 belongs to 2^-24 and a cast that cuts says 0.

   Rule of thumb: test a cast with three numbers: a little below the midpoint of two neighbours, the
   midpoint, and a little above. What rounding/fp32-to-bf16 does is to take all numbers. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/cast-direction/bf16-cast-truncates",
           "Weights shrink when they are cast from float to bf16 by dropping the lower 16 bits.",
           "stillwater-sc/universal PR 1134, 'fix(bfloat16): round float conversion to "
           "nearest-even (RNE) instead of truncating', "
           "https://github.com/stillwater-sc/universal/pull/1134; tenstorrent/tt-metal PR 19882, "
           "https://github.com/tenstorrent/tt-metal/pull/19882; tinygrad/tinygrad PR 11848; "
           "ROCm/flash-attention issue 78",
           .show = "y, mean_ulp",
           .buggy = {.in = "fp32",
                     .formula = "x = [0.2691408770292272, 3.14, 1e-8]; y = bf16_rz(x); "
                                "many = list(1024, 1 + i / 16384); "
                                "mean_ulp = tree(bf16_rz(many) - many) / 8",
                     .prints = "0.267578125 exact, 3.125 exact, 9.95351e-9, -0.5"},
           .fixed = {.in = "fp32",
                     .formula = "x = [0.2691408770292272, 3.14, 1e-8]; y = bf16(x); "
                                "many = list(1024, 1 + i / 16384); "
                                "mean_ulp = tree(bf16(many) - many) / 8",
                     .prints = "0.26953125 exact, 3.140625 exact, 1.00117e-8, 0"},
           .fault = "cast-upper-bits",
           .lesson = "Round to nearest, ties to even: a cast that cuts is off by half an ulp on "
                     "the average."),
    HC_BUG("field/cast-direction/half-cast-truncates-subnormal",
           "A double just above 2^-25 becomes 0 in half, though 2^-24 is nearer.",
           "petamoriken/float16 issue 952, 'conversions to float16 are incorrect for very small "
           "numbers', https://github.com/petamoriken/float16/issues/952",
           .show = "y",
           .buggy = {.in = "fp64",
                     .formula = "x = 2^-25 * (1 + 2^-52); y = fp16_rz(x)",
                     .prints = "0"},
           .fixed = {.in = "fp64",
                     .formula = "x = 2^-25 * (1 + 2^-52); y = fp16(x)",
                     .prints = "5.96e-8"},
           .fault = "cast-subnormals-cut",
           .lesson =
               "Round subnormal results to nearest, too: only up to 2^-25 is half's 0 right."),
};

HC_CASES(field_numbers_cast_direction, cases);
