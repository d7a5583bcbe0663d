/* Backends that cheat in what they depend on, which is the number of the call, what memory held, or
   the values, and in the state of the thread that they leave. */
#include "check/selftest/testing.h"

#include <fenv.h>
#include <math.h>

#ifdef __SSE__
#include <xmmintrin.h>

enum { FLUSH = 0x8040 }; /* of results, and of operands */
#endif

/* Every second call is off by one bit. */
static enum hc_status by_turns(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *y = &call->out[HC_FIRST];
    enum hc_status status = right(queue, call);
    if (calls++ % 2 && hc_tensor_count(y) > 0) {
        uint64_t was = hc_tensor_bits(y, 0);
        hc_tensor_set_bits(y, 0, was ^ 1);
        did |= !isnan(hc_tensor_get(y, 0));
    }
    return status;
}

/* Adds to what the output held, times nothing: a NaN or an infinity there stays. */
static enum hc_status onto_outputs(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *y = &call->out[HC_FIRST];
    bool plain = hc_tensor_count(y) > 0 && y->format != HC_I32;
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        plain &= y->data != call->in[i].data;
    double was = plain ? hc_tensor_get(y, 0) : 0;
    enum hc_status status = right(queue, call);
    if (plain) {
        uint64_t bits = hc_tensor_bits(y, 0);
        hc_tensor_set(y, 0, hc_tensor_get(y, 0) + was);
        did |= bits != hc_tensor_bits(y, 0) && !isnan(hc_tensor_get(y, 0));
    }
    return status;
}

/* Refuses what is hard: numbers that are not below 2^-8 and 2^8. */
static enum hc_status only_easy(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_FIRST];
    for (int64_t i = 0; i < hc_tensor_count(x); i++) {
        double size = fabs(hc_tensor_get(x, i));
        if (size != 0 && !(size > 0x1p-8 && size < 0x1p8)) {
            did = true;
            return hc_fail(HC_UNSUPPORTED, "%s is not for me", hc_ops[call->op].name);
        }
    }
    return right(queue, call);
}

/* Takes scratch for zeroed. */
static enum hc_status trusts_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    const unsigned char *scratch = call->scratch;
    float zero;
    memcpy(&zero, scratch + own_scratch(queue, call), sizeof zero);
    const struct hc_tensor *y = &call->out[HC_FIRST];
    enum hc_status status = right(queue, call);
    if (hc_tensor_count(y) > 0) {
        uint64_t bits = hc_tensor_bits(y, 0);
        hc_tensor_set(y, 0, hc_tensor_get(y, 0) + (double)zero);
        did |= bits != hc_tensor_bits(y, 0) && !isnan(hc_decode(y->format, bits));
    }
    return status;
}

static enum hc_status rounds_upward(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_status status = right(queue, call);
    did = fesetround(FE_UPWARD) == 0;
    return status;
}

static enum hc_status flushes_subnormals(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_status status = right(queue, call);
#ifdef __SSE__
    _mm_setcsr(_mm_getcsr() | FLUSH);
    did = true;
#endif
    return status;
}

static const struct cheat cheats[] = {
    {"is off by a bit every second time", by_turns, NULL, "does not repeat"},
    {"adds to what its outputs held", onto_outputs, NULL, "does not repeat"},
    {"refuses what is hard", only_easy, NULL, "by their values"},
    {"takes scratch for zeroed", trusts_scratch, more_scratch, "does not repeat"},
    {"leaves another rounding", rounds_upward, NULL, "another rounding than to nearest"},
#ifdef __SSE__
    {"leaves a thread without subnormals", flushes_subnormals, NULL, "flushed to zero"},
#endif
};

Test(cheat_state, fails_every_case_in_which_it_happens)
{
    for (size_t i = 0; i < sizeof cheats / sizeof cheats[0]; i++)
        run(&cheats[i], false, HC_STANDARD);
}

Test(cheat_state, fails_on_a_backend_with_memory_of_its_own)
{
    for (size_t i = 0; i < sizeof cheats / sizeof cheats[0]; i++)
        run(&cheats[i], true, HC_QUICK);
}
