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

static void draw_bytes(const struct hc_tensor *t, uint64_t stream, uint64_t from, uint64_t count)
{
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        ((uint8_t *)t->data)[i] = (uint8_t)(from + hc_random(9, stream, (uint64_t)i) % count);
}

/* Scales `from` and `count` codes on; one code in 64 is any byte, all others small. */
static void check_scaled(const char *unit, enum hc_format a, enum hc_format b,
                         enum hc_format scales, int64_t k, int64_t promote, uint64_t from,
                         uint64_t count)
{
    const struct hc_unit *u = hc_unit_by_name(unit);
    int64_t across = hc_quant_blocks(k, u->block);
    struct hc_call call = {.op = HC_OP_gemm_q,
                           .params.gemm_q = {1, u->block, 4, u->block, promote}};
    call.in[HC_GEMM_Q_A] = drawn(a, M, k, (uint64_t)k);
    call.in[HC_GEMM_Q_B] = drawn(b, N, k, (uint64_t)k + 1);
    call.in[HC_GEMM_Q_A_SCALES] = made(hc_tensor2(scales, M, across, NULL));
    call.in[HC_GEMM_Q_B_SCALES] = made(hc_tensor2(scales, hc_quant_blocks(N, 4), across, NULL));
    call.out[HC_GEMM_Q_OUT] = made(hc_tensor2(HC_FP32, M, N, NULL));
    draw_bytes(&call.in[HC_GEMM_Q_A_SCALES], 3, from, count);
    draw_bytes(&call.in[HC_GEMM_Q_B_SCALES], 4, from, count);
    for (int64_t i = 0; i < M * k; i += 64)
        ((uint8_t *)call.in[HC_GEMM_Q_A].data)[i] = (uint8_t)hc_random(9, 5, (uint64_t)i);
    run("sim-b200", &call);
    for (int64_t i = 0; i < M * N; i++) {
        uint32_t codes[2][K];
        uint32_t scale[2][K];
        const struct hc_unit_scales both = {scale[0], scale[1]};
        float acc = 0;
        for (int64_t at = 0, end; at < k; at = end) {
            end = promote > 0 && at + promote < k ? at + promote : k;
            for (int64_t t = at; t < end; t++) {
                const struct hc_tensor *in = call.in;
                int64_t block = t / u->block;
                codes[0][t - at] = (uint32_t)hc_tensor_bits(&in[HC_GEMM_Q_A], i / N * k + t);
                codes[1][t - at] = (uint32_t)hc_tensor_bits(&in[HC_GEMM_Q_B], i % N * k + t);
                scale[0][(t - at) / u->block] =
                    (uint32_t)hc_tensor_bits(&in[HC_GEMM_Q_A_SCALES], i / N * across + block);
                scale[1][(t - at) / u->block] =
                    (uint32_t)hc_tensor_bits(&in[HC_GEMM_Q_B_SCALES], i % N / 4 * across + block);
            }
            acc += hc_fp32_value(hc_unit_dot(u, codes[0], codes[1], &both, end - at, 0));
        }
        float got = (float)hc_tensor_get(&call.out[HC_GEMM_Q_OUT], i);
        cr_assert(got == acc || (isnan(got) && isnan(acc)), "%s, %ld terms [%ld]: %a, not %a", unit,
                  (long)k, (long)i, (double)got, (double)acc);
    }
}

/* Moderate scales; those of all exponents, whose sums underflow and overflow; and NaN. */
static void check_all_scales(const char *unit, enum hc_format a, enum hc_format b,
                             enum hc_format scales)
{
    static const int64_t terms[] = {1, 31, 64, 150, 300};
    bool wide = scales == HC_E8M0;
    for (int i = 0; i < 5; i++) {
        int64_t promote = i % 2 * 64;
        check_scaled(unit, a, b, scales, terms[i], promote, wide ? 120 : 40, 16);
        check_scaled(unit, a, b, scales, terms[i], promote, wide ? 50 : 0, wide ? 30 : 127);
        check_scaled(unit, a, b, scales, terms[i], promote, wide ? 175 : 100, wide ? 26 : 27);
        check_scaled(unit, a, b, scales, terms[i], promote, 0, 256);
    }
}

Test(quant_gemm, units_for_mx_and_nvfp4_take_the_scales_of_blocks_themselves)
{
    check_all_scales("b200-mxe4m3-fp32", HC_E4M3, HC_E4M3, HC_E8M0);
    check_all_scales("b200-mxe4m3xe5m2-fp32", HC_E4M3, HC_E5M2, HC_E8M0);
    check_all_scales("b200-mxe5m2-fp32", HC_E5M2, HC_E5M2, HC_E8M0);
    check_all_scales("b200-mxf8f6f4_e2m3-fp32", HC_E2M3, HC_E2M3, HC_E8M0);
    check_all_scales("b200-mxf8f6f4_e3m2-fp32", HC_E3M2, HC_E3M2, HC_E8M0);
    check_all_scales("b200-mxe2m1-fp32", HC_E2M1, HC_E2M1, HC_E8M0);
    check_all_scales("b200-mxe2m1b16-fp32", HC_E2M1, HC_E2M1, HC_E8M0);
    check_all_scales("b200-nve2m1-fp32", HC_E2M1, HC_E2M1, HC_UE4M3);
}

/* Other blocks, other scales, or a promotion within an instruction: the scales stay outside. */
Test(quant_gemm, scales_that_no_unit_takes_stay_outside)
{
    const struct hc_backend *b200 = hc_backend_by_name("sim-b200");
    struct hc_call call = {.op = HC_OP_gemm_q, .params.gemm_q = {1, 32, 1, 32, 128}};
    call.in[HC_GEMM_Q_A].format = call.in[HC_GEMM_Q_B].format = HC_E4M3;
    call.in[HC_GEMM_Q_A_SCALES].format = call.in[HC_GEMM_Q_B_SCALES].format = HC_E8M0;
    cr_expect_str_eq(hc_sim_unit_of(b200->self, &call)->name, "b200-mxe4m3-fp32");
    cr_expect(b200->accumulates(b200, &call).takes_scales);
    call.params.gemm_q.promote = 48;
    cr_expect_str_eq(hc_sim_unit_of(b200->self, &call)->name, "b200-e4m3-fp32");
    cr_expect_not(b200->accumulates(b200, &call).takes_scales);
    call.params.gemm_q = (struct hc_gemm_q){1, 32, 1, 64, 0};
    cr_expect_str_eq(hc_sim_unit_of(b200->self, &call)->name, "b200-e4m3-fp32");
    call.params.gemm_q = (struct hc_gemm_q){1, 32, 1, 32, 0};
    call.in[HC_GEMM_Q_B_SCALES].format = HC_FP32;
    cr_expect_str_eq(hc_sim_unit_of(b200->self, &call)->name, "b200-e4m3-fp32");
    const struct hc_backend *h100 = hc_backend_by_name("sim-h100");
    call.in[HC_GEMM_Q_B_SCALES].format = HC_E8M0;
    cr_expect_str_eq(hc_sim_unit_of(h100->self, &call)->name, "h100wgmma-e4m3-fp32");
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
