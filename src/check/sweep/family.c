#include "check/sweep/family.h"

#include <assert.h>
#include <stddef.h>

#include "check/sweep/strays.h"
#include "num/clones.h"

static uint32_t exponent_of(const struct hc_family *family, uint32_t code)
{
    return (code & 0x7fffu) / family->pairs.binade;
}

static bool is_sum(const struct hc_family *family)
{
    return family->pairs.op == HC_OP_add || family->pairs.op == HC_OP_sub;
}

void hc_family_init(struct hc_family *family, enum hc_op op, enum hc_format format)
{
    struct hc_pairs *pairs = &family->pairs;
    hc_pairs_init(pairs, op, format);
    family->exponents = pairs->infinity / pairs->binade;
    family->apart = (uint32_t)hc_formats[format].precision + 2;
    assert(family->apart <= HC_FAMILY_MAX_APART);
    for (uint32_t code = 0; code < 65536; code++)
        family->y[code] = (uint16_t)code;
    for (uint32_t i = 0; i < 2 * pairs->binade; i++)
        family->special[i / pairs->binade][i % pairs->binade] = pairs->nan;
}

/* Writes a binade of results moved up by one exponent. False if one of them was not above the
   smallest normal value (it may have come from below it, where the format's numbers are farther
   apart), or does not stay finite: then they must be computed anew. */
HC_CLONES static bool move(const uint16_t *from, uint16_t *to, uint32_t binade, uint16_t infinity)
{
    uint16_t worst = 0;
#pragma omp simd reduction(max : worst)
    for (uint32_t i = 0; i < binade; i++) {
        uint16_t above = (uint16_t)((from[i] & 0x7fffu) - binade - 1);
        worst = above > worst ? above : worst;
        to[i] = (uint16_t)(from[i] + binade);
    }
    return worst < infinity - 2 * binade - 1;
}

/* The results for x with the binade at `y`, which are twice those at `half`, if there are any. */
static void twice(const struct hc_family *family, const uint16_t *half, uint32_t x, uint32_t y,
                  uint16_t *to)
{
    const struct hc_pairs *pairs = &family->pairs;
    if (!half || !move(half, to, pairs->binade, pairs->infinity))
        hc_pairs_define(pairs, (uint16_t)x, y, pairs->binade, to);
}

/* Products by the sum of the exponents of x and y, which are normal. */
static void multiply(struct hc_family *family, uint32_t x)
{
    uint32_t binade = family->pairs.binade;
    uint32_t last = family->exponents - 1;
    for (uint32_t sum = 2; sum <= 2 * last; sum++) {
        uint32_t ex = sum - 1 < last ? sum - 1 : last;
        uint16_t *to = family->moved + sum * binade;
        twice(family, sum > 2 ? to - binade : NULL, x + ex * binade, (sum - ex) * binade, to);
    }
}

/* Quotients by the difference of the exponents, which is counted from 1. */
static void divide(struct hc_family *family, uint32_t x)
{
    uint32_t binade = family->pairs.binade;
    uint32_t last = family->exponents - 1;
    for (uint32_t n = 1; n < 2 * last; n++) {
        uint32_t ex = n <= last ? 1 : n - last + 1;
        uint16_t *to = family->moved + n * binade;
        twice(family, n > 1 ? to - binade : NULL, x + ex * binade, (ex + last - n) * binade, to);
    }
}

/* The least of the magnitudes but 0, and the largest. */
HC_CLONES static void measure(struct hc_family_sums *sums, uint32_t binade)
{
    uint16_t least = 0x7fff;
    uint16_t most = 0;
#pragma omp simd reduction(min : least) reduction(max : most)
    for (uint32_t i = 0; i < binade; i++) {
        uint16_t size = sums->code[i] & 0x7fffu;
        uint16_t below = (uint16_t)(size - 1);
        least = below < least ? below : least;
        most = size > most ? size : most;
    }
    sums->least = least + 1u;
    sums->most = most;
}

