/* The inner loops for any CPU. */
#include "num/directed.h"

static void load_whole(const float *from, int64_t n, float *to)
{
    memcpy(to, from, (size_t)n * sizeof *to);
}

static void load_half(const uint16_t *from, int64_t n, float *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = hc_fp16_value(from[i]);
}

static void store_half(const float *from, int64_t n, uint16_t *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = hc_fp16_bits(from[i]);
}

static void store_half_directed(enum hc_direction direction, const float *from, int64_t n,
                                uint16_t *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = hc_fp16_directed(from[i], direction);
}

#define LOOPS      hc_host_loops_portable
#define LOOPS_NAME "portable"
#include "kernels/host/loops.inc"
