/* AMX as a backend of its own: products of bf16 in tile registers, to be held against the reference
   and against the model of the instruction. One thread, the caller's memory. */
#ifdef HC_AMX
#define _GNU_SOURCE /* syscall */
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "backend.h"

#include "kernels/amx/amx.h"
#include "kernels/memory.h"
#include "kernels/pairs.h"
#include "op/cpu.h"
#include "unit/unit.h"

#ifdef HC_AMX

/* A process asks Linux once for the registers, which are large (ARCH_REQ_XCOMP_PERM, and the
   component of their data). A kernel that does not know them, or that withholds them, says no. */
enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };

/* Bits 17 and 18 of XCR0 say that the system saves the registers. */
static const char *look(void)
{
    unsigned a;
    unsigned b;
    unsigned c;
    unsigned d;
    if (hc_cpu_lacks(HC_CPU_AMX))
        return hc_cpu_lacks(HC_CPU_AMX);
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) /* OSXSAVE: xgetbv may be used */
        return "the system does not save AMX's registers";
    __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    if ((a >> 17 & 3) != 3)
        return "the system does not save AMX's registers";
    if (syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) != 0)
        return "the system does not permit AMX to this process";
    return NULL;
}

static size_t scratch(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    return hc_pairs_scratch(call, HC_AMX_PAIRS);
}

#else

static const char *look(void)
{
    return "the compiler that built this program has no AMX";
}

#endif

/* Filled in when the backend is first asked whether it is available. */
static const struct hc_unit *units[2];

static const struct hc_border borders[] = {{HC_EXTENT_TERMS, 2 * HC_AMX_PAIRS},
                                           {HC_EXTENT_GEMM_M, HC_PAIRS_TILE},
                                           {HC_EXTENT_GEMM_N, HC_PAIRS_TILE},
                                           {HC_EXTENT_GEMM_K, 2 * HC_AMX_PAIRS},
                                           {HC_EXTENT_COUNT, 0}};

static const char *unavailable(void)
{
    if (!units[0])
        units[0] = hc_unit_by_name("amx-bf16-fp32");
    return look();
}

const struct hc_backend hc_backend_amx = {
    .abi = HC_BACKEND_ABI,
    .name = "amx",
    .title = "bf16 products of the CPU's tile unit, a few ops",
    .accumulator =
        {.precision = 24, .block = 1, .extra_bits = 0, .truncates = false, .flushes = true},
    .borders = borders,
    .partial = true,
    .units = units,
    .unavailable = unavailable,
    HC_IN_MEMORY,
#ifdef HC_AMX
    .scratch = scratch,
    .kernel =
        {
            [HC_OP_dot] = hc_amx_products,
            [HC_OP_gemm] = hc_amx_products,
        },
#endif
};
