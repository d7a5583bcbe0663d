/* No unit at all: a backend that says it has one, and sums in fp32 as `exact` does. It does not
   take `host`, which may use the very unit of the CPU. */
#include <assert.h>
#include <stdlib.h>

#include "check/selftest/change.h"

/* The product as `exact` has it, on a queue that is never closed. */
static enum hc_status in_fp32(const struct hc_fault_site *site, struct hc_queue *queue,
                              const struct hc_call *call)
{
    static struct hc_queue *own;
    const struct hc_backend *exact = hc_backend_by_name("exact");
    struct hc_call same = *call;
    (void)site, (void)queue;
    enum hc_status status = own ? HC_OK : hc_backend_open(exact, &own, 1);
    if (status != HC_OK)
        return status;
    size_t bytes = exact->scratch ? exact->scratch(own, call) : 0;
    void *scratch = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
    assert(!bytes || scratch);
    same.scratch = scratch;
    status = exact->kernel[call->op](own, &same);
    free(scratch);
    return status;
}

#define IN_FP32(machine, probe)                                                                    \
    {                                                                                              \
        .name = "unit-is-fp32-" machine, .title = machine "'s unit is said, and fp32 sums",        \
        .class_ = HC_FAULT_UNIT, .ops = "gemm",                                                    \
        .patterns = "units/" probe " units/by-big-integers", .backend = "sim-" machine,            \
        .wrong = in_fp32                                                                           \
    }

static const struct hc_fault faults[] = {
    IN_FP32("v100", "fasi/d4-cut"),
    IN_FP32("t4", "fasi/d4-cut"),
    IN_FP32("a100", "fasi/d4-cut"),
    IN_FP32("l40", "fasi/d4-cut"),
    IN_FP32("h100", "mma-sim/discrepancy"),
    IN_FP32("b200", "mma-sim/discrepancy"),
    IN_FP32("mi100", "mma-sim/discrepancy"),
    IN_FP32("mi250", "fasi/a2"),
    IN_FP32("mi300", "fasi/c1"),
    IN_FP32("avx512bf16", "order"),
    IN_FP32("amx", "sliver/three-quarters"),
    IN_FP32("bfmmla", "pieces"),
};

HC_FAULTS(units_in_fp32, faults);
