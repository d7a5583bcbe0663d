/* The sim backends: every element of a product is the chain of instructions that the unit's plain
   statement gives, in the order of terms that kernels/sim/ops.c states. */
#include "kernels/sim/sim.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/exact/testing.h"
#include "num/bits.h"
#include "num/rng.h"

/* Numbers of moderate size, one in 16 of any bits. */
static struct hc_tensor drawn(struct hc_tensor t, uint64_t stream)
{
    t = made(t);
    for (int64_t i = 0; i < hc_tensor_count(&t); i++) {
        uint64_t bits = hc_random(14, stream, (uint64_t)i);
        if (bits >> 60 == 0)
            hc_tensor_set_bits(&t, i, bits);
        else
            hc_tensor_set(&t, i, hc_random_normal(14, stream, (uint64_t)i));
    }
    return t;
}

static void run(const char *name, const struct hc_call *call, int threads)
{
    const struct hc_backend *backend = hc_backend_by_name(name);
    struct hc_queue *queue;
    struct hc_call ready = *call;
    cr_assert_eq(hc_call_check(call), HC_OK, "%s", hc_message());
    cr_assert_eq(backend->open(backend, &queue, threads), HC_OK);
    size_t bytes = backend->scratch(queue, call);
    ready.scratch = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
    cr_assert_eq(backend->kernel[call->op](queue, &ready), HC_OK, "%s", hc_message());
    free(ready.scratch);
    backend->close(queue);
}

/* A chain as it grows: the test collects its terms in the stated order. */
struct chain {
    uint32_t a[4096], b[4096];
    int64_t n;
};

static uint32_t code_at(const struct hc_tensor *t, int64_t i)
{
    return (uint32_t)hc_tensor_bits(t, i) & (t->format == HC_FP32 ? ~0x1fffu : ~0u);
}

static void term(struct chain *chain, const struct hc_tensor *a, int64_t i,
                 const struct hc_tensor *b, int64_t j)
{
    chain->a[chain->n] = code_at(a, i);
    chain->b[chain->n++] = code_at(b, j);
}

static void expect(const struct hc_tensor *out, int64_t i, const struct hc_unit *u, float want)
{
    double got = hc_tensor_get(out, i);
    uint64_t bits = hc_encode(out->format, (double)want, 0, HC_NEAREST);
    cr_assert(isnan(want) ? isnan(got) : hc_tensor_bits(out, i) == bits,
              "%s [%lld]: want %a, got %a", u->name, (long long)i, (double)want, got);
}

static float end_of(const struct chain *chain, const struct hc_unit *u, uint32_t c)
{
    return hc_fp32_value(hc_unit_dot(u, chain->a, chain->b, NULL, chain->n, c));
}

/* 19 x 37 elements of 1,100 terms: two blocks of terms and a rest, tiles that are not full. */
static void check_mixed(const char *backend, const char *unit, const enum hc_format format[2],
                        int transposed)
{
    enum { M = 19, N = 37, K = 1100 };
    bool ta = transposed & 1;
    bool tb = transposed >> 1 & 1;
    const struct hc_unit *u = hc_unit_by_name(unit);
    static struct chain chain;
    struct hc_call call = {.op = HC_OP_gemm,
                           .params.gemm = {ta, tb, .alpha = 1, .beta = 1, .tf32 = true}};
    call.in[HC_GEMM_A] = drawn(hc_tensor2(format[0], ta ? K : M, ta ? M : K, NULL), 1);
    call.in[HC_GEMM_B] = drawn(hc_tensor2(format[1], tb ? N : K, tb ? K : N, NULL), 2);
    call.in[HC_GEMM_C] = drawn(hc_tensor1(HC_FP32, N, NULL), 3);
    call.out[HC_GEMM_OUT] = made(hc_tensor2(HC_FP32, M, N, NULL));
    run(backend, &call, 3);
    for (int64_t i = 0; i < M; i++)
        for (int64_t j = 0; j < N; j += 5) {
            chain.n = 0;
            for (int64_t k = 0; k < K; k++)
                term(&chain, &call.in[HC_GEMM_A], ta ? k * M + i : i * K + k, &call.in[HC_GEMM_B],
                     tb ? j * K + k : k * N + j);
            uint32_t c = (uint32_t)hc_tensor_bits(&call.in[HC_GEMM_C], j);
            expect(&call.out[HC_GEMM_OUT], i * N + j, u, end_of(&chain, u, c));
        }
}

static void check_gemm(const char *backend, const char *unit, enum hc_format format, int transposed)
{
    check_mixed(backend, unit, (enum hc_format[2]){format, format}, transposed);
}

