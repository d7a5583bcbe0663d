/* The exhaustive sweeps against the bare arithmetic that they check, both over the same 2^32 inputs
   on all cores. */
#include <assert.h>

#include "bench.h"
#include "check/sweep/sweep.h"
#include "check/check_inner.h"
#include "op/cpu.h"

#ifdef __x86_64__
#include <immintrin.h>

#define VECTOR __attribute__((target("avx512f,avx512bw,avx512vl")))

enum { STEPS = 1 << 16, BLOCK = 4096 }; /* steps of 65,536 inputs each */

static volatile unsigned sink; /* keeps the compiler from leaving the work out */

VECTOR static unsigned fold(__m256i bits)
{
    unsigned words[8];
    _mm256_storeu_si256((__m256i *)words, bits);
    return words[0] ^ words[3] ^ words[7];
}

/* Only vcvtps2ph, in one direction, over counted inputs. */
VECTOR static unsigned convert_step(unsigned step, int direction)
{
    __m512i x =
        _mm512_add_epi32(_mm512_set1_epi32((int)(step << 16)),
                         _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    __m256i bits = _mm256_setzero_si256();
    for (int i = 0; i < 65536; i += 16) {
        __m512 value = _mm512_castsi512_ps(x);
        __m256i h = direction == 0   ? _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT)
                    : direction == 1 ? _mm512_cvtps_ph(value, _MM_FROUND_TO_ZERO)
                    : direction == 2 ? _mm512_cvtps_ph(value, _MM_FROUND_TO_POS_INF)
                                     : _mm512_cvtps_ph(value, _MM_FROUND_TO_NEG_INF);
        bits = _mm256_xor_si256(bits, h);
        x = _mm512_add_epi32(x, _mm512_set1_epi32(16));
    }
    return fold(bits);
}

static void bare_conversions(void *context)
{
    (void)context;
    unsigned bits = 0;
#pragma omp parallel for reduction(^ : bits)
    for (unsigned step = 0; step < STEPS; step++)
        for (int direction = 0; direction < 4; direction++)
            bits ^= convert_step(step, direction);
    sink = bits;
}

/* One x with all y: vcvtph2ps, the operation in fp32, vcvtps2ph. */
VECTOR static unsigned operate_step(unsigned step, enum hc_op op)
{
    __m512 x = _mm512_cvtph_ps(_mm256_set1_epi16((short)step));
    __m256i y = _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    __m256i bits = _mm256_setzero_si256();
    for (int i = 0; i < 65536; i += 16) {
        __m512 z = _mm512_cvtph_ps(y);
        z = op == HC_OP_add   ? _mm512_add_ps(x, z)
            : op == HC_OP_mul ? _mm512_mul_ps(x, z)
                              : _mm512_div_ps(x, z);
        bits = _mm256_xor_si256(bits, _mm512_cvtps_ph(z, _MM_FROUND_TO_NEAREST_INT));
        y = _mm256_add_epi16(y, _mm256_set1_epi16(16));
    }
    return fold(bits);
}

struct subject {
    struct hc_check check;
    enum hc_op op;
};

static void bare_pairs(void *context)
{
    const struct subject *s = context;
    unsigned bits = 0;
#pragma omp parallel for reduction(^ : bits)
    for (unsigned step = 0; step < STEPS; step++)
        bits ^= operate_step(step, s->op);
    sink = bits;
}

/* The backend's kernel over the same pairs, in blocks as in the sweep, without comparing
   anything. */
static void kernel_pairs(void *context)
{
    const struct subject *s = context;
    const struct hc_backend *backend = s->check.backend;
#pragma omp parallel
    {
        uint16_t x[BLOCK];
        uint16_t y[BLOCK];
        uint16_t out[BLOCK];
        struct hc_call call = {.op = s->op};
        call.in[HC_X] = hc_tensor1(HC_FP16, BLOCK, x);
        call.in[HC_Y] = hc_tensor1(HC_FP16, BLOCK, y);
        call.out[HC_OUT] = hc_tensor1(HC_FP16, BLOCK, out);
        struct hc_queue *queue;
        enum hc_status status = hc_backend_open(backend, &queue, 1);
        assert(status == HC_OK);
#pragma omp for
        for (unsigned step = 0; step < STEPS; step++) {
            for (unsigned i = 0; i < BLOCK; i++) {
                x[i] = (uint16_t)step;
                y[i] = (uint16_t)i;
            }
            for (unsigned from = 0; from < 65536 && status == HC_OK; from += BLOCK)
                status = backend->kernel[s->op](queue, &call);
        }
        assert(status == HC_OK);
        backend->close(queue);
    }
}

