/* Numbers pass through fp32, in blocks that stay in the cache, or stay fp64 where they are. */
#include "comm/partial.h"

#include <assert.h>
#include <string.h>

#include "num/bits.h"

enum { BLOCK = 512 };

static void load_fp32(enum hc_format format, const void *data, int64_t at, int64_t n, float *to)
{
    const uint16_t *half = (const uint16_t *)data + at;
    switch (format) {
    case HC_FP16:
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            to[i] = hc_fp16_value(half[i]);
        break;
    case HC_BF16:
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            to[i] = hc_bf16_value(half[i]);
        break;
    default:
        assert(format == HC_FP32);
        memcpy(to, (const float *)data + at, (size_t)n * sizeof *to);
    }
}

/* Rounds to nearest. */
static void store(enum hc_format format, void *data, int64_t at, int64_t n, const float *from)
{
    uint16_t *half = (uint16_t *)data + at;
    switch (format) {
    case HC_FP16:
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            half[i] = hc_fp16_bits(from[i]);
        break;
    case HC_BF16:
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            half[i] = hc_bf16_bits(from[i]);
        break;
    default:
        assert(format == HC_FP32);
        memcpy((float *)data + at, from, (size_t)n * sizeof *from);
    }
}

static void round_into(enum hc_format format, float *x, int64_t n)
{
    if (format == HC_FP16) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            x[i] = hc_fp16_round(x[i]);
    } else if (format == HC_BF16) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            x[i] = hc_bf16_round(x[i]);
    }
}

/* Each number over d, or times 1 / d, which is rounded into fp32 here as the contract says. */
static void divide_block(const struct hc_all_reduce *how, double divisor, float *x, int64_t n)
{
    float d = (float)divisor;
    float reciprocal = 1 / d;
    if (d == 1)
        return;
    if (how->multiplies) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            x[i] *= reciprocal;
    } else {
#pragma omp simd
        for (int64_t i = 0; i < n; i++)
            x[i] /= d;
    }
    round_into(how->sum, x, n);
}

static void divide_fp64(const struct hc_all_reduce *how, double divisor, double *x, int64_t n)
{
    float d = (float)divisor;
    double by = how->multiplies ? (double)(1 / d) : (double)d;
    for (int64_t i = 0; i < n && d != 1; i++)
        x[i] = how->multiplies ? x[i] * by : x[i] / by;
}

void hc_partial_begin(const struct hc_all_reduce *how, enum hc_format format, const void *data,
                      int64_t n, void *sums)
{
    if (format == HC_FP64) {
        if (n > 0)
            memmove(sums, data, (size_t)n * sizeof(double));
        divide_fp64(how, how->before, sums, n);
        return;
    }
    for (int64_t at = 0; at < n; at += BLOCK) {
        float x[BLOCK];
        int64_t m = n - at < BLOCK ? n - at : BLOCK;
        load_fp32(format, data, at, m, x);
        if (format != how->sum)
            round_into(how->sum, x, m);
        divide_block(how, how->before, x, m);
        store(how->sum, sums, at, m, x);
    }
}

static void add_fp64(double *to, const double *from, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        to[i] += from[i];
}

static void add_fp32(float *to, const float *from, int64_t n)
{
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        to[i] += from[i];
}

/* A sum of two 16-bit numbers in fp32, rounded again, is rounded right: fp32 has more than twice
   their bits and two (kernels/element/collective.h). */
void hc_partial_add(enum hc_format sum, void *to, const void *from, int64_t n)
{
    if (sum == HC_FP64) {
        add_fp64(to, from, n);
        return;
    }
    if (sum == HC_FP32) {
        add_fp32(to, from, n);
        return;
    }
    for (int64_t at = 0; at < n; at += BLOCK) {
        float x[BLOCK];
        float y[BLOCK];
        int64_t m = n - at < BLOCK ? n - at : BLOCK;
        load_fp32(sum, to, at, m, x);
        load_fp32(sum, from, at, m, y);
        add_fp32(x, y, m);
        store(sum, to, at, m, x);
    }
}

void hc_partial_end(const struct hc_all_reduce *how, enum hc_format format, const void *sums,
                    int64_t n, void *data)
{
    if (format == HC_FP64) {
        if (n > 0)
            memmove(data, sums, (size_t)n * sizeof(double));
        divide_fp64(how, how->after, data, n);
        return;
    }
    for (int64_t at = 0; at < n; at += BLOCK) {
        float x[BLOCK];
        int64_t m = n - at < BLOCK ? n - at : BLOCK;
        load_fp32(how->sum, sums, at, m, x);
        divide_block(how, how->after, x, m);
        store(format, data, at, m, x);
    }
}
