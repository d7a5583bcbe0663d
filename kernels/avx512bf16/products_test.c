/* gemm and dot of the backends avx512bf16 and amx: which products an element takes, in which order,
   and from where, in every layout. The chains are those of the models; C is what they begin with,
   or is added to them. */
#include "kernels/avx512bf16/testing.h"

struct shape {
    int64_t m, n, k;
};

static bool is_amx;

static uint32_t chain_from(const uint32_t *a, const uint32_t *b, int64_t pairs, uint32_t c)
{
    for (int64_t i = 0; i < pairs; i += is_amx ? 16 : 1)
        c = is_amx ? model_tile(a + i, b + i, 1, pairs - i < 16 ? pairs - i : 16, c)
                   : model_pair(a[i], b[i], c);
    return c;
}

/* Tensors of numbers that are not small integers, so that another order gives other bits. */
static struct hc_tensor drawn_matrix(struct draws *d, enum hc_format format, int64_t rows,
                                     int64_t columns)
{
    struct hc_tensor t = hc_tensor2(format, rows, columns, NULL);
    t.data = calloc((size_t)(rows * columns) + 1, 4);
    cr_assert_not_null(t.data);
    for (int64_t i = 0; i < rows * columns; i++)
        hc_tensor_set(&t, i, from_bits(drawn_bf16(d, -4, 8) << 16));
    return t;
}

static uint32_t element(const struct hc_tensor *t, bool transposed, int64_t row, int64_t column)
{
    int64_t at = transposed ? column * t->shape[1] + row : row * t->shape[1] + column;
    return ((const uint16_t *)t->data)[at];
}

/* Element (i, j) of the call, by the chain over its pairs. */
static float wanted(const struct hc_call *call, int64_t i, int64_t j, int64_t k)
{
    const struct hc_gemm *p = &call->params.gemm;
    const struct hc_tensor *c = &call->in[HC_GEMM_C];
    uint32_t a[64] = {0};
    uint32_t b[64] = {0};
    for (int64_t l = 0; l < k; l++) {
        a[l / 2] |= element(&call->in[HC_GEMM_A], p->transpose_a, i, l) << 16 * (l % 2);
        b[l / 2] |= element(&call->in[HC_GEMM_B], p->transpose_b, l, j) << 16 * (l % 2);
    }
    float addend = 0;
    if (p->beta != 0)
        addend =
            (float)hc_tensor_get(c, c->rank == 1 ? j : i * call->out[HC_GEMM_OUT].shape[1] + j);
    bool begins = k > 0 && p->alpha == 1 && p->beta == 1 && c->format == HC_FP32;
    float sum = from_bits(chain_from(a, b, (k + 1) / 2, begins ? bits_of(addend) : 0));
    return begins ? sum : (float)p->alpha * sum + (float)p->beta * addend;
}

static void run(const struct hc_backend *backend, struct hc_call *call)
{
    size_t bytes = backend->scratch(NULL, call);
    cr_assert_eq(hc_call_check(call), HC_OK, "%s", hc_message());
    call->scratch = aligned_alloc(64, (bytes + 64) / 64 * 64);
    memset(call->scratch, 0xa5, bytes);
    cr_assert_eq(backend->kernel[call->op](NULL, call), HC_OK, "%s", hc_message());
    free(call->scratch);
}

static void hold(const struct hc_backend *backend, struct shape s, struct hc_gemm p,
                 enum hc_format of_c, enum hc_format out)
{
    struct draws d = {(uint64_t)(s.m * 10000 + s.n * 100 + s.k), 0};
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = p};
    call.in[HC_GEMM_A] =
        drawn_matrix(&d, HC_BF16, p.transpose_a ? s.k : s.m, p.transpose_a ? s.m : s.k);
    call.in[HC_GEMM_B] =
        drawn_matrix(&d, HC_BF16, p.transpose_b ? s.n : s.k, p.transpose_b ? s.k : s.n);
    call.in[HC_GEMM_C] = drawn_matrix(&d, of_c, s.m, s.n);
    call.out[HC_GEMM_OUT] = drawn_matrix(&d, out, s.m, s.n);
    if (p.transpose_a && p.transpose_b)
        call.in[HC_GEMM_C] = hc_tensor1(of_c, s.n, call.in[HC_GEMM_C].data);
    run(backend, &call);
    for (int64_t i = 0; i < s.m * s.n; i++) {
        double want = hc_round(out, wanted(&call, i / s.n, i % s.n, s.k));
        double got = hc_tensor_get(&call.out[HC_GEMM_OUT], i);
        cr_assert_eq(got, want, "%s %ldx%ldx%ld [%ld]: want %a, got %a", backend->name, (long)s.m,
                     (long)s.n, (long)s.k, (long)i, want, got);
    }
    for (int t = 0; t < 3; t++)
        free(call.in[t].data);
    free(call.out[HC_GEMM_OUT].data);
}

