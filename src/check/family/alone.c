/* Special numbers that lie alone in a call: a kernel may be blind to one kind of them, or to one
   place, and among many of them the others give it away. */
#include <assert.h>
#include <math.h>

#include "check/check_inner.h"
#include "check/family/kit.h"

/* inf - inf is a NaN with a sign on x86 and one without it on GPUs. */
static const double specials[] = {(double)INFINITY, -(double)INFINITY, (double)NAN, -(double)NAN};
enum { SPECIALS = sizeof specials / sizeof specials[0], PLACES = 6 };

/* The first, the middle and the last element, and those on both sides of a power of two, which is
   where vectors, cache lines and threads' shares end. */
static bool is_tried(int64_t at, int64_t n)
{
    bool border = at == 0 || at == n / 2 || at == n - 1;
    for (int64_t b = 4; b <= n && !border; b *= 2)
        border = at == b - 1 || at == b;
    return border;
}

/* Puts the number there, runs the call, and takes it away again. */
static bool try_one(struct hc_check *check, const struct hc_call *call,
                    const struct hc_alone *alone, int64_t at, double special,
                    struct hc_comparisons *all)
{
    const struct hc_tensor *x = &call->in[alone->slot];
    double before = hc_tensor_get(x, at);
    hc_tensor_set(x, at, special);
    if (alone->place)
        alone->place(call, at);
    bool ran = hc_do(check, call) == HC_OK;
    all->checked += ran;
    if (ran && !alone->is_right(call, at, special))
        hc_comparisons_wrong(all, "%g alone at element %lld of %lld is not found", special,
                             (long long)at, (long long)hc_tensor_count(x));
    hc_tensor_set(x, at, before);
    return ran;
}

static bool try_all(struct hc_check *check, const struct hc_call *call,
                    const struct hc_alone *alone, struct hc_comparisons *all)
{
    int64_t n = hc_tensor_count(&call->in[alone->slot]);
    for (int64_t at = 0; at < n; at++)
        for (int k = 0; is_tried(at, n) && k < SPECIALS; k++)
            if (!try_one(check, call, alone, at, specials[k], all))
                return false;
    return true;
}

static const char what[] = "special numbers that lie alone";

void hc_claim_alone(struct hc_check *check, const struct hc_call *call,
                    const struct hc_alone *alone)
{
    struct hc_comparisons all = {.what = what};
    if (try_all(check, call, alone, &all))
        hc_claim_comparisons(check, &all);
}

void hc_claim_alone_late(struct hc_check *check, const struct hc_call *call,
                         const struct hc_alone *alone)
{
    enum { BLOCKS = 1 << 16, LONG = 1 << 20 };
    static const int turns[PLACES] = {0, 1, 2, 1, 3, 0};
    int64_t n = hc_tensor_count(&call->in[alone->slot]);
    assert(n > 1); /* a large call has more */
    int64_t late = n > LONG ? LONG : n > BLOCKS ? BLOCKS : n / 2;
    const int64_t places[PLACES] = {0,        late == LONG ? BLOCKS : n / 2 % late,
                                    late - 1, /* before */
                                    late,     late + (n - late) / 2,
                                    n - 1};
    struct hc_comparisons all = {.what = what};
    for (int p = 0; p < PLACES; p++)
        if (!try_one(check, call, alone, places[p], specials[turns[p]], &all))
            return;
    if (hc_check_level(check) != HC_EXHAUSTIVE || try_all(check, call, alone, &all))
        hc_claim_comparisons(check, &all);
}
