/* Which of the CPU's units multiplies bf16, found at run time. */
#define _GNU_SOURCE
#include "kernels/host/native/native.h"

#include <stdatomic.h>
#include <string.h>

#include "kernels/conv_shape.h"
#include "op/cpu.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool has_avx512_bf16(void)
{
    return !hc_cpu_lacks(HC_CPU_AVX512BF16);
}

/* With Linux's leave to keep the tiles' registers, number 18. */
static bool has_amx_bf16(void)
{
    enum { ASK = 0x1023, TILE_DATA = 18 };
    return has_avx512_bf16() && !hc_cpu_lacks(HC_CPU_AMX) &&
           syscall(SYS_arch_prctl, ASK, TILE_DATA) == 0;
}

/* Whether VDPBF16PS makes more products in a cycle than fp32 does. Sapphire Rapids takes two cycles
   for one of 512 bits and starts two multiplications and additions in fp32 in each: half as many
   products in bf16 (measured, docs/speed.md). AMD's cores start one of either in a cycle, by what
   is published of Zen 4, and so make twice as many (not measured). The maker decides, and not a
   measurement at the start: results must not depend on how busy the machine is. */
static bool is_amd(void)
{
    unsigned a;
    unsigned name[3] = {0};
    return __get_cpuid(0, &a, &name[0], &name[2], &name[1]) &&
           memcmp(name, "AuthenticAMD", sizeof name) == 0;
}

static const struct hc_native units[] = {
    {"amx", "amx: TDPBF16PS, in fp32, flushing",
     "amx: TDPBF16PS on two parts of each number, in fp32 (convolutions)", hc_product16_amx,
     has_amx_bf16, NULL},
    {"avx512bf16", "avx512bf16: VDPBF16PS, in fp32, flushing", NULL, hc_product16_avx512,
     has_avx512_bf16, is_amd},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
#else
static const struct hc_native units[] = {{NULL, NULL, NULL, NULL, NULL, NULL}};
#endif

static const struct hc_native none;
static const struct hc_native *_Atomic chosen; /* NULL: nobody has asked; &none: there is none */

static const struct hc_native *first_that_pays(void)
{
    const struct hc_native *u = units;
    while (u->name && (!u->runs() || (u->pays && !u->pays())))
        u++;
    return u->name ? u : &none;
}

const struct hc_native *hc_native(void)
{
    const struct hc_native *u = atomic_load(&chosen);
    if (!u) {
        u = first_that_pays();
        atomic_store(&chosen, u);
    }
    return u == &none ? NULL : u;
}

enum hc_status hc_native_set(const char *name)
{
    const struct hc_native *u = units;
    while (u->name && strcmp(u->name, name) != 0)
        u++;
    if (strcmp(name, "on") == 0)
        u = first_that_pays();
    else if (strcmp(name, "off") == 0)
        u = &none;
    else if (!u->name)
        return hc_fail(HC_INVALID, "native is on, off, amx or avx512bf16, not '%.40s'", name);
    else if (!u->runs())
        return hc_fail(HC_INVALID, "native=%s: this processor has no such instructions", name);
    atomic_store(&chosen, u);
    return HC_OK;
}

struct op {
    hc_kernel *kernel;
    size_t (*scratch)(struct hc_queue *queue, const struct hc_call *call);
};

static const struct op ops[HC_OP_ROOM] = {
    [HC_OP_gemm] = {hc_native_gemm, hc_native_gemm_scratch},
    [HC_OP_conv2d] = {hc_native_conv, hc_native_conv_scratch},
    [HC_OP_conv2d_bwd_data] = {hc_native_conv, hc_native_conv_scratch},
    [HC_OP_conv2d_bwd_filter] = {hc_native_filter, hc_native_filter_scratch},
};

/* Whether a convolution in fp16 is worth four products in bf16: its channels fill whole tiles on
   both sides, and not most of it is padding, as it is backward to images of 2 x 2. From so many
   terms on the bound of product16.h holds. */
static bool splits(const struct hc_call *call)
{
    enum { TERMS = 16, TINY_IMAGE = 4 };
    if (call->op == HC_OP_gemm)
        return false;
    struct hc_conv_shape g = hc_conv_shape_of(call);
    bool tiny = call->op == HC_OP_conv2d_bwd_data && g.h * g.w <= TINY_IMAGE && g.r > 1;
    return g.c % HC_TILE16_TERMS == 0 && g.k % HC_TILE16_TERMS == 0 && !tiny &&
           hc_call_length(call) >= TERMS;
}

bool hc_native_takes(const struct hc_call *call)
{
    enum hc_format format = call->in[HC_FIRST].format;
    const struct hc_native *unit = hc_native();
    if (!ops[call->op].kernel || !unit)
        return false;
    return format == HC_BF16 || (format == HC_FP16 && unit->fact_fp16 && splits(call));
}

enum hc_status hc_native_run(struct hc_queue *queue, const struct hc_call *call)
{
    return ops[call->op].kernel(queue, call);
}

size_t hc_native_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    return ops[call->op].scratch(queue, call);
}
