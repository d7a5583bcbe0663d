/* What a matrix product or a convolution may lose before the sum. Inputs are multiples of 2^-12 and
   small integers, so that every sum is an integer below 2^24 times 2^-12: exact in fp32 in any
   order, truncating accumulators included. A single input that is cut to tf32 shows. */
#include "case.h"

enum { TILE = 48, SIDE = 8, IMAGES = 1, CHANNELS = 16, TAPS = 3 };

/* A number between 1 and 2 with 13 bits, the last of them set; tf32 has 11. */
static double fine(uint64_t seed, int slot, int64_t i)
{
    return 1 + (double)(2 * (hc_random(seed, (uint64_t)slot, (uint64_t)i) % 2048) + 1) * 0x1p-12;
}

static double small(uint64_t seed, int slot, int64_t i)
{
    return (double)(hc_random(seed, (uint64_t)slot, (uint64_t)i) % 7) - 3;
}

/* A call in fp32 whose sums have 48 to 144 terms; `fine_slot` is the input that tf32 would cut. */
static struct hc_call product(struct hc_check *check, enum hc_op op, int fine_slot)
{
    struct hc_tensor matrix = hc_tensor2(HC_FP32, TILE, TILE, NULL);
    struct hc_tensor image = hc_tensor4(HC_FP32, IMAGES, SIDE, SIDE, CHANNELS, NULL);
    struct hc_tensor filter = hc_tensor4(HC_FP32, CHANNELS, TAPS, TAPS, CHANNELS, NULL);
    struct hc_call call = {.op = op};
    if (op == HC_OP_gemm)
        call.params.gemm.alpha = 1;
    else
        call.params.conv = (struct hc_conv){.stride = 1, .pad = 1};
    call.in[HC_FIRST] = hc_check_tensor(check, op == HC_OP_gemm ? matrix : image);
    call.in[HC_FIRST + 1] = hc_check_tensor(check, op == HC_OP_gemm                ? matrix
                                                   : op == HC_OP_conv2d_bwd_filter ? image
                                                                                   : filter);
    call.out[HC_FIRST] = hc_check_tensor(check, op == HC_OP_gemm                ? matrix
                                                : op == HC_OP_conv2d_bwd_filter ? filter
                                                                                : image);
    for (int slot = 0; slot < 2; slot++)
        for (int64_t i = 0; i < hc_tensor_count(&call.in[slot]); i++)
            hc_tensor_set(&call.in[slot], i,
                          (slot == fine_slot ? fine : small)(hc_check_seed(check), slot, i));
    return call;
}

/* How many results are not the sum itself. */
static int64_t inexact(const struct hc_call *call)
{
    int64_t wrong = 0;
    for (int64_t i = 0; i < hc_tensor_count(&call->out[HC_FIRST]); i++) {
        struct hc_exact want = hc_reference_value(call, HC_FIRST, i);
        wrong += hc_tensor_get(&call->out[HC_FIRST], i) != want.hi || want.lo != 0;
    }
    return wrong;
}

static void single_keeps(struct hc_check *check)
{
    enum hc_op op = *(const enum hc_op *)hc_check_case(check)->data;
    for (int slot = 0; slot < 2; slot++) {
        struct hc_call call = product(check, op, slot);
        if (hc_do(check, &call) != HC_OK)
            return;
        int64_t wrong = inexact(&call);
        hc_claim_sweep(check, "elements in fp32", hc_tensor_count(&call.out[HC_FIRST]), wrong,
                       wrong ? "a sum of fp32 numbers that fp32 holds" : NULL);
    }
}

static void tf32_drops(struct hc_check *check)
{
    enum hc_op op = *(const enum hc_op *)hc_check_case(check)->data;
    for (int slot = 0; slot < 2; slot++) {
        struct hc_call call = product(check, op, slot);
        *(op == HC_OP_gemm ? &call.params.gemm.tf32 : &call.params.conv.tf32) = true;
        if (hc_claim_call_met(check, &call) != HC_OK)
            return;
        int64_t lost = inexact(&call);
        hc_say(check, "%lld of %lld results lost something of in%d", (long long)lost,
               (long long)hc_tensor_count(&call.out[HC_FIRST]), slot);
        if (lost == 0)
            hc_mistrust(check, "nothing of in%d was lost: tf32 was allowed and not used", slot);
    }
}

/* 2048 and 511 ones: an odd sum above 2048, which fp16 does not hold. False if the backend lacks
   the product. */
