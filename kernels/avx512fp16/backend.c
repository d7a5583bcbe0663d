/* AVX512-FP16 as a backend of its own: half arithmetic in hardware, to be held against the
   reference. One thread, the caller's memory. */
#include "backend.h"

#include "kernels/avx512fp16/avx512fp16.h"
#include "kernels/memory.h"
#include "op/cpu.h"

static const char *unavailable(void)
{
    return hc_cpu_lacks(HC_CPU_AVX512FP16);
}

/* Halves of a vector register. */
static const struct hc_border borders[] = {{HC_EXTENT_VECTOR, 32}, {HC_EXTENT_COUNT, 0}};

const struct hc_backend hc_backend_avx512fp16 = {
    .abi = HC_BACKEND_ABI,
    .name = "avx512fp16",
    .title = "half arithmetic of the CPU's vector unit, a few ops",
    .accumulator = {.precision = 11, .block = 1, .extra_bits = 0, .truncates = false},
    .borders = borders,
    .partial = true,
    .unavailable = unavailable,
    HC_IN_MEMORY,
#ifdef __x86_64__
    .kernel =
        {
            [HC_OP_cast] = hc_avx512fp16_cast,
            [HC_OP_add] = hc_avx512fp16_arithmetic,
            [HC_OP_sub] = hc_avx512fp16_arithmetic,
            [HC_OP_mul] = hc_avx512fp16_arithmetic,
            [HC_OP_div] = hc_avx512fp16_arithmetic,
            [HC_OP_sqrt] = hc_avx512fp16_arithmetic,
            [HC_OP_fma] = hc_avx512fp16_arithmetic,
        },
#endif
};
