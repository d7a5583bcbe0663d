/* Products on a backend's units against the rules in GMP's integers: operands directed at what
   units do differently, one result a call, and tiles of such rows and columns, whose products mix
   them. A backend that names a unit and sums in any other way fails here. */
#include <stdio.h>

#include "cases/fixture/unit_probe.h"
#include "unit/directed.h"

enum { SINGLES = 100, TILE = 12, TILES = 2, EXHAUSTIVE = 500 };

/* A product and its operands as the definition takes them: rows of a, columns of b. */
struct tile {
    struct hc_unit_probe_product p;
    int64_t side;
    int64_t k;
    uint32_t *a;
    uint32_t *b;
    uint32_t *c;
};

static struct tile tile_new(struct hc_check *check, const struct hc_unit *unit, int64_t side,
                            int64_t k)
{
    size_t row = (size_t)(side * k) * sizeof(uint32_t);
    return (struct tile){.p = hc_unit_probe_product_new(check, unit, side, k, side),
                         .side = side,
                         .k = k,
                         .a = hc_check_memory(check, row),
                         .b = hc_check_memory(check, row),
                         .c = hc_check_memory(check, (size_t)(side * side) * sizeof(uint32_t))};
}

/* Row and column `at` from one vector. A shorter one is filled up with zeros. */
static void set_vector(struct tile *t, int64_t at, const struct hc_directed *v)
{
    for (int64_t i = 0; i < t->k; i++) {
        t->a[at * t->k + i] = i < v->n ? v->a[i] : 0;
        t->b[at * t->k + i] = i < v->n ? v->b[i] : 0;
        hc_unit_probe_set(&t->p.call.in[HC_GEMM_A], at * t->k + i, t->a[at * t->k + i]);
        hc_unit_probe_set(&t->p.call.in[HC_GEMM_B], i * t->side + at, t->b[at * t->k + i]);
    }
    for (int64_t j = 0; j < t->side; j++) {
        t->c[at * t->side + j] = v->c;
        hc_unit_probe_set(&t->p.call.in[HC_GEMM_C], at * t->side + j, v->c);
    }
}

static void compare(const struct tile *t, struct hc_comparisons *all)
{
    const struct hc_unit *unit = t->p.unit;
    for (int64_t i = 0; i < t->side * t->side; i++) {
        const uint32_t *a = t->a + i / t->side * t->k;
        const uint32_t *b = t->b + i % t->side * t->k;
        uint32_t want = hc_unit_by_definition(unit, a, b, NULL, t->k, t->c[i]);
        uint32_t got = hc_unit_probe_get(&t->p.call.out[HC_GEMM_OUT], i);
        all->checked++;
        if (!hc_unit_same(unit, want, got))
            hc_comparisons_wrong(all, "%s, element %lld of %lld: want %08x, got %08x", unit->name,
                                 (long long)i, (long long)(t->side * t->side), want, got);
    }
}

/* `count` products, from vector `first` on. False if a call failed. */
static bool ask(struct hc_check *check, struct tile *t, int64_t first, int64_t count,
                struct hc_comparisons *all)
{
    struct hc_directed v;
    for (int64_t i = 0; i < count; i++) {
        for (int64_t at = 0; at < t->side; at++) {
            uint64_t number = (uint64_t)(first + i * t->side + at);
            hc_directed_make(&v, t->p.unit, hc_check_seed(check), number);
            set_vector(t, at, &v);
        }
        if (hc_do(check, &t->p.call) != HC_OK)
            return false;
        compare(t, all);
    }
    return true;
}

static void by_big_integers(struct hc_check *check)
{
    const struct hc_unit *const *units = hc_check_backend(check)->units;
    int64_t times = hc_check_level(check) == HC_EXHAUSTIVE ? EXHAUSTIVE : 1;
    for (int u = 0; units[u]; u++) {
        struct hc_comparisons all = {.what = units[u]->name};
        if (!hc_unit_probe_can_ask(units[u]))
            continue;
        int64_t longest = units[u]->k * (HC_DIRECTED_TERMS / 64);
        struct tile one = tile_new(check, units[u], 1, longest);
        struct tile many = tile_new(check, units[u], TILE, longest);
        if (!ask(check, &one, 0, times * SINGLES, &all) ||
            !ask(check, &many, times * SINGLES, times * TILES, &all))
            return;
        hc_claim_comparisons(check, &all);
    }
    hc_reference_end();
}

static const struct hc_case cases[] = {
    {.name = "units/by-big-integers",
     .title = "products have the bits of the unit's rule in integers, on operands of every kind",
     .source = "the units' models (docs/matrix-units.md), written out in reference/unit",
     .level = HC_QUICK,
     .run = by_big_integers,
     .units = "*"},
};

HC_CASES(units_big_integers, cases);