Test(sim, gemm_is_a_chain_that_starts_with_c)
{
    check_gemm("sim-v100", "v100-fp16-fp32", HC_FP16, 0);
    check_gemm("sim-h100", "h100wgmma-bf16-fp32", HC_BF16, 1);
    check_gemm("sim-l40", "ada-tf32-fp32", HC_FP32, 2);
    check_gemm("sim-mi100", "mi100-fp16-fp32", HC_FP16, 3);
    check_gemm("sim-mi250", "mi250x-bf16_1k-fp32", HC_BF16, 0);
    check_gemm("sim-mi300", "mi300x-xf32-fp32", HC_FP32, 1);
    check_gemm("sim-amx", "amx-bf16-fp32", HC_BF16, 2);
    check_gemm("sim-avx512bf16", "avx512bf16-bf16-fp32", HC_BF16, 0);
    check_gemm("sim-bfmmla", "bfmmla-bf16-fp32", HC_BF16, 3);
}

Test(sim, gemm_of_fp8_is_the_chain_of_its_own_unit)
{
    static const struct {
        const char *backend, *machine;
    } rows[] = {{"sim-l40", "ada"}, {"sim-h100", "h100wgmma"}, {"sim-b200", "b200"}};
    static const enum hc_format formats[][2] = {
        {HC_E4M3, HC_E4M3}, {HC_E4M3, HC_E5M2}, {HC_E5M2, HC_E4M3}, {HC_E5M2, HC_E5M2}};
    static const char *const names[] = {"e4m3", "e4m3xe5m2", "e5m2xe4m3", "e5m2"};
    for (int i = 0; i < 12; i++) {
        char unit[48];
        (void)snprintf(unit, sizeof unit, "%s-%s-fp32", rows[i / 4].machine, names[i % 4]);
        check_mixed(rows[i / 4].backend, unit, formats[i % 4], i * 7 % 4);
    }
    check_gemm("sim-mi300", "mi300x-fp8-fp32", HC_E4M3FNUZ, 1);
    check_gemm("sim-mi300", "mi300x-bf8-fp32", HC_E5M2FNUZ, 2);
    check_mixed("sim-mi300", "mi300x-fp8xbf8-fp32", (enum hc_format[2]){HC_E4M3FNUZ, HC_E5M2FNUZ},
                3);
}

/* alpha and beta C follow in fp32, unless both are 1 and C is fp32. */
Test(sim, gemm_scales_after_the_chain)
{
    const struct hc_unit *u = hc_unit_by_name("a100-fp16-fp32");
    static struct chain chain;
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = 0.75, .beta = -3}};
    call.in[HC_GEMM_A] = drawn(hc_tensor2(HC_FP16, 1, 9, NULL), 4);
    call.in[HC_GEMM_B] = drawn(hc_tensor2(HC_FP16, 9, 1, NULL), 5);
    call.in[HC_GEMM_C] = drawn(hc_tensor1(HC_FP16, 1, NULL), 6);
    call.out[HC_GEMM_OUT] = made(hc_tensor2(HC_FP16, 1, 1, NULL));
    run("sim-a100", &call, 1);
    for (int64_t k = 0; k < 9; k++)
        term(&chain, &call.in[HC_GEMM_A], k, &call.in[HC_GEMM_B], k);
    float c = (float)hc_tensor_get(&call.in[HC_GEMM_C], 0);
    expect(&call.out[HC_GEMM_OUT], 0, u, 0.75F * end_of(&chain, u, 0) + -3.0F * c);
}

enum { IMAGES = 2, H = 5, W = 6, C = 3, K = 17, R = 3, S = 2, STRIDE = 2, PAD = 1, P = 3, Q = 4 };

/* Whether the tap (r, s) of output pixel (p, q) lies in the image, and on which element of x. */
static bool in_image(int n, int p, int q, int r, int s, int64_t *pixel)
{
    int h = p * STRIDE - PAD + r;
    int w = q * STRIDE - PAD + s;
    *pixel = ((int64_t)n * H + h) * W + w;
    return h >= 0 && h < H && w >= 0 && w < W;
}

static int64_t weight(int k, int r, int s, int c)
{
    return (((int64_t)k * R + r) * S + s) * C + c;
}

static int64_t result(int n, int p, int q, int k)
{
    return (((int64_t)n * P + p) * Q + q) * K + k;
}

static void check_forward(const struct hc_call *call, const struct hc_unit *u)
{
    static struct chain chain;
    for (int i = 0; i < IMAGES * P * Q * K; i++) {
        int k = i % K, q = i / K % Q, p = i / K / Q % P, n = i / K / Q / P;
        int64_t pixel;
        chain.n = 0;
        for (int r = 0; r < R; r++)
            for (int s = 0; s < S; s++)
                for (int c = 0; c < C; c++)
                    if (in_image(n, p, q, r, s, &pixel))
                        term(&chain, &call->in[HC_CONV_X], pixel * C + c, &call->in[HC_CONV_W],
                             weight(k, r, s, c));
                    else
                        chain.a[chain.n] = 0, chain.b[chain.n++] = 0;
        expect(&call->out[HC_CONV_Y], i, u, end_of(&chain, u, 0));
    }
}