static void sweep_conversions(void *context)
{
    struct subject *s = context;
    for (int d = 0; d < HC_DIRECTION_COUNT; d++)
        hc_sweep_from_fp32(&s->check, HC_FP16, (enum hc_direction)d);
    hc_check_end(&s->check);
}

static void sweep_pairs(void *context)
{
    struct subject *s = context;
    hc_sweep_pairs(&s->check, s->op, HC_FP16);
    hc_check_end(&s->check);
}

/* Opens the subject. Returns false, with the reason reported, if there is nothing to measure. */
static bool prepare(struct hc_bench_run *run, struct subject *s, const char *backend)
{
    s->check.backend = hc_backend_by_name(backend);
    s->check.level = HC_EXHAUSTIVE;
    const char *why = s->check.backend->unavailable ? s->check.backend->unavailable() : NULL;
    if (!why)
        why = hc_cpu_lacks(HC_CPU_AVX512);
    if (!why && hc_backend_open(s->check.backend, &s->check.queue, 0) != HC_OK)
        why = hc_message();
    if (why)
        hc_bench_skip(run, why);
    return !why;
}

static void finish(const struct subject *s)
{
    s->check.backend->close(s->check.queue);
    assert(s->check.result.verdict == HC_PASS);
}

static void conversions_on(struct hc_bench_run *run, const char *backend)
{
    struct subject s = {.op = HC_OP_cast};
    double seconds[2];
    void (*const works[])(void *) = {sweep_conversions, bare_conversions};
    if (!prepare(run, &s, backend))
        return;
    hc_bench_time(works, 2, &s, 1, 0, seconds);
    finish(&s);
    hc_bench_rate(run, &(struct hc_rate){.what = backend,
                                         .rate = 0x1p34 / seconds[0],
                                         .unit = "inputs/s",
                                         .against = "vcvtps2ph alone",
                                         .other = 0x1p34 / seconds[1],
                                         .least = 1.0 / 3});
}

static void pairs_on(struct hc_bench_run *run, enum hc_op op, const char *backend)
{
    struct subject s = {.op = op};
    double seconds[3];
    char what[64];
    void (*const works[])(void *) = {sweep_pairs, kernel_pairs, bare_pairs};
    if (!prepare(run, &s, backend))
        return;
    hc_bench_time(works, 3, &s, 1, 0, seconds);
    finish(&s);
    (void)snprintf(what, sizeof what, "%s on %s", hc_ops[op].name, backend);
    struct hc_rate rate = {.what = what,
                           .rate = 0x1p32 / seconds[0],
                           .unit = "inputs/s",
                           .against = "its kernel alone",
                           .other = 0x1p32 / seconds[1]};
    hc_bench_rate(run, &rate);
    rate.against = "bare fp32 instructions in registers";
    rate.other = 0x1p32 / seconds[2];
    hc_bench_rate(run, &rate);
}

static void conversions(struct hc_bench_run *run)
{
    conversions_on(run, "host");
    conversions_on(run, "avx512fp16");
}

static void pairs(struct hc_bench_run *run)
{
    pairs_on(run, HC_OP_add, "host");
    pairs_on(run, HC_OP_add, "avx512fp16");
    pairs_on(run, HC_OP_mul, "host");
    pairs_on(run, HC_OP_mul, "avx512fp16");
}
#else
static void conversions(struct hc_bench_run *run)
{
    hc_bench_skip(run, "the bare loops are for x86-64");
}

static void pairs(struct hc_bench_run *run)
{
    hc_bench_skip(run, "the bare loops are for x86-64");
}
#endif

static const struct hc_bench benches[] = {
    {.name = "sweep/conversions",
     .title = "fp32 to fp16 in four directions, all inputs, against vcvtps2ph alone",
     .run = conversions},
    {.name = "sweep/pairs",
     .title = "all pairs of fp16 values against the arithmetic without any comparison",
     .run = pairs},
};

const struct hc_bench_table hc_benches_sweep;
const struct hc_bench_table hc_benches_sweep = {benches, 2};
