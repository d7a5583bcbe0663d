/* Bugs at the end of a format, and where numbers become equal. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    /* Where half ends.

       Half's largest number is 65504. The next one would be 65536, and the midpoint of the two is
       65520. IEEE 754 rounds as if there were no end, and calls the result infinite only if it
       would be 65536 or more: so all numbers below 65520 become 65504, and 65520, a tie that goes
       to the even one, becomes infinite. That 65505 is finite surprises, and is right.

       The rule of thumb: overflow begins half an ulp above the largest number. A cast that makes
       all above 65504 infinite, or keeps 65536, is wrong; rounding/fp32-to-fp16 finds both. */
    HC_BUG(
        "field/range-end/overflow-threshold-65520",
        "A half tensor of 65505 is 65504, but one of 65570 is inf.",
        "pytorch/pytorch issue 104154, 'Numbers bigger than the range should be inf while the "
        "implementation just keeps the original.', "
        "https://github.com/pytorch/pytorch/issues/104154; tinygrad/tinygrad issue 17087, where "
        "a half keeps 65536, is a bug",
        .formula = "x = h([65505, 65519, 65520, 65570])", .show = "x",
        .buggy = {.in = "fp32 h=fp16", .is = "65504 exact, 65504 exact, inf, inf"},
        .fixed = {.in = "fp32 h=fp32", .is = "65505 exact, 65519 exact, 65520 exact, 65570 exact"},
        .not_a_bug = true, .fault = "cast-overflow-65536",
        .lesson = "Overflow begins at 65520, half an ulp above 65504."),

    /* Numbers that differ are equal after rounding, and a choice between them is somebody else's.

       Two logits closer than the spacing of the format become one number: near 4 that is 2^-5 in
       bf16 and 2^-8 in fp16. A sort, an argmax or a top-k then decides by position, not by value,
       and two implementations that both are right choose different elements.

       Rule of thumb: compare in the format in which the scores were made, and count ties in
       tests. */
    HC_BUG("field/ties/topk-ties-bf16",
           "top-k in bf16 picks other elements, because scores that differ tie.",
           "vllm-project/vllm-xpu-kernels PR 473, 'test: avoid broken XPU torch.topk in topk "
           "reference impls', https://github.com/vllm-project/vllm-xpu-kernels/pull/473",
           .formula = "x = cut([4, 4.004, 4.008, 4.012]); first = count(x == max(x))",
           .show = "distinct(x), first", .buggy = {.in = "fp32 cut=bf16", .is = "1 exact, 4 exact"},
           .fixed = {.in = "fp32 cut=fp32", .is = "4 exact, 1 exact"}, .fault = "right-in-bf16",
           .lesson = "Near 4 bf16 tells numbers apart by 1/32: rank scores in fp32."),
};

HC_CASES(field_numbers_ends, cases);
