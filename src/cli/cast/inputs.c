/* Which inputs show a wrong conversion. Between two neighbours of the format, from 0 on to one step
   beyond its largest number, these matter: the neighbours, the midpoint, the quarter points, and
   for each of them the inputs directly before and behind. Next to a midpoint lie numbers that a
   conversion by way of fp16, bf16 or tf32 would round onto it first: up to half of that format's
   ulp away. A sweep over all exponents of the source with some fractions shows what happens far
   away from the format's own range. */
#include <math.h>
#include <stdlib.h>

#include "cli/cast/plan.h"

struct set {
    const struct hc_cast_plan *plan;
    uint32_t *bits;
    size_t count, room;
    bool lost; /* no memory */
};

static uint32_t sign_of(const struct set *s)
{
    return (uint32_t)1 << (hc_formats[s->plan->from].bits - 1);
}

static void add_one(struct set *s, uint32_t bits)
{
    if (s->lost || !hc_cast_is_agreed(s->plan, bits))
        return;
    if (s->count == s->room) {
        size_t room = s->room ? 2 * s->room : 1024;
        uint32_t *more = realloc(s->bits, room * sizeof *more);
        if (!more) {
            s->lost = true;
            return;
        }
        s->bits = more;
        s->room = room;
    }
    s->bits[s->count++] = bits;
}

static void add(struct set *s, uint32_t magnitude)
{
    add_one(s, magnitude);
    add_one(s, magnitude | sign_of(s));
}

/* A positive number, or what is next to it below and above; and one more on each side. */
static void around(struct set *s, double x)
{
    uint32_t below = (uint32_t)hc_encode(s->plan->from, x, 0, HC_TOWARD_ZERO);
    int last = hc_decode(s->plan->from, below) == x ? 1 : 2;
    for (int i = below > 0 ? -1 : 0; i <= last; i++)
        add(s, below + (uint32_t)i);
}

/* Where a conversion by way of another format stops to round to this place. */
static void around_by_way_of(struct set *s, enum hc_format way, double x)
{
    uint64_t at = hc_encode(way, x, 0, HC_TOWARD_ZERO);
    uint64_t step = (uint64_t)1 << hc_format_shift(&hc_formats[way]);
    double here = hc_decode(way, at);
    double next = hc_decode(way, at + step);
    around(s, next);
    around(s, (here + next) / 2);
    if (at >= step) {
        double before = hc_decode(way, at - step);
        around(s, before);
        around(s, (before + here) / 2);
    }
}

static void between(struct set *s, double low, double high)
{
    static const enum hc_format ways[] = {HC_FP16, HC_BF16, HC_TF32};
    double middle = (low + high) / 2;
    around(s, middle);
    if (s->plan->kind != HC_CAST_ALL)
        return;
    around(s, low);
    around(s, high);
    around(s, (low + middle) / 2);
    around(s, (middle + high) / 2);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        around_by_way_of(s, ways[i], middle);
}

static double ulp_at_most(const struct hc_cast_plan *plan)
{
    const struct hc_format_info *to = &hc_formats[plan->to];
    return ldexp(1, to->emax - to->precision + 1);
}

static void add_neighbours(struct set *s)
{
    double most = hc_format_max(s->plan->to);
    double low = 0;
    for (uint32_t code = 0; low < most; code++) {
        double high = hc_decode(s->plan->to, code);
        if (high > low)
            between(s, low, high);
        low = high;
    }
    between(s, most, most + ulp_at_most(s->plan));
}

/* Of the source: 0, its subnormals' ends, 1, its largest number, infinity, and NaNs: one, the same
   but signalling, payloads at either end. Of the target: its ends, and where overflow begins. */
static void add_specials(struct set *s)
{
    const struct hc_format_info *from = &hc_formats[s->plan->from];
    const struct hc_format_info *to = &hc_formats[s->plan->to];
    uint32_t quiet = (uint32_t)1 << (from->precision - 2);
    uint32_t infinity = (sign_of(s) - 1) & ~(2 * quiet - 1);
    const uint32_t bits[] = {0,
                             1,
                             quiet,
                             2 * quiet - 1,
                             2 * quiet,
                             (uint32_t)hc_encode(s->plan->from, 1, 0, HC_NEAREST),
                             infinity - 1,
                             infinity,
                             infinity | quiet,
                             infinity | 1,
                             infinity | (quiet - 1),
                             infinity | quiet >> 1,
                             sign_of(s) - 1};
    double most = hc_format_max(s->plan->to);
    double tiny = hc_format_tiny(s->plan->to);
    double normal = tiny;
    for (int i = 1; i < to->precision; i++)
        normal *= 2;
    const double points[] = {tiny / 2,
                             tiny,
                             1.5 * tiny,
                             normal - tiny / 2,
                             normal,
                             most,
                             most + ulp_at_most(s->plan) / 2,
                             most + ulp_at_most(s->plan)};
    for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++)
        add(s, bits[i]);
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
        around(s, points[i]);
}

/* Every exponent, with fractions of all zeros, all ones, and some between. */
static void add_exponents(struct set *s)
{
    int fraction = hc_formats[s->plan->from].precision - 1;
    uint32_t exponents = (sign_of(s) - 1) >> fraction;
    for (uint32_t e = 0; e <= exponents; e++)
        for (uint32_t f = 0; f < 16; f += 5) {
            add(s, e << fraction | f << (fraction - 4));
            add(s, e << fraction | f << (fraction - 4) | (((uint32_t)1 << (fraction - 4)) - 1));
        }
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

uint32_t *hc_cast_inputs(const struct hc_cast_plan *plan, size_t *count)
{
    struct set s = {.plan = plan};
    if (plan->kind == HC_CAST_EVERY)
        for (uint32_t i = 0; i < sign_of(&s); i++)
            add(&s, i);
    if (plan->kind == HC_CAST_ALL || plan->kind == HC_CAST_TIES)
        add_neighbours(&s);
    if (plan->kind == HC_CAST_ALL || plan->kind == HC_CAST_SPECIALS)
        add_specials(&s);
    if (plan->kind == HC_CAST_ALL)
        add_exponents(&s);
    if (s.lost || !s.bits) {
        free(s.bits);
        return NULL;
    }
    qsort(s.bits, s.count, sizeof *s.bits, ascending);
    *count = 0;
    for (size_t i = 0; i < s.count; i++)
        if (i == 0 || s.bits[i] != s.bits[*count - 1])
            s.bits[(*count)++] = s.bits[i];
    return s.bits;
}
