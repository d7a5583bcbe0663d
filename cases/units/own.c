/* Matrix units by probes of our own. */
#include <stdio.h>

#include "cases/fixture/unit_probe.h"
#include "unit/directed.h"

/* Probes of this project, for what the published ones leave out: how many products are added at
   once, in which order, and what becomes of a sum just below the smallest normal number. Those of
   x86 are measured on its processors, the other answers are those of the units' models. */

#define NVIDIA "v100-* t4-* a100-* ada-* h100*-* b200*-* rtxblackwell-*"
#define X86    "avx512bf16-* amx-*"
#define BF16   X86 " bfmmla-*"

/* In fp32 2^24 + 1 is 2^24. VDPBF16PS begins with product 1, AMX and BFMMLA end with C. */
static const struct hc_unit_probe order = {
    .a = {-0x1p12, 0x1p12},
    .b = {0x1p12, 0x1p12},
    .c = 1,
    .answers = {{"avx512bf16-* v100-*", 0}, {"amx-* bfmmla-* mi* " NVIDIA, 1}},
    .published = X86};

/* 2^-126 less a quarter of the last place below it is rounded to 2^-126, if exponents have no end,
   and stays. Less three quarters it is not, and becomes 0; fmaf gives 2^-126 to both. BFMMLA makes
   zeros of such products first. */
static const struct hc_unit_probe quarter = {.a = {0x1p-63, 0, -0x1p-76},
                                             .b = {0x1p-63, 0, 0x1p-76},
                                             .answers = {{BF16, 0x1p-126}},
                                             .published = X86};
static const struct hc_unit_probe three_quarters = {.a = {0x1p-63, 0, -0x1.8p-75},
                                                    .b = {0x1p-63, 0, 0x1p-76},
                                                    .answers = {{X86, 0}, {"bfmmla-*", 0x1p-126}},
                                                    .published = X86};

/* C cancels product 0, and product i is small, by 26 bits that fp8 has, too. Beside the large ones
   it is lost; once they are gone it stays. The answer is the first product that changes the result:
   the length of a piece, where pieces are cut or rounded. MI100 is exact, BFMMLA rounds to odd. */
static const struct {
    const char *units;
    int first;
} pieces[] = {
    {"ada-e4m3* ada-e5m2*", 16},
    {"h100wgmma-e4m3* h100wgmma-e5m2* b200-e4m3* b200-e5m2*", 32},
    {"mi100-* bfmmla-*", 1},
    {"mi250x-bf16-* avx512bf16-*", 2},
    {"mi300x-fp8-* mi300x-bf8-* mi300x-fp8xbf8-*", 16},
    {"v100-* a100-tf32-* ada-tf32-* mi300x-xf32-* mi250x-*", 4},
    {"t4-* a100-* ada-* *-tf32-* mi300x-*", 8},
    {"h100*-* b200*-* rtxblackwell-*", 16},
    {"amx-*", 32},
};

#define LARGE 0x1p7
#define SMALL 0x1p-6

/* -1 if a call failed. */
static int first_that_counts(struct hc_check *check, const struct hc_unit *unit)
{
    const int products = 2 * unit->k;
    struct hc_unit_probe_product p = hc_unit_probe_product_new(check, unit, 1, products, 1);
    const struct hc_tensor *a = &p.call.in[HC_GEMM_A];
    const struct hc_tensor *b = &p.call.in[HC_GEMM_B];
    hc_unit_probe_set(a, 0, hc_unit_probe_code(unit->a, LARGE));
    hc_unit_probe_set(b, 0, hc_unit_probe_code(unit->b, LARGE));
    hc_unit_probe_set(&p.call.in[HC_GEMM_C], 0, hc_unit_probe_code(unit->c, -LARGE * LARGE));
    for (int i = 1; i < products; i++) {
        hc_unit_probe_set(a, i, hc_unit_probe_code(unit->a, SMALL));
        hc_unit_probe_set(b, i, hc_unit_probe_code(unit->b, SMALL));
        if (hc_do(check, &p.call) != HC_OK)
            return -1;
        if (hc_tensor_get(&p.call.out[HC_GEMM_OUT], 0) != 0)
            return i;
        hc_unit_probe_set(a, i, 0);
        hc_unit_probe_set(b, i, 0);
    }
    return products;
}

static void claim_pieces(struct hc_check *check)
{
    const struct hc_unit *const *units = hc_check_backend(check)->units;
    for (int u = 0; units[u]; u++) {
        size_t i = 0;
        size_t rows = sizeof pieces / sizeof pieces[0];
        while (i < rows && !hc_any_glob(pieces[i].units, units[u]->name))
            i++;
        if (i == rows || !hc_any_glob(hc_check_case(check)->units, units[u]->name) ||
            !hc_unit_probe_can_ask(units[u]))
            continue;
        int got = first_that_counts(check, units[u]);
        if (got < 0)
            return;
        char what[96];
        (void)snprintf(what, sizeof what, "%s: the first product that counts", units[u]->name);
        hc_claim_value(check, what, pieces[i].first, got);
    }
}

#define WIDE "*-fp16-fp32* *-bf16-fp32* *-bf16_1k-fp32* *-tf32-fp32* *-xf32-fp32*"

/* Products on a backend's units against the rules in GMP's integers: operands directed at what
   units do differently, one result a call, and tiles of such rows and columns, whose products mix
   them. A backend that names a unit and sums in any other way fails here. */

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
    {"units/order", "products that cancel leave C, unless C meets one of them first",
     "the units' models (docs/matrix-units.md)", .level = HC_QUICK, .run = hc_unit_probe_claim,
     .data = &order, .units = WIDE},
    {"units/pieces", "a small product counts from the piece on in which nothing large is left",
     "the units' models (docs/matrix-units.md)", .level = HC_QUICK, .run = claim_pieces,
     .units =
         WIDE " *-e4m3-fp32* *-e4m3xe5m2-fp32* *-e5m2xe4m3-fp32* *-e5m2-fp32* mi300x-*8-fp32*"},
    {"units/sliver/quarter", "a sum that rounds to the smallest normal number is not flushed",
     "measured on x86 with AVX512_BF16 and AMX; Arm A64 BFMMLA", .level = HC_QUICK,
     .run = hc_unit_probe_claim, .data = &quarter, .units = BF16},
    {"units/sliver/three-quarters", "a sum that rounds below the smallest normal number is flushed",
     "measured on x86 with AVX512_BF16 and AMX; Arm A64 BFMMLA", .level = HC_QUICK,
     .run = hc_unit_probe_claim, .data = &three_quarters, .units = BF16},
    {"units/by-big-integers",
     "products have the bits of the unit's rule in integers, on operands of every kind",
     "the units' models (docs/matrix-units.md), written out in reference/unit", .level = HC_QUICK,
     .run = by_big_integers, .units = "*"},
};

HC_CASES(units_own, cases);
