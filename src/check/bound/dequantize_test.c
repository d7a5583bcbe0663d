/* dequantize is stated to the bit: no other roundings on the way are right, whoever judges. */
#include <criterion/criterion.h>

#include "check/bound/bound.h"

/* 1.125 times d is 2^-27 above 265/256, which lies in the middle between two numbers of bf16. Its
   nearest number in fp32 is that middle, whose even neighbour is 66/64; rounded once it would be
   133/128. */
static uint8_t code[1] = {0x39};
static float factors[] = {0x1.d71c72p-1F, 1};
static uint16_t y[1];

/* d is the block's scale; or, where `turned`, the tensor's factor. */
static struct hc_call call_of(bool turned)
{
    struct hc_call call = {.op = HC_OP_dequantize};
    call.in[HC_DEQUANTIZE_CODES] = hc_tensor2(HC_E4M3, 1, 1, code);
    call.in[HC_DEQUANTIZE_SCALES] = hc_tensor2(HC_FP32, 1, 1, &factors[turned]);
    call.in[HC_DEQUANTIZE_TENSOR] = hc_tensor1(HC_FP32, 1, &factors[!turned]);
    call.out[HC_DEQUANTIZE_Y] = hc_tensor2(HC_BF16, 1, 1, y);
    return call;
}

Test(dequantize, is_rounded_into_fp32_first_whoever_judges)
{
    for (int i = 0; i < 2; i++) {
        struct hc_call call = call_of(i);
        struct hc_element e = {&call, HC_DEQUANTIZE_Y, 0};
        struct hc_exact want = hc_reference_value(&call, HC_DEQUANTIZE_Y, 0);
        uint64_t ordered = 0, free = 0;
        cr_expect(hc_bound_bits(&e, &want, &ordered));
        cr_expect_eq(hc_decode(HC_BF16, ordered), 66.0 / 64);
        cr_expect(hc_bound_any_order_bits(&e, &want, &free), "other results are taken");
        cr_expect_eq(free, ordered);
        cr_expect(hc_bound_any_order_ordered(&call, HC_DEQUANTIZE_Y));
    }
}