static void check_data(const struct hc_call *call, const struct hc_unit *u)
{
    static struct chain chain;
    for (int i = 0; i < IMAGES * H * W * C; i++) {
        int c = i % C;
        chain.n = 0;
        for (int r = 0; r < R; r++)
            for (int s = 0; s < S; s++)
                for (int k = 0; k < K; k++) {
                    bool any = false;
                    for (int o = 0; o < IMAGES * P * Q && !any; o++) {
                        int64_t pixel;
                        int q = o % Q, p = o / Q % P, n = o / Q / P;
                        any = in_image(n, p, q, r, s, &pixel) && pixel == i / C;
                        if (any)
                            term(&chain, &call->in[HC_CONV_BWD_DATA_DY], result(n, p, q, k),
                                 &call->in[HC_CONV_BWD_DATA_W], weight(k, r, s, c));
                    }
                    if (!any)
                        chain.a[chain.n] = 0, chain.b[chain.n++] = 0;
                }
        expect(&call->out[HC_CONV_BWD_DATA_DX], i, u, end_of(&chain, u, 0));
    }
}

static void check_filter(const struct hc_call *call, const struct hc_unit *u)
{
    static struct chain chain;
    for (int i = 0; i < K * R * S * C; i++) {
        int c = i % C, s = i / C % S, r = i / C / S % R, k = i / C / S / R;
        chain.n = 0;
        for (int o = 0; o < IMAGES * P * Q; o++) {
            int64_t pixel;
            int q = o % Q, p = o / Q % P, n = o / Q / P;
            if (in_image(n, p, q, r, s, &pixel))
                term(&chain, &call->in[HC_CONV_BWD_FILTER_DY], result(n, p, q, k),
                     &call->in[HC_CONV_BWD_FILTER_X], pixel * C + c);
            else
                chain.a[chain.n] = 0, chain.b[chain.n++] = 0;
        }
        expect(&call->out[HC_CONV_BWD_FILTER_DW], i, u, end_of(&chain, u, 0));
    }
}

/* Some weights and gradients are infinite or NaN: in the padding they are no terms. */
static void check_conv(const char *backend, const char *unit, enum hc_format format)
{
    const struct hc_unit *u = hc_unit_by_name(unit);
    struct hc_tensor x = drawn(hc_tensor4(format, IMAGES, H, W, C, NULL), 7);
    struct hc_tensor w = drawn(hc_tensor4(format, K, R, S, C, NULL), 8);
    struct hc_tensor y = drawn(hc_tensor4(format, IMAGES, P, Q, K, NULL), 9);
    struct hc_tensor outs[] = {made(hc_tensor4(HC_FP32, IMAGES, P, Q, K, NULL)),
                               made(hc_tensor4(HC_FP32, IMAGES, H, W, C, NULL)),
                               made(hc_tensor4(HC_FP32, K, R, S, C, NULL))};
    struct hc_call call = {.params.conv = {.stride = STRIDE, .pad = PAD, .tf32 = true}};
    call.op = HC_OP_conv2d;
    call.in[HC_CONV_FIRST] = x, call.in[HC_CONV_SECOND] = w, call.out[HC_CONV_RESULT] = outs[0];
    run(backend, &call, 2);
    check_forward(&call, u);
    call.op = HC_OP_conv2d_bwd_data;
    call.in[HC_CONV_FIRST] = y, call.out[HC_CONV_RESULT] = outs[1];
    run(backend, &call, 2);
    check_data(&call, u);
    call.op = HC_OP_conv2d_bwd_filter;
    call.in[HC_CONV_FIRST] = x, call.in[HC_CONV_SECOND] = y, call.out[HC_CONV_RESULT] = outs[2];
    run(backend, &call, 2);
    check_filter(&call, u);
}

Test(sim, convolutions_are_chains_without_the_padding)
{
    check_conv("sim-h100", "h100wgmma-fp16-fp32", HC_FP16);
    check_conv("sim-mi300", "mi300x-bf16-fp32", HC_BF16);
    check_conv("sim-a100", "a100-tf32-fp32", HC_FP32);
}

