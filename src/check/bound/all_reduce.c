/* all_reduce: the bits in the stated order, and the error in any order.

   The bits are computed here one operation at a time, each rounded from its exact value, and with
   the orders written from the top: the last addition first. Kernels write them from the bottom.

   The error in any order, for numbers of the real average m = (sum x_r) / (before after), with
   S = (sum |x_r|) / (before after), which is the reference's magnitude. f is the format `sum`, u
   its unit roundoff, t its smallest number; w is fp32 (fp64 in fp64) with u_w and t_w. Between an
   operand and its rounding lie at most u of it and half of t; a sum of numbers of f that is below
   f's normal numbers is exact, so that sums lose nothing to t.

     1. x_r into f, where f does not hold x's format:  E1 = u S1 + R t / 2, S1 = sum |x_r|.
     2. Over b = `before`, if it is not 1. Rounded into w: by at most c of it, and t_w / 2; c = u_w,
        or, where x is multiplied by r = w(1 / b): c = rho + u_w (1 + rho), rho = |r b - 1|, which
        is known exactly. Then into f, if f is not w: u of what is there, and t / 2.
        E2 = E1 / b + c M + R t_w / 2, M = (S1 + E1) / b, and with the second rounding
        E2 + u (M + E2') + R t / 2.
     3. R - 1 additions in any order, each of which errs by at most u of its result: with the
        magnitudes S2 = S1 / b + E2 as they come in, E3 = E2 + ((1 + u)^(R - 1) - 1) S2.
     4. Over a = `after`, as in 2, for one number of at most |sum x_r| / b + E3.

   Where the numbers on the way may exceed f, one order may overflow and another may not, and the
   bound is infinite. That holds for the stated order, too: there the bits say which. */
#include <math.h>

#include "check/bound/rules.h"
#include "num/ulp.h"

/* A call's numbers, and the element. */
struct average {
    const struct hc_all_reduce *p;
    const struct hc_tensor *x;
    enum hc_format sum;
    enum hc_format work;
    int64_t ranks;
    int64_t count;
    int64_t index;
};

static struct average average_of(const struct hc_element *e)
{
    const struct hc_call *call = e->call;
    const struct hc_tensor *x = &call->in[HC_ALL_REDUCE_X];
    return (struct average){&call->params.all_reduce,
                            x,
                            call->params.all_reduce.sum,
                            hc_bound_work(call),
                            x->shape[0],
                            x->shape[1],
                            e->index};
}

/* x + y, rounded once. The sum is exactly value + rest (Knuth's TwoSum). */
static double added(const struct average *a, double x, double y)
{
    double value = x + y;
    double share = value - x;
    double rest = isfinite(value) ? (x - (value - share)) + (y - share) : 0;
    return hc_decode(a->sum, hc_encode(a->sum, value, rest, HC_NEAREST));
}

/* x over the divisor, rounded into w and then into f. A product of numbers of fp32 is exact here;
   what a quotient lacks is the remainder over the divisor, and its sign decides. */
static double divided(const struct average *a, double divisor, double x)
{
    double d = (double)(float)divisor;
    double r = (double)(1 / (float)divisor);
    double value = a->p->multiplies ? x * r : x / d;
    double rest = 0;
    if (d == 1)
        return x;
    if (!a->p->multiplies && isfinite(value) && a->work == HC_FP32)
        rest = fma(-value, d, x) / d;
    value = hc_decode(a->work, hc_encode(a->work, value, rest, HC_NEAREST));
    return hc_round(a->sum, value);
}

static double leaf(const struct average *a, int64_t rank)
{
    double x = hc_tensor_get(a->x, rank * a->count + a->index);
    return divided(a, a->p->before, hc_round(a->sum, x));
}

/* The sum over ranks first .. first + n - 1: the left part has the largest power of two below n. */
static double tree(const struct average *a, int64_t first, int64_t n)
{
    int64_t left = 1;
    if (n == 1)
        return leaf(a, first);
    while (2 * left < n)
        left *= 2;
    return added(a, tree(a, first, left), tree(a, first + left, n - left));
}

