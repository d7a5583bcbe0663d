/* AVX512_BF16 as a backend of its own: products of bf16 in vector registers, to be held against the
   reference and against the model of the instruction. One thread, the caller's memory. */
#include "backend.h"

#include "kernels/avx512bf16/avx512bf16.h"
#include "kernels/memory.h"
#include "kernels/pairs.h"
#include "op/cpu.h"
#include "unit/unit.h"

static const char *look(void)
{
#ifdef HC_AVX512BF16
    return hc_cpu_lacks(HC_CPU_AVX512BF16);
#else
    return "the compiler that built this program has no AVX512_BF16";
#endif
}

#ifdef HC_AVX512BF16
static size_t scratch(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    return hc_pairs_scratch(call, 1);
}
#endif

/* Filled in when the backend is first asked whether it is available. */
static const struct hc_unit *units[2];

static const struct hc_border borders[] = {{HC_EXTENT_TERMS, 2},
                                           {HC_EXTENT_GEMM_M, HC_PAIRS_TILE},
                                           {HC_EXTENT_GEMM_N, HC_PAIRS_TILE},
                                           {HC_EXTENT_GEMM_K, 2},
                                           {HC_EXTENT_COUNT, 0}};

static const char *unavailable(void)
{
    if (!units[0])
        units[0] = hc_unit_by_name("avx512bf16-bf16-fp32");
    return look();
}

const struct hc_backend hc_backend_avx512bf16 = {
    .abi = HC_BACKEND_ABI,
    .name = "avx512bf16",
    .title = "bf16 products of the CPU's vector unit, a few ops",
    .accumulator =
        {.precision = 24, .block = 1, .extra_bits = 0, .truncates = false, .flushes = true},
    .borders = borders,
    .partial = true,
    .units = units,
    .unavailable = unavailable,
    HC_IN_MEMORY,
#ifdef HC_AVX512BF16
    .scratch = scratch,
    .kernel =
        {
            [HC_OP_dot] = hc_avx512bf16_products,
            [HC_OP_gemm] = hc_avx512bf16_products,
        },
#endif
};