/* Sums at one distance, with the larger exponent high up: then all are normal but zeros. */
static void sum(const struct hc_family *family, uint32_t x, uint32_t sign, int distance,
                struct hc_family_sums *sums)
{
    uint32_t binade = family->pairs.binade;
    uint32_t high = family->exponents - 2;
    uint32_t ey = distance < 0 ? high : high - (uint32_t)distance;
    sums->exponent = distance < 0 ? high - (uint32_t)-distance : high;
    hc_pairs_define(&family->pairs, (uint16_t)(x + sums->exponent * binade), sign + ey * binade,
                    binade, sums->code);
    measure(sums, binade);
    uint32_t opposite = x % binade; /* the one y that is -x, if the signs are such */
    bool zero = distance == 0 && (sums->code[opposite] & 0x7fffu) == 0;
    sums->zero = zero ? opposite : binade;
}

void hc_family_begin(struct hc_family *family, uint16_t x)
{
    uint32_t first = x % family->pairs.binade;
    int apart = (int)family->apart;
    if (family->pairs.op == HC_OP_mul)
        multiply(family, first);
    else if (family->pairs.op == HC_OP_div)
        divide(family, first);
    for (int distance = 1 - apart; distance < apart && is_sum(family); distance++)
        for (uint32_t negative = 0; negative < 2; negative++)
            sum(family, first, negative << 15, distance,
                &family->sums[negative][distance + apart - 1]);
}

/* Appends a run, unless it goes on as the last one does. */
static void append(struct hc_family *family, uint32_t from, uint32_t n, const uint16_t *base,
                   uint32_t shift)
{
    struct hc_family_run *last = family->runs ? &family->run[family->runs - 1] : NULL;
    if (n == 0)
        return;
    if (last && last->shift == (uint16_t)shift &&
        (base ? last->base && last->base + (from - last->from) == base : !last->base)) {
        last->end = from + n;
        return;
    }
    assert(family->runs < HC_FAMILY_RUNS);
    family->run[family->runs++] = (struct hc_family_run){from, from + n, base, (uint16_t)shift};
}

/* A binade by the definition. */
static void append_defined(struct hc_family *family, uint32_t from)
{
    uint16_t *want = family->pairs.want + from;
    hc_pairs_define(&family->pairs, family->pairs.x, from, family->pairs.binade, want);
    append(family, from, family->pairs.binade, want, 0);
}

/* Infinite y, and NaN. */
static void append_special(struct hc_family *family, uint32_t sign)
{
    uint16_t *want = family->special[sign >> 15];
    uint32_t from = sign + family->pairs.infinity;
    hc_pairs_define(&family->pairs, family->pairs.x, from, 1, want);
    append(family, from, family->pairs.binade, want, 0);
}

/* x and y are normal, with exponents that are not far apart. The tables are those of the positive
   x: -x + y is -(x - y). A zero stays one wherever it is moved to, and it is +0 on both sides. */
static void append_sums(struct hc_family *family, const struct hc_family_sums *sums, uint32_t from)
{
    const struct hc_pairs *pairs = &family->pairs;
    uint32_t up = exponent_of(family, pairs->x) * pairs->binade;
    uint32_t shift = up - sums->exponent * pairs->binade; /* modulo 2^32 */
    uint32_t sign = pairs->x & 0x8000u;
    int32_t least = (int32_t)(sums->least + shift);
    int32_t most = (int32_t)(sums->most + shift);
    if (least <= (int32_t)pairs->binade || most >= pairs->infinity) {
        append_defined(family, from);
        return;
    }
    uint32_t zero = sums->zero;
    append(family, from, zero, sums->code, shift + sign);
    if (zero == pairs->binade)
        return;
    append(family, from + zero, 1, NULL, 0);
    append(family, from + zero + 1, pairs->binade - zero - 1, sums->code + zero + 1, shift + sign);
}