/* Those of 2^k ranks that are `first` modulo `stride`. The last exchange is between neighbours. */
static double halving(const struct average *a, int64_t first, int64_t stride, int64_t power)
{
    if (stride < power)
        return added(a, halving(a, first, 2 * stride, power),
                     halving(a, first + stride, 2 * stride, power));
    return first + power < a->ranks ? added(a, leaf(a, first), leaf(a, first + power))
                                    : leaf(a, first);
}

/* From the rank behind the chunk's own one, all the way round to that. */
static double ring(const struct average *a, int64_t chunk)
{
    double sum = leaf(a, (chunk + 1) % a->ranks);
    for (int64_t n = 1; n < a->ranks; n++)
        sum = added(a, sum, leaf(a, (chunk + 1 + n) % a->ranks));
    return sum;
}

/* The chunk of the element: the last one that begins at or before it. */
static int64_t chunk_of(const struct average *a)
{
    int64_t chunk = 0;
    int64_t begin = 0;
    for (int64_t c = 0; c < a->ranks; c++) {
        if (begin <= a->index)
            chunk = c;
        begin += a->count / a->ranks + (c < a->count % a->ranks ? 1 : 0);
    }
    return chunk;
}

bool hc_bound_over_ranks(const struct hc_element *e, uint64_t *bits)
{
    if (e->call->op != HC_OP_all_reduce)
        return false;
    struct average a = average_of(e);
    int64_t power = 1;
    while (2 * power <= a.ranks)
        power *= 2;
    double sum = a.p->algorithm == HC_COLLECTIVE_TREE   ? tree(&a, 0, a.ranks)
                 : a.p->algorithm == HC_COLLECTIVE_RING ? ring(&a, chunk_of(&a))
                                                        : halving(&a, 0, 1, power);
    *bits = hc_encode(e->call->out[e->out].format, divided(&a, a.p->after, sum), 0, HC_NEAREST);
    return true;
}

/* Step 2 or 4: n numbers of magnitudes that come to `most`, and err by `error` together. */
static double quotients(const struct average *a, double divisor, double n, double most,
                        double error)
{
    double d = (double)(float)divisor;
    double rho = a->p->multiplies ? fabs(fma((double)(1 / (float)divisor), d, -1)) : 0;
    double c = rho + hc_format_unit(a->work) * (1 + rho);
    if (d == 1)
        return error;
    double there = (most + error) / d;
    error = error / d + c * there + n * hc_half_ulp(a->work, 0);
    if (a->sum != a->work)
        error += hc_format_unit(a->sum) * (most / d + error) + n * hc_half_ulp(a->sum, 0);
    return error;
}

/* Whether f holds every number of the format. */
static bool holds(enum hc_format f, enum hc_format format)
{
    return hc_formats[f].precision >= hc_formats[format].precision &&
           hc_format_tiny(f) <= hc_format_tiny(format) && hc_format_max(f) >= hc_format_max(format);
}

/* Whether a finite number of x is none in f. */
static bool overflows(const struct average *a)
{
    for (int64_t rank = 0; rank < a->ranks && !holds(a->sum, a->x->format); rank++) {
        double x = hc_tensor_get(a->x, rank * a->count + a->index);
        if (isfinite(x) && !isfinite(hc_round(a->sum, x)))
            return true;
    }
    return false;
}

double hc_bound_all_reduce(const struct hc_element *e, const struct hc_accumulator *accumulator,
                           const struct hc_exact *want)
{
    const double up = 1 + 0x1p-40; /* the roundings of this computation, some tens of 2^-53 */
    struct average a = average_of(e);
    double before = (double)(float)a.p->before;
    double after = (double)(float)a.p->after;
    double u = hc_format_unit(a.sum);
    double n = (double)a.ranks;
    double most = want->magnitude * before * after * up;
    (void)accumulator;
    if (overflows(&a))
        return (double)INFINITY;
    double error = holds(a.sum, a.x->format) ? 0 : u * most + n * hc_half_ulp(a.sum, 0);
    error = quotients(&a, before, n, most, error);
    double magnitude = most / before + error;
    error += expm1((n - 1) * log1p(u)) * magnitude;
    double largest = most / before + error;
    double sum = isfinite(want->hi) ? fabs(want->hi) * after * up : 0;
    error = quotients(&a, after, 1, sum, error);
    largest = fmax(largest, sum / after + error);
    return largest <= hc_format_max(a.sum) ? error * up : (double)INFINITY;
}
