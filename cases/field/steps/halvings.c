/* A loss scale that is halved to zero.

   A scaler without a floor halves at every overflow. If the overflows do not come from the scale
   they never end: from 2^16, fp64 (a Python float) has 1090 halvings until its smallest number,
   2^-1074, and fp32 (torch's tensor) has 165 until 2^-149. The next halving is a tie between that
   number and 0, and goes to the even one: 0. Then unscaling multiplies by 1 / 0.

   The rule of thumb: a floor of 1, and an error after some overflows in a row. What the scaler does
   then is scaler/overflows-without-end and scaler/zero-and-infinite-scales. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/halvings/loss-scale-to-zero",
           "Gradient overflow at every step: the loss scale sinks to 2.0237e-320, then to 0, and "
           "the run ends in ZeroDivisionError.",
           "Junjue-Wang/FactSeg issue 6, 'Gradient overflow and loss scale reduction problem', "
           "https://github.com/Junjue-Wang/FactSeg/issues/6; NVIDIA/apex issues 654 and 834",
           .formula = "scale = 65536; at_1078 = 0",
           .each = "scale = max(scale / 2, least); at_1078 = select(step == 1078, scale, at_1078)",
           .steps = 1091, .show = "at_1078, scale, 1 / scale",
           .buggy = {.in = "fp64", .with = "least := 0", .prints = "-, 0, inf"},
           .fixed = {.in = "fp64", .with = "least := 1", .prints = "1, 1, 1"},
           .fault = "scaler-floor-ignored",
           .lesson = "Give the scale a floor of 1, and stop after some overflows in a row."),
};

HC_CASES(field_steps_halvings, cases);
