/* A planted defect reads no scales but those that are there, however large a block is said to be.
 */
#include <criterion/criterion.h>
#include <stdint.h>

#include "check/selftest/fault.h"

enum { K = 3, OUTSIDE = 100 };

/* Two pieces behind the first one: of the only block, which has all columns, a "next" one is the
   same. Before and behind its scale stand others. */
Test(quant_gemm, the_next_of_the_only_block_is_that_block)
{
    static uint8_t one[K] = {0x38, 0x38, 0x38};
    static float scales[] = {OUTSIDE, 1, OUTSIDE};
    static const int64_t sizes[] = {0, K, INT64_MAX, INT64_MAX - 1};
    const struct hc_fault *fault = hc_fault_by_name("codes-block-off-by-one");
    cr_assert_not_null(fault);
    for (int i = 0; i < 4; i++) {
        float out = 0;
        struct hc_call call = {.op = HC_OP_gemm_q, .params.gemm_q = {1, sizes[i], 1, 0, 1}};
        call.in[HC_GEMM_Q_A] = hc_tensor2(HC_E4M3, 1, K, one);
        call.in[HC_GEMM_Q_B] = hc_tensor2(HC_E4M3, 1, K, one);
        call.in[HC_GEMM_Q_A_SCALES] = hc_tensor2(HC_FP32, 1, 1, &scales[1]);
        call.in[HC_GEMM_Q_B_SCALES] = hc_tensor2(HC_FP32, 1, 1, &scales[1]);
        call.out[HC_GEMM_Q_OUT] = hc_tensor2(HC_FP32, 1, 1, &out);
        cr_assert_eq(hc_call_check(&call), HC_OK, "%s", hc_message());
        struct hc_fault_site site = {.fault = fault};
        cr_expect_eq(hc_fault_run(&site, &call), HC_OK);
        cr_expect_eq(out, K, "%lld: %g", (long long)sizes[i], (double)out);
    }
}
