/* For the tests beside the kernels: tensors with memory of their own, a call, the reference's
   bits. */
#ifndef HC_KERNELS_EXACT_TESTING_H
#define HC_KERNELS_EXACT_TESTING_H

#include <criterion/criterion.h>
#include <stdlib.h>

#include "kernels/exact/exact.h"
#include "num/bits.h"
#include "reference.h"

/* All memory that was made, so that it stays reachable. A test is a process; nothing is freed. */
struct made_block {
    struct made_block *next;
    double first[]; /* double, for its alignment */
};
static struct made_block *all_made;

/* A copy of the shape with zeroed memory of its own. */
static inline struct hc_tensor made(struct hc_tensor t)
{
    struct made_block *block = calloc(1, sizeof *block + hc_tensor_bytes(&t));
    cr_assert_not_null(block);
    block->next = all_made;
    all_made = block;
    t.data = block->first;
    return t;
}

static inline struct hc_tensor vector_of(enum hc_format format, int64_t n, const double *values)
{
    struct hc_tensor t = made(hc_tensor1(format, n, NULL));
    for (int64_t i = 0; i < n; i++)
        hc_tensor_set(&t, i, values[i]);
    return t;
}

static inline void call_exact(struct hc_call *call)
{
    const struct hc_backend *exact = hc_backend_by_name("exact");
    size_t bytes = exact->scratch(NULL, call);
    cr_assert_eq(hc_call_check(call), HC_OK, "%s", hc_message());
    call->scratch = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
    cr_assert_eq(exact->kernel[call->op](NULL, call), HC_OK);
    free(call->scratch);
    call->scratch = NULL;
}

/* The reference's value of one output element, rounded once. */
static inline uint64_t wanted(const struct hc_call *call, int out, int64_t i)
{
    struct hc_exact want = hc_reference_value(call, out, i);
    return hc_encode(call->out[out].format, want.hi, want.lo, HC_NEAREST);
}

static inline bool same(enum hc_format format, uint64_t want, uint64_t got)
{
    double x = hc_decode(format, want);
    double y = hc_decode(format, got);
    return want == got || (x != x && y != y);
}

#endif