static bool odd_sum(struct hc_check *check, bool half, double *got)
{
    enum { M = 16, N = 8, K = 512 };
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = 1, .half_accumulator = half}};
    call.in[HC_GEMM_A] = hc_check_tensor(check, hc_tensor2(HC_FP16, M, K, NULL));
    call.in[HC_GEMM_B] = hc_check_tensor(check, hc_tensor2(HC_FP16, K, N, NULL));
    call.out[HC_GEMM_OUT] = hc_check_tensor(check, hc_tensor2(HC_FP32, M, N, NULL));
    for (int64_t i = 0; i < M * K; i++)
        hc_tensor_set(&call.in[HC_GEMM_A], i, i % K == 37 * (i / K) % K ? 2048 : 1);
    for (int64_t i = 0; i < K * N; i++)
        hc_tensor_set(&call.in[HC_GEMM_B], i, 1);
    if (hc_claim_call_met(check, &call) != HC_OK)
        return false;
    *got = hc_tensor_get(&call.out[HC_GEMM_OUT], 0);
    int64_t wrong = inexact(&call);
    if (!half)
        hc_claim_sweep(check, "elements in fp32", (int64_t)M * N, wrong,
                       wrong ? "2048 and 511 ones" : NULL);
    return true;
}

static void sums_are_single(struct hc_check *check)
{
    double got = 0;
    if (!odd_sum(check, false, &got))
        return;
    hc_say(check, "2048 and 511 ones are %g", got);
}

static void sums_in_half(struct hc_check *check)
{
    double got = 0;
    if (!odd_sum(check, true, &got))
        return;
    hc_say(check, "2048 and 511 ones are %g", got);
    hc_claim_true(check, "the sum is a number of half", got == hc_round(HC_FP16, got));
}

static const enum hc_op ops[] = {HC_OP_gemm, HC_OP_conv2d, HC_OP_conv2d_bwd_data,
                                 HC_OP_conv2d_bwd_filter};

#define TF32_SOURCE                                                                                \
    "NVIDIA A100 architecture whitepaper: TF32 inputs have 10 bits of mantissa; "                  \
    "torch.backends.cuda.matmul.allow_tf32"
#define HALF_SOURCE                                                                                \
    "cuBLAS documentation: CUBLAS_COMPUTE_16F, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION"

static const struct hc_case cases[] = {
    {"products/gemm-in-fp32", "a matrix product in fp32 uses all bits of its inputs", TF32_SOURCE,
     HC_QUICK, .run = single_keeps, .data = &ops[0]},
    {"products/conv2d-in-fp32", "a convolution in fp32 uses all bits of its inputs", TF32_SOURCE,
     HC_QUICK, .run = single_keeps, .data = &ops[1]},
    {"products/conv2d-bwd-data-in-fp32",
     "a convolution's gradient of the input in fp32 uses all bits of its inputs", TF32_SOURCE,
     HC_QUICK, .run = single_keeps, .data = &ops[2]},
    {"products/conv2d-bwd-filter-in-fp32",
     "a convolution's gradient of the filter in fp32 uses all bits of its inputs", TF32_SOURCE,
     HC_QUICK, .run = single_keeps, .data = &ops[3]},
    {"products/gemm-in-tf32", "a matrix product in tf32 loses bits of its inputs, within the bound",
     TF32_SOURCE, HC_QUICK, .run = tf32_drops, .data = &ops[0]},
    {"products/conv2d-in-tf32", "a convolution in tf32 loses bits of its inputs, within the bound",
     TF32_SOURCE, HC_QUICK, .run = tf32_drops, .data = &ops[1]},
    {"products/conv2d-bwd-data-in-tf32",
     "a convolution's gradient of the input in tf32 loses bits of its inputs, within the bound",
     TF32_SOURCE, HC_QUICK, .run = tf32_drops, .data = &ops[2]},
    {"products/conv2d-bwd-filter-in-tf32",
     "a convolution's gradient of the filter in tf32 loses bits of its inputs, within the bound",
     TF32_SOURCE, HC_QUICK, .run = tf32_drops, .data = &ops[3]},
    {"products/half-summed-in-single", "a matrix product of halves is summed in fp32", HALF_SOURCE,
     HC_QUICK, .run = sums_are_single},
    {"products/half-summed-in-half",
     "a matrix product of halves that may be summed in half loses the odd one, within the bound",
     HALF_SOURCE, HC_QUICK, .run = sums_in_half},
};

HC_CASES(products_precision, cases);
