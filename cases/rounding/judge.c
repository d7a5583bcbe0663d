/* The judge of sweeps on a device is correct itself: on the host it is compared with
   check/sweep/breakpoints.h and check/sweep/pairs.h, which MPFR proves. */
#include "case.h"

struct judged {
    enum hc_op op;
    enum hc_format to;
    enum hc_direction direction;
};

static void judge(struct hc_check *check)
{
    const struct judged *j = hc_check_case(check)->data;
    hc_claim_judge(check, j->op, j->to, j->direction);
}

/* One list for the operands and the cases. */
#define JUDGED                                                                                     \
    ROW("fp32-to-fp16/nearest", HC_OP_cast, HC_FP16, HC_NEAREST)                                   \
    ROW("fp32-to-fp16/toward-zero", HC_OP_cast, HC_FP16, HC_TOWARD_ZERO)                           \
    ROW("fp32-to-fp16/upward", HC_OP_cast, HC_FP16, HC_UPWARD)                                     \
    ROW("fp32-to-fp16/downward", HC_OP_cast, HC_FP16, HC_DOWNWARD)                                 \
    ROW("fp32-to-bf16/nearest", HC_OP_cast, HC_BF16, HC_NEAREST)                                   \
    ROW("fp32-to-bf16/toward-zero", HC_OP_cast, HC_BF16, HC_TOWARD_ZERO)                           \
    ROW("fp32-to-bf16/upward", HC_OP_cast, HC_BF16, HC_UPWARD)                                     \
    ROW("fp32-to-bf16/downward", HC_OP_cast, HC_BF16, HC_DOWNWARD)                                 \
    ROW("fp16/add", HC_OP_add, HC_FP16, HC_NEAREST)                                                \
    ROW("fp16/sub", HC_OP_sub, HC_FP16, HC_NEAREST)                                                \
    ROW("fp16/mul", HC_OP_mul, HC_FP16, HC_NEAREST)                                                \
    ROW("fp16/div", HC_OP_div, HC_FP16, HC_NEAREST)                                                \
    ROW("bf16/add", HC_OP_add, HC_BF16, HC_NEAREST)                                                \
    ROW("bf16/sub", HC_OP_sub, HC_BF16, HC_NEAREST)                                                \
    ROW("bf16/mul", HC_OP_mul, HC_BF16, HC_NEAREST)                                                \
    ROW("bf16/div", HC_OP_div, HC_BF16, HC_NEAREST)

#define ROW(name, op, to, direction)                                                               \
    {"rounding/judge/" name,                                                                       \
     "the judge of sweeps on a device demands the correctly rounded result",                       \
     "IEEE 754-2019, 4.3 and 5.4",                                                                 \
     .level = HC_STANDARD,                                                                         \
     .once = true,                                                                                 \
     .run = judge,                                                                                 \
     .data = &(const struct judged){op, to, direction}},
static const struct hc_case cases[] = {JUDGED};
#undef ROW

HC_CASES(rounding_judge, cases);
