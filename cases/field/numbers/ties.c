/* Numbers that differ are equal after rounding, and a choice between them is somebody else's.

   Two logits closer than the spacing of the format become one number: near 4 that is 2^-5 in bf16
   and 2^-8 in fp16. A sort, an argmax or a top-k then decides by position, not by value, and two
   implementations that both are right choose different elements.

   Rule of thumb: compare in the format in which the scores were made, and count ties in tests. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/ties/topk-ties-bf16",
           "top-k in bf16 picks other elements, because scores that differ tie.",
           "vllm-project/vllm-xpu-kernels PR 473, 'test: avoid broken XPU torch.topk in topk "
           "reference impls', https://github.com/vllm-project/vllm-xpu-kernels/pull/473",
           .formula = "x = cut([4, 4.004, 4.008, 4.012]); first = count(x == max(x))",
           .show = "distinct(x), first",
           .buggy = {.in = "fp32 cut=bf16", .prints = "1 exact, 4 exact"},
           .fixed = {.in = "fp32 cut=fp32", .prints = "4 exact, 1 exact"}, .fault = "right-in-bf16",
           .lesson = "Near 4 bf16 tells numbers apart by 1/32: rank scores in fp32."),
};

HC_CASES(field_numbers_ties, cases);