Test(sim, dot_is_one_chain)
{
    const struct hc_unit *u = hc_unit_by_name("b200-fp16-fp32");
    static struct chain chain;
    struct hc_call call = {.op = HC_OP_dot, .params.reduce.accumulator = HC_FP32};
    call.in[HC_REDUCE_X] = made(hc_tensor1(HC_FP16, 1500, NULL));
    call.in[HC_DOT_Y] = made(hc_tensor1(HC_FP16, 1500, NULL));
    call.out[HC_REDUCE_OUT] = made(hc_tensor1(HC_FP32, 1, NULL));
    for (int64_t i = 0; i < 1500; i++) {
        hc_tensor_set(&call.in[HC_REDUCE_X], i, hc_random_normal(14, 10, (uint64_t)i));
        hc_tensor_set(&call.in[HC_DOT_Y], i, hc_random_normal(14, 11, (uint64_t)i));
        term(&chain, &call.in[HC_REDUCE_X], i, &call.in[HC_DOT_Y], i);
    }
    run("sim-b200", &call, 2);
    expect(&call.out[HC_REDUCE_OUT], 0, u, end_of(&chain, u, 0));
}

/* Threads, and what a unit has no instruction for: there host's bits. */
static void same_bits(const char *one, int one_threads, const char *other, struct hc_call *call)
{
    struct hc_tensor *out = &call->out[HC_GEMM_OUT];
    struct hc_tensor first = made(*out);
    struct hc_tensor second = made(*out);
    out->data = first.data;
    run(one, call, one_threads);
    out->data = second.data;
    run(other, call, 3);
    cr_assert_eq(memcmp(first.data, second.data, hc_tensor_bytes(out)), 0, "%s", one);
}

Test(sim, threads_change_no_bits_and_host_does_the_rest)
{
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = 1}};
    call.in[HC_GEMM_A] = drawn(hc_tensor2(HC_FP16, 90, 600, NULL), 12);
    call.in[HC_GEMM_B] = drawn(hc_tensor2(HC_FP16, 600, 40, NULL), 13);
    call.out[HC_GEMM_OUT] = hc_tensor2(HC_FP16, 90, 40, NULL);
    same_bits("sim-h100", 1, "sim-h100", &call);
    same_bits("sim-mi300", 1, "sim-mi300", &call);
    same_bits("sim-bfmmla", 1, "host", &call);
}

Test(sim, claims_the_units_that_it_has)
{
    const struct hc_backend *h100 = hc_backend_by_name("sim-h100");
    struct hc_call call = {.op = HC_OP_gemm};
    cr_assert_not_null(h100);
    cr_assert_str_eq(h100->default_cases, "units/*");
    cr_assert_str_eq(h100->units[0]->name, "h100wgmma-fp16-fp32");
    for (int i = 0; i < HC_SIM_MACHINES; i++)
        for (const struct hc_unit *const *u = hc_sim_backends()[i]->units; *u; u++)
            cr_assert_null((*u)->variant_of, "%s", (*u)->name);
    call.in[HC_GEMM_A].format = call.in[HC_GEMM_B].format = HC_FP16;
    struct hc_accumulator a = hc_backend_accumulator(h100, &call);
    cr_assert(a.precision == 24 && a.block == 16 && a.extra_bits == 2 && a.truncates &&
              a.aligns_subnormals && !a.flushes);
    call.in[HC_GEMM_A].format = HC_E4M3;
    call.in[HC_GEMM_B].format = HC_E5M2;
    a = hc_backend_accumulator(h100, &call);
    cr_assert(a.precision == 14 && a.block == 32 && a.extra_bits == 0 && a.truncates &&
              a.aligns_subnormals && !a.flushes);
    a = hc_backend_accumulator(hc_backend_by_name("sim-a100"), &call); /* which has no such unit */
    cr_assert(a.precision == 24 && a.block == 1 && !a.truncates);
    call.in[HC_GEMM_A].format = call.in[HC_GEMM_B].format = HC_FP32;
    cr_assert_eq(hc_backend_accumulator(h100, &call).block, 1);
}

/* How many facts a backend tells of the products in bf16, and whether "loops" is among its own. */
struct told {
    int units, host;
    bool loops;
};

static void tell(const char *name, const char *fact, void *context)
{
    struct told *told = context;
    told->units += strcmp(name, "unit bf16") == 0;
    told->host += strcmp(name, "bf16 products") == 0;
    told->loops |= strcmp(name, "loops") == 0;
    cr_expect(*fact, "%s", name);
}

Test(sim, one_unit_is_named_for_the_products_in_bf16)
{
    for (int i = 0; i < HC_SIM_MACHINES; i++) {
        const struct hc_backend *backend = hc_sim_backends()[i];
        struct hc_queue *queue;
        struct told told = {0};
        cr_assert_eq(backend->open(backend, &queue, 1), HC_OK);
        backend->describe(queue, tell, &told);
        backend->close(queue);
        cr_expect(told.units + told.host == 1 && told.loops, "%s: %d and %d", backend->name,
                  told.units, told.host);
    }
}
