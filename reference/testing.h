/* Calls in memory of the test's own, and their references. */
#ifndef HC_REFERENCE_TESTING_H
#define HC_REFERENCE_TESTING_H

#include "reference.h"

#include <criterion/criterion.h>
#include <math.h>

enum { ROOM = 64 };

static float memory[HC_MAX_IN + HC_MAX_OUT][ROOM * ROOM];

static inline struct hc_tensor vector(int slot, int64_t n)
{
    return hc_tensor1(HC_FP32, n, memory[slot]);
}

static inline struct hc_exact reference(const struct hc_call *call, int out, int64_t i)
{
    return hc_reference_value(call, out, i);
}

static inline double value(const struct hc_call *call, int out, int64_t i)
{
    return reference(call, out, i).hi;
}

static inline void assert_near(double want, double got)
{
    cr_assert(fabs(want - got) <= 1e-14 * fabs(want), "want %.17g, got %.17g", want, got);
}

#endif
