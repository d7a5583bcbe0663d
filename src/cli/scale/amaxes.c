#include "cli/scale/amaxes.h"

#include <math.h>

#include "num/bits.h"

/* Numbers at fp32's ends, 1e-12 and 1e-4, which rules clamp to, and what is no number. */
static const uint32_t specials[] = {
    0x00000001, 0x00000002, 0x00000003, 0x003fffff, 0x00400000, 0x00400001, 0x007fffff,
    0x00800000, 0x00800001, 0x2b8cbccb, 0x2b8cbccc, 0x2b8cbccd, 0x38d1b716, 0x38d1b717,
    0x38d1b718, 0x7f000000, 0x7f7ffffe, 0x7f7fffff, 0x00000000, 0x7f800000, 0x7fc00000,
};

struct list {
    uint32_t *amax;
    int count, most;
};

static void add(struct list *l, uint32_t bits)
{
    if (l->count < l->most)
        l->amax[l->count++] = bits;
}

/* The edge as fp32 and its neighbours, where all are normal numbers. */
static void add_edge(struct list *l, double edge, int neighbours)
{
    if (edge < 0x1.001p-126 || edge > 0x1.ffep127)
        return;
    uint32_t bits = hc_fp32_bits((float)edge);
    add(l, bits);
    for (int i = 0; i < neighbours; i++) {
        add(l, bits + (1u << i));
        add(l, bits - (1u << i));
    }
}

/* Where quotients by M become subnormal, and where scales end, rules differ that agree elsewhere.
 */
static int is_at_an_end(int k, int emax)
{
    return k <= -125 || (k >= -127 + emax && k <= -124 + emax) || k >= 127 - emax;
}

int hc_amaxes(const struct hc_amaxes *which, uint32_t *amax, int most)
{
    struct list l = {.most = most};
    l.amax = amax;
    double max = hc_format_max(which->codes);
    const struct hc_format_info *f = &hc_formats[which->codes];
    for (int k = -150; k <= 128; k++) {
        if ((k + 1500 - which->offset) % which->stride != 0 && !is_at_an_end(k, f->emax))
            continue;
        add_edge(&l, ldexp(1, k), which->neighbours);
        add_edge(&l, ldexp(max, k), which->neighbours);
        add_edge(&l, ldexp(max * sqrt(2), k), which->neighbours);
        add_edge(&l, ldexp(2 - ldexp(1, -f->precision), k), which->neighbours);
    }
    for (unsigned i = 0; i < sizeof specials / sizeof *specials; i++)
        add(&l, specials[i]);
    return l.count;
}
