/* Where half ends.

   Half's largest number is 65504. The next one would be 65536, and the midpoint of the two is
   65520. IEEE 754 rounds as if there were no end, and calls the result infinite only if it would be
   65536 or more: so all numbers below 65520 become 65504, and 65520, a tie that goes to the even
   one, becomes infinite. That 65505 is finite surprises, and is right.

   The rule of thumb: overflow begins half an ulp above the largest number. A cast that makes all
   above 65504 infinite, or keeps 65536, is wrong; rounding/fp32-to-fp16 finds both. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/range-end/overflow-threshold-65520",
           "A half tensor of 65505 is 65504, but one of 65570 is inf.",
           "pytorch/pytorch issue 104154, 'Numbers bigger than the range should be inf while the "
           "implementation just keeps the original.', "
           "https://github.com/pytorch/pytorch/issues/104154; tinygrad/tinygrad issue 17087, "
           "where a half keeps 65536, is a bug",
           .formula = "x = h([65505, 65519, 65520, 65570])", .show = "x",
           .buggy = {.in = "fp32 h=fp16", .prints = "65504 exact, 65504 exact, inf, inf"},
           .fixed = {.in = "fp32 h=fp32",
                     .prints = "65505 exact, 65519 exact, 65520 exact, 65570 exact"},
           .not_a_bug = true, .fault = "cast-overflow-65536",
           .lesson = "Overflow begins at 65520, half an ulp above 65504."),
};

HC_CASES(field_numbers_range_end, cases);