/* The backend, or NULL where it is not available. `is_amx` follows. */
static const struct hc_backend *one_of_both(int i)
{
    const struct hc_backend *backend = hc_backend_by_name(i == 0 ? "avx512bf16" : "amx");
    is_amx = i == 1;
    return backend->unavailable() ? NULL : backend;
}

Test(products, are_chained_as_the_model_says_in_every_layout)
{
    static const struct shape shapes[] = {{1, 1, 1},   {1, 1, 2},  {2, 3, 5},    {16, 16, 32},
                                          {17, 5, 33}, {5, 33, 7}, {33, 18, 67}, {0, 4, 3},
                                          {4, 0, 3},   {4, 5, 0}};
    static const double coefficients[][2] = {{1, 0}, {1, 1}, {-0.5, 0.25}};
    for (int which = 0; which < 2; which++)
        for (size_t s = 0; one_of_both(which) && s < sizeof shapes / sizeof shapes[0]; s++)
            for (int way = 0; way < 12; way++) {
                struct hc_gemm p = {.transpose_a = way & 1,
                                    .transpose_b = way & 2,
                                    .alpha = coefficients[way / 4][0],
                                    .beta = coefficients[way / 4][1]};
                hold(one_of_both(which), shapes[s], p, HC_FP32, HC_FP32);
                hold(one_of_both(which), shapes[s], p, HC_BF16, HC_BF16);
            }
}

Test(products, of_a_dot_are_one_chain)
{
    for (int which = 0; which < 2; which++)
        for (int64_t n = 0; one_of_both(which) && n < 70; n++) {
            struct draws d = {(uint64_t)n, 0};
            struct hc_call gemm = {.params.gemm = {.alpha = 1}};
            struct hc_call call = {.op = HC_OP_dot, .params.reduce = {HC_FP32}};
            call.in[HC_REDUCE_X] = gemm.in[HC_GEMM_A] = drawn_matrix(&d, HC_BF16, 1, n);
            call.in[HC_DOT_Y] = gemm.in[HC_GEMM_B] = drawn_matrix(&d, HC_BF16, n, 1);
            call.in[HC_REDUCE_X] = hc_tensor1(HC_BF16, n, call.in[HC_REDUCE_X].data);
            call.in[HC_DOT_Y] = hc_tensor1(HC_BF16, n, call.in[HC_DOT_Y].data);
            call.out[HC_REDUCE_OUT] = drawn_matrix(&d, HC_FP32, 1, 1);
            call.out[HC_REDUCE_OUT] = hc_tensor1(HC_FP32, 1, call.out[HC_REDUCE_OUT].data);
            run(one_of_both(which), &call);
            float want = wanted(&gemm, 0, 0, n);
            cr_assert_eq(hc_tensor_get(&call.out[HC_REDUCE_OUT], 0), want, "%d: dot of %ld", which,
                         (long)n);
        }
}

Test(products, are_refused_in_other_formats)
{
    for (int which = 0; which < 2; which++)
        for (int way = 0; one_of_both(which) && way < 3; way++) {
            struct draws d = {9, 0};
            enum hc_format in = way == 0 ? HC_FP16 : way == 1 ? HC_FP32 : HC_BF16;
            struct hc_tensor x = drawn_matrix(&d, in, 1, 8);
            struct hc_call call = {.op = HC_OP_dot, .in = {x, x}, .out = {x}};
            call.params.reduce.accumulator = way == 2 ? HC_BF16 : HC_FP32;
            cr_assert_eq(one_of_both(which)->kernel[HC_OP_dot](NULL, &call), HC_UNSUPPORTED);
        }
}
