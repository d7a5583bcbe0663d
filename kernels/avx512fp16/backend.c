/* AVX512-FP16 as a backend of its own: true half arithmetic, to be held against the reference. One
   thread, the caller's memory. */
#include "backend.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/avx512fp16/avx512fp16.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

struct hc_queue {
    char unused;
};

/* CPUID.7.0:EDX[23]; that the system saves the registers is part of what "avx512f" asks. */
static const char *unavailable(void)
{
#ifdef __x86_64__
    unsigned a;
    unsigned b;
    unsigned c;
    unsigned d;
    if (__builtin_cpu_supports("avx512f") && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
        (d >> 23 & 1))
        return NULL;
#endif
    return "this processor has no AVX512-FP16";
}

static enum hc_status open_queue(struct hc_queue **queue, int threads)
{
    (void)threads;
    *queue = malloc(sizeof **queue);
    return *queue ? HC_OK : hc_fail(HC_NO_MEMORY, "avx512fp16: no memory for a queue");
}

static void close_queue(struct hc_queue *queue)
{
    free(queue);
}

static void *allocate(struct hc_queue *queue, size_t bytes)
{
    (void)queue;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void release(struct hc_queue *queue, void *memory)
{
    (void)queue;
    free(memory);
}

static enum hc_status copy(struct hc_queue *queue, void *to, const void *from, size_t bytes)
{
    (void)queue;
    memcpy(to, from, bytes);
    return HC_OK;
}

const struct hc_backend hc_backend_avx512fp16 = {
    .abi = HC_BACKEND_ABI,
    .name = "avx512fp16",
    .title = "half arithmetic of the CPU's vector unit, a few ops",
    .accumulator = {.precision = 11, .block = 1, .extra_bits = 0, .truncates = false},
    .partial = true,
    .host_memory = true,
    .unavailable = unavailable,
    .open = open_queue,
    .close = close_queue,
    .allocate = allocate,
    .release = release,
    .upload = copy,
    .download = copy,
#ifdef __x86_64__
    .kernel =
        {
            [HC_OP_cast] = hc_avx512fp16_cast,
            [HC_OP_add] = hc_avx512fp16_add,
            [HC_OP_sub] = hc_avx512fp16_sub,
            [HC_OP_mul] = hc_avx512fp16_mul,
            [HC_OP_div] = hc_avx512fp16_div,
            [HC_OP_sqrt] = hc_avx512fp16_sqrt,
            [HC_OP_fma] = hc_avx512fp16_fma,
        },
#endif
};
