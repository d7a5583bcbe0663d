/* 1 + tanh(u), where tanh(u) is almost -1.

   GELU is 0.5 x (1 + tanh(u)). For x below -4 the tangent is closer to -1 than a few units of its
   last place, the sum cancels, and what is left is the rounding of the tangent. From some x on the
   sum is 0. It is no question of 16 bits: fp32 is off by a third of the value at -5, and loses all
   of it at -5.2. The sum 1 + tanh(u) is 2 / (1 + e^(-2u)), where nothing cancels, and 1 + erf(z),
   of the other GELU, is erfc(-z).

   The rule of thumb: look for sums that are small though their terms are not, and rewrite them. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/cancellation/gelu-tanh-tail-cancel",
           "GELU's negative tail is exactly 0 from x = -6 on, in fp32, too.",
           "tenstorrent/tt-metal issue 56517, '`ttnn.gelu(variant=Tanh)`: the negative tail is "
           "destroyed by the `1 + tanh(u)` cancellation', "
           "https://github.com/tenstorrent/tt-metal/issues/56517",
           .show = "y",
           .buggy = {.in = "fp32",
                     .formula = "x = [-5, -6]; u = sqrt(2 / pi) * (x + 0.044715 * x * x * x); "
                                "y = 0.5 * x * (1 + tanh(u))",
                     .prints = "-2.98e-7, 0"},
           .fixed = {.in = "fp32",
                     .formula = "x = [-5, -6]; u = sqrt(2 / pi) * (x + 0.044715 * x * x * x); "
                                "y = x / (1 + exp(-2 * u))",
                     .prints = "-2.292e-7, -8.44e-11"},
           .lesson = "Write 0.5 x (1 + tanh(u)) as x / (1 + exp(-2u)).",
           .correction =
               "The report has 0 below -6, with its own tangent: with one that is rounded "
               "once fp32 has 0 from -5.2 on."),
};

HC_CASES(field_numbers_one_plus_tanh, cases);
