/* Sums on a matrix unit, and without one. A tensor core does not round after each addition: it
   takes a block of products and the sum so far, aligns them and adds them at once. Here that is the
   published model of an H100's unit, to the bit (src/unit), so that cuda-emulated has a fingerprint
   with a name, and the bounds of gemm and of convolutions are held against a real unit's sums. */
#include "kernels/cuda/emulate/sum.h"

#include <assert.h>

#include "num/bits.h"

float hc_sum_rounded(enum hc_format format, float x)
{
    return format == HC_FP32 ? x : (float)hc_round(format, (double)x);
}

struct hc_sum_rule hc_sum_on_unit(enum hc_format factors)
{
    const char *name = factors == HC_FP16   ? "h100wgmma-fp16-fp32"
                       : factors == HC_BF16 ? "h100wgmma-bf16-fp32"
                                            : "h100wgmma-tf32-fp32";
    const struct hc_unit *unit = hc_unit_by_name(name);
    assert(unit && unit->k <= HC_SUM_BLOCK);
    return (struct hc_sum_rule){unit, HC_FP32};
}

void hc_sum_begin(struct hc_sum *sum, const struct hc_sum_rule *rule)
{
    sum->rule = rule;
    sum->value = 0;
    sum->count = 0;
}

/* x is a number of the operand's encoding, or an fp32 number whose last bits a unit does not look
   at. */
static uint32_t code_of(enum hc_operand operand, float x)
{
    return operand == HC_OPERAND_FP16   ? hc_fp16_bits(x)
           : operand == HC_OPERAND_BF16 ? hc_bf16_bits(x)
                                        : hc_fp32_bits(x);
}

/* One instruction. */
static void add_block(struct hc_sum *sum)
{
    sum->value = hc_fp32_value(
        hc_unit_dot(sum->rule->unit, sum->a, sum->b, NULL, sum->count, hc_fp32_bits(sum->value)));
    sum->count = 0;
}

void hc_sum_add(struct hc_sum *sum, float x, float y)
{
    const struct hc_unit *unit = sum->rule->unit;
    if (!unit) {
        sum->value = hc_sum_rounded(sum->rule->partial, sum->value + x * y);
        return;
    }
    sum->a[sum->count] = code_of(unit->a, x);
    sum->b[sum->count++] = code_of(unit->b, y);
    if (sum->count == unit->k)
        add_block(sum);
}

float hc_sum_end(struct hc_sum *sum)
{
    if (sum->count > 0)
        add_block(sum);
    return sum->value;
}
