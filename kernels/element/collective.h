/* One element of all_reduce (op/collective.h).

   Both trees are sums of neighbours over a list of contributions: the ranks as they are, or, for
   recursive halving, the ranks by their reversed bits, since its last pair is (0, 1) and its first
   one (0, R / 2). Such a sum needs no memory of all its terms. As in a binary counter, when the
   contribution k is done, every bit of k that ends in ones stands for a finished sum of as many
   contributions, which is then the left partner of the next one.

   hc_into after a sum or a quotient in fp32 rounds a second time. A sum of two 16-bit numbers of p
   bits is still rounded right, since fp32 has 2 p + 2 bits or more (Figueroa, When is double
   rounding innocuous?, 1995). The two roundings of a quotient are part of the contract. */
#ifndef HC_KERNELS_ELEMENT_COLLECTIVE_H
#define HC_KERNELS_ELEMENT_COLLECTIVE_H

#include <stdint.h>

#include "kernels/element/load.h"
#include "kernels/element/round.h"
#include "op/collective.h"

/* A divisor; or what is multiplied by instead. */
struct hc_share {
    hc_number by;
    int is_one;
};

/* What the elements of a call have in common. */
struct hc_average {
    enum hc_collective algorithm;
    enum hc_format sum;
    int multiplies;
    struct hc_share before;
    struct hc_share after;
    enum hc_format format; /* of x */
    const void *x;
    int64_t ranks;
    int64_t count; /* n */
};

HC_INLINE struct hc_share hc_share_of(double divisor, int multiplies)
{
    float d = (float)divisor;
    struct hc_share share = {multiplies ? 1 / d : d, d == 1};
    return share;
}

HC_INLINE struct hc_average hc_average_of(const struct hc_all_reduce *p, enum hc_format format,
                                          const void *x, int64_t ranks, int64_t count)
{
    struct hc_average a = {p->algorithm,
                           p->sum,
                           p->multiplies,
                           hc_share_of(p->before, p->multiplies),
                           hc_share_of(p->after, p->multiplies),
                           format,
                           x,
                           ranks,
                           count};
    return a;
}

HC_INLINE hc_number hc_average_share(const struct hc_average *a, const struct hc_share *share,
                                     hc_number x)
{
    if (share->is_one)
        return x;
    return hc_into(a->sum, a->multiplies ? x * share->by : x / share->by);
}

/* What rank r contributes to element i. */
HC_INLINE hc_number hc_average_leaf(const struct hc_average *a, int64_t r, int64_t i)
{
    hc_number x = hc_into(a->sum, hc_load(a->format, a->x, r * a->count + i));
    return hc_average_share(a, &a->before, x);
}

HC_INLINE hc_number hc_average_add(const struct hc_average *a, hc_number x, hc_number y)
{
    return hc_into(a->sum, x + y);
}

/* The chunk of a ring that element i lies in. */
HC_INLINE int64_t hc_average_chunk(const struct hc_average *a, int64_t i)
{
    int64_t size = a->count / a->ranks;
    int64_t larger = a->count % a->ranks;
    int64_t of_larger = larger * (size + 1);
    return i < of_larger ? i / (size + 1) : larger + (i - of_larger) / size;
}

HC_INLINE hc_number hc_average_ring(const struct hc_average *a, int64_t i)
{
    int64_t chunk = hc_average_chunk(a, i);
    int64_t r = (chunk + 1) % a->ranks;
    hc_number sum = hc_average_leaf(a, r, i);
    for (int64_t k = 1; k < a->ranks; k++) {
        r = r + 1 == a->ranks ? 0 : r + 1;
        sum = hc_average_add(a, sum, hc_average_leaf(a, r, i));
    }
    return sum;
}

/* The largest power of two within the number of ranks. */
HC_INLINE int64_t hc_average_power(int64_t ranks)
{
    int64_t power = 1;
    while (2 * power <= ranks)
        power *= 2;
    return power;
}

/* Contribution k of recursive halving among `power` of them. */
HC_INLINE hc_number hc_average_halved(const struct hc_average *a, int64_t power, int64_t k,
                                      int64_t i)
{
    int64_t r = 0;
    for (int64_t bit = 1; bit < power; bit *= 2)
        r = 2 * r + (k & bit ? 1 : 0);
    hc_number x = hc_average_leaf(a, r, i);
    if (r + power < a->ranks)
        x = hc_average_add(a, x, hc_average_leaf(a, r + power, i));
    return x;
}

enum { HC_AVERAGE_DEPTH = 17 }; /* HC_MAX_RANKS is 2^16 */

/* `sum` is the last contribution, or the sum that ends with it. */
HC_INLINE hc_number hc_average_pairs(const struct hc_average *a, int64_t i)
{
    hc_number left[HC_AVERAGE_DEPTH];
    int depth = 0;
    int halves = a->algorithm == HC_COLLECTIVE_HALVING;
    int64_t leaves = halves ? hc_average_power(a->ranks) : a->ranks;
    hc_number sum = halves ? hc_average_halved(a, leaves, 0, i) : hc_average_leaf(a, 0, i);
    for (int64_t k = 1; k < leaves; k++) {
        left[depth++] = sum;
        sum = halves ? hc_average_halved(a, leaves, k, i) : hc_average_leaf(a, k, i);
        for (int64_t bits = k; bits & 1; bits >>= 1)
            sum = hc_average_add(a, left[--depth], sum);
    }
    while (depth > 0)
        sum = hc_average_add(a, left[--depth], sum);
    return sum;
}

/* Element i of the result, before it is rounded into out's format. */
HC_INLINE hc_number hc_element_all_reduce(const struct hc_average *a, int64_t i)
{
    hc_number sum =
        a->algorithm == HC_COLLECTIVE_RING ? hc_average_ring(a, i) : hc_average_pairs(a, i);
    return hc_average_share(a, &a->after, sum);
}

#endif