/* Sums with all finite y of one sign: x itself, sums of the tables or by definition, y itself. */
static void add_half(struct hc_family *family, uint32_t sign)
{
    const struct hc_pairs *pairs = &family->pairs;
    uint32_t ex = exponent_of(family, pairs->x);
    uint32_t flip = pairs->op == HC_OP_sub ? 0x8000 : 0;
    for (uint32_t ey = 0; ey < family->exponents; ey++) {
        uint32_t from = sign + ey * pairs->binade;
        if (ex >= (ey ? ey : 1) + family->apart)
            append(family, from, pairs->binade, NULL, pairs->x);
        else if (ey >= (ex ? ex : 1) + family->apart)
            append(family, from, pairs->binade, family->y + from, flip);
        else if (ex == 0 || ey == 0)
            append_defined(family, from);
        else
            append_sums(
                family,
                &family->sums[(sign ^ (pairs->x & 0x8000u)) >> 15][ex + family->apart - 1 - ey],
                from);
    }
}

/* Products and quotients of a normal x: of a subnormal y by definition, of a normal one from the
   table of the positive x. Rounding to nearest is the same on both sides of 0, so that an operand
   of the other sign gives the codes with the other sign. */
static void scale_half(struct hc_family *family, uint32_t sign)
{
    const struct hc_pairs *pairs = &family->pairs;
    uint32_t ex = exponent_of(family, pairs->x);
    uint32_t product_sign = sign ^ (pairs->x & 0x8000u);
    if (sign == 0)
        append_defined(family, 0);
    else
        append(family, sign, pairs->binade, pairs->want, sign);
    for (uint32_t ey = 1; ey < family->exponents; ey++) {
        uint32_t at = pairs->op == HC_OP_mul ? ex + ey : ex + family->exponents - 1 - ey;
        append(family, sign + ey * pairs->binade, pairs->binade,
               family->moved + (size_t)at * pairs->binade, product_sign);
    }
}

/* The same for a subnormal x: each binade of y from its neighbour with half the results, if they
   are normal. */
static void scale_half_of_subnormal(struct hc_family *family, uint32_t sign)
{
    struct hc_pairs *pairs = &family->pairs;
    uint32_t last = family->exponents - 1;
    uint16_t *want = pairs->want;
    for (uint32_t n = 0; n <= last && sign == 0; n++) {
        uint32_t ey = pairs->op == HC_OP_mul ? n : last - n;
        uint32_t half = pairs->op == HC_OP_mul ? ey - 1 : ey + 1;
        bool doubled = n > 0 && ey > 0 && half > 0;
        twice(family, doubled ? want + half * pairs->binade : NULL, pairs->x, ey * pairs->binade,
              want + ey * pairs->binade);
    }
    append(family, sign, (last + 1) * pairs->binade, want, sign);
}

void hc_family_at(struct hc_family *family, uint16_t x)
{
    struct hc_pairs *pairs = &family->pairs;
    uint32_t ex = exponent_of(family, x);
    family->runs = 0;
    if (ex == family->exponents) {
        hc_pairs_at(pairs, x);
        append(family, 0, 65536, pairs->want, 0);
        return;
    }
    pairs->x = x;
    for (uint32_t sign = 0; sign < 65536; sign += 32768) {
        if (is_sum(family))
            add_half(family, sign);
        else if (ex == 0)
            scale_half_of_subnormal(family, sign);
        else
            scale_half(family, sign);
        append_special(family, sign);
    }
}

static uint16_t want_of(const struct hc_family_run *run, uint32_t y)
{
    return (uint16_t)((run->base ? run->base[y - run->from] : 0) + run->shift);
}

uint16_t hc_family_want(const struct hc_family *family, uint16_t y)
{
    int i = 0;
    while (family->run[i].end <= y)
        i++;
    return want_of(&family->run[i], y);
}

bool hc_family_differs(const struct hc_family *family, uint32_t from, uint32_t n,
                       const uint16_t *got)
{
    uint32_t end = from + n;
    for (const struct hc_family_run *run = family->run; from < end; run++) {
        if (run->end <= from)
            continue;
        uint32_t count = (run->end < end ? run->end : end) - from;
        const uint16_t *base = run->base ? run->base + (from - run->from) : NULL;
        bool differs =
            base ? hc_strays_from(base, run->shift, got, count) : hc_strays(run->shift, got, count);
        if (differs &&
            (!base || hc_strays_nan(base, run->shift, got, count, family->pairs.infinity)))
            return true;
        from += count;
        got += count;
    }
    return false;
}
