#include "train/parallel/partial.h"

#include <string.h>

#include "num/bits.h"

enum { BLOCK = 256 };

static void load(enum hc_format format, const void *data, int n, double x[BLOCK])
{
    const float *single = data;
    const uint16_t *half = data;
    if (format == HC_FP64)
        memcpy(x, data, (size_t)n * sizeof *x);
    else if (format == HC_FP32)
        for (int i = 0; i < n; i++)
            x[i] = (double)single[i];
    else if (format == HC_BF16)
        for (int i = 0; i < n; i++)
            x[i] = (double)hc_bf16_value(half[i]);
    else
        for (int i = 0; i < n; i++)
            x[i] = (double)hc_fp16_value(half[i]);
}

/* Rounds into fp32, and from there into a format of 16 bits. */
static void store(enum hc_format format, void *data, int n, const double x[BLOCK])
{
    float *single = data;
    uint16_t *half = data;
    if (format == HC_FP64)
        memcpy(data, x, (size_t)n * sizeof *x);
    else if (format == HC_FP32)
        for (int i = 0; i < n; i++)
            single[i] = (float)x[i];
    else if (format == HC_BF16)
        for (int i = 0; i < n; i++)
            half[i] = hc_bf16_bits((float)x[i]);
    else
        for (int i = 0; i < n; i++)
            half[i] = hc_fp16_bits((float)x[i]);
}

static int block_at(int64_t at, int64_t count)
{
    return count - at < BLOCK ? (int)(count - at) : BLOCK;
}

static size_t bytes_of(enum hc_format format, int64_t count)
{
    return (size_t)count * (size_t)hc_formats[format].bytes;
}

void hc_partial_begin(const struct hc_all_reduce *how, enum hc_format format, const void *from,
                      void *to, int64_t count)
{
    float divisor = (float)how->before;
    double factor = (double)(1 / divisor);
    double x[BLOCK];
    for (int64_t at = 0; at < count; at += BLOCK) {
        unsigned char *sum = (unsigned char *)to + bytes_of(how->sum, at);
        int n = block_at(at, count);
        load(format, (const unsigned char *)from + bytes_of(format, at), n, x);
        store(how->sum, sum, n, x);
        if (divisor == 1)
            continue;
        load(how->sum, sum, n, x);
        for (int i = 0; i < n; i++)
            x[i] = how->multiplies ? x[i] * factor : x[i] / (double)divisor;
        store(how->sum, sum, n, x);
    }
}

void hc_partial_add(enum hc_format sum, void *left, const void *right, int64_t count)
{
    double x[BLOCK];
    double y[BLOCK];
    for (int64_t at = 0; at < count; at += BLOCK) {
        unsigned char *to = (unsigned char *)left + bytes_of(sum, at);
        int n = block_at(at, count);
        load(sum, to, n, x);
        load(sum, (const unsigned char *)right + bytes_of(sum, at), n, y);
        for (int i = 0; i < n; i++)
            x[i] += y[i];
        store(sum, to, n, x);
    }
}

void hc_partial_end(enum hc_format sum, const void *from, enum hc_format format, void *to,
                    int64_t count)
{
    double x[BLOCK];
    for (int64_t at = 0; at < count; at += BLOCK) {
        int n = block_at(at, count);
        load(sum, (const unsigned char *)from + bytes_of(sum, at), n, x);
        store(format, (unsigned char *)to + bytes_of(format, at), n, x);
    }
}
