/* gemm_q on the sim backends: every piece is a chain of the unit's instructions from C = 0, scaled
   and added in fp32. */
#include <criterion/criterion.h>
#include <math.h>

#include "kernels/exact/testing.h"
#include "kernels/sim/sim.h"
#include "num/rng.h"

enum { M = 5, N = 18, K = 300, PIECE = 48 };

static struct hc_tensor drawn(enum hc_format format, int64_t rows, int64_t columns, uint64_t stream)
{
    struct hc_tensor t = made(hc_tensor2(format, rows, columns, NULL));
    for (int64_t i = 0; i < rows * columns; i++)
        hc_tensor_set(&t, i, hc_random_normal(8, stream, (uint64_t)i));
    return t;
}

static struct hc_tensor drawn_scales(int64_t rows, int64_t columns, uint64_t stream)
{
    struct hc_tensor t = made(hc_tensor2(HC_FP32, rows, columns, NULL));
    for (int64_t i = 0; i < rows * columns; i++)
        hc_tensor_set(&t, i, 0.5 + hc_random_uniform(8, stream, (uint64_t)i));
    return t;
}

static void run(const char *name, const struct hc_call *call)
{
    const struct hc_backend *backend = hc_backend_by_name(name);
    struct hc_queue *queue;
    struct hc_call ready = *call;
    cr_assert_eq(hc_call_check(call), HC_OK, "%s", hc_message());
    cr_assert_eq(backend->open(backend, &queue, 2), HC_OK);
    ready.scratch = aligned_alloc(64, (backend->scratch(queue, call) + 63) / 64 * 64);
    cr_assert_eq(backend->kernel[call->op](queue, &ready), HC_OK, "%s", hc_message());
    free(ready.scratch);
    backend->close(queue);
}

static float piece_of(const struct hc_call *call, const struct hc_unit *u, int64_t i, int64_t j,
                      int64_t from, int64_t end)
{
    uint32_t a[K];
    uint32_t b[K];
    for (int64_t k = from; k < end; k++) {
        a[k - from] = (uint32_t)hc_tensor_bits(&call->in[HC_GEMM_Q_A], i * K + k);
        b[k - from] = (uint32_t)hc_tensor_bits(&call->in[HC_GEMM_Q_B], j * K + k);
    }
    return hc_fp32_value(hc_unit_dot(u, a, b, NULL, end - from, 0));
}

static void check_unit(const char *backend, const char *unit, enum hc_format a, enum hc_format b)
{
    const struct hc_unit *u = hc_unit_by_name(unit);
    int64_t across = hc_quant_blocks(K, PIECE);
    struct hc_call call = {.op = HC_OP_gemm_q, .params.gemm_q = {1, PIECE, 4, PIECE, 0}};
    call.in[HC_GEMM_Q_A] = drawn(a, M, K, 1);
    call.in[HC_GEMM_Q_B] = drawn(b, N, K, 2);
    call.in[HC_GEMM_Q_A_SCALES] = drawn_scales(M, across, 3);
    call.in[HC_GEMM_Q_B_SCALES] = drawn_scales(hc_quant_blocks(N, 4), across, 4);
    call.out[HC_GEMM_Q_OUT] = made(hc_tensor2(HC_FP32, M, N, NULL));
    run(backend, &call);
    for (int64_t i = 0; i < M * N; i++) {
        float acc = 0;
        for (int64_t p = 0; p < across; p++) {
            int64_t end = (p + 1) * PIECE < K ? (p + 1) * PIECE : K;
            float piece = piece_of(&call, u, i / N, i % N, p * PIECE, end);
            float x = (float)hc_tensor_get(&call.in[HC_GEMM_Q_A_SCALES], i / N * across + p);
            float y = (float)hc_tensor_get(&call.in[HC_GEMM_Q_B_SCALES], i % N / 4 * across + p);
            acc = fmaf(piece * x, y, acc);
        }
        cr_assert_eq((float)hc_tensor_get(&call.out[HC_GEMM_Q_OUT], i), acc, "%s [%lld]", unit,
                     (long long)i);
    }
}

Test(quant_gemm, each_piece_is_a_chain_of_the_unit_of_its_codes)
{
    check_unit("sim-h100", "h100wgmma-e4m3-fp32", HC_E4M3, HC_E4M3);
    check_unit("sim-h100", "h100wgmma-e5m2xe4m3-fp32", HC_E5M2, HC_E4M3);
    check_unit("sim-l40", "ada-e4m3xe5m2-fp32", HC_E4M3, HC_E5M2);
    check_unit("sim-b200", "b200-e4m3-fp32", HC_E4M3, HC_E4M3);
    check_unit("sim-b200", "b200-e2m1-fp32", HC_E2M1, HC_E2M1);
    check_unit("sim-b200", "b200-e3m2-fp32", HC_E3M2, HC_E3M2);
    check_unit("sim-mi300", "mi300x-fp8-fp32", HC_E4M3FNUZ, HC_E4M3FNUZ);
    check_unit("sim-mi300", "mi300x-fp8xbf8-fp32", HC_E4M3FNUZ, HC_E5M2FNUZ);
    check_unit("sim-mi300", "mi300x-bf8-fp32", HC_E5M2FNUZ, HC_E5M2FNUZ);
}

/* No unit of Hopper takes e2m1: host's sums are exact there. */
Test(quant_gemm, codes_that_no_unit_takes_are_host_s)
{
    const struct hc_backend *h100 = hc_backend_by_name("sim-h100");
    struct hc_call call = {.op = HC_OP_gemm_q};
    call.in[HC_GEMM_Q_A].format = call.in[HC_GEMM_Q_B].format = HC_E2M1;
    cr_expect_null(hc_sim_unit_of(h100->self, &call));
    cr_expect_eq(h100->accumulates(h100, &call).precision, 24);
    call.in[HC_GEMM_Q_A].format = call.in[HC_GEMM_Q_B].format = HC_E4M3;
    cr_expect_eq(h100->accumulates(h100, &call).precision, 14);
}
