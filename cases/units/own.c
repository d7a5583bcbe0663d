/* Probes of this project, for what the published ones leave out: how many products are added at
   once, in which order, and what becomes of a sum just below the smallest normal number. Those of
   x86 are measured on its processors, the other answers are those of the units' models. */
#include <stdio.h>

#include "cases/fixture/unit_probe.h"

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

static const struct hc_case cases[] = {
    {.name = "units/order",
     .title = "products that cancel leave C, unless C meets one of them first",
     .source = "the units' models (docs/matrix-units.md)",
     .level = HC_QUICK,
     .run = hc_unit_probe_claim,
     .data = &order,
     .units = WIDE},
    {.name = "units/pieces",
     .title = "a small product counts from the piece on in which nothing large is left",
     .source = "the units' models (docs/matrix-units.md)",
     .level = HC_QUICK,
     .run = claim_pieces,
     .units =
         WIDE " *-e4m3-fp32* *-e4m3xe5m2-fp32* *-e5m2xe4m3-fp32* *-e5m2-fp32* mi300x-*8-fp32*"},
    {.name = "units/sliver/quarter",
     .title = "a sum that rounds to the smallest normal number is not flushed",
     .source = "measured on x86 with AVX512_BF16 and AMX; Arm A64 BFMMLA",
     .level = HC_QUICK,
     .run = hc_unit_probe_claim,
     .data = &quarter,
     .units = BF16},
    {.name = "units/sliver/three-quarters",
     .title = "a sum that rounds below the smallest normal number is flushed",
     .source = "measured on x86 with AVX512_BF16 and AMX; Arm A64 BFMMLA",
     .level = HC_QUICK,
     .run = hc_unit_probe_claim,
     .data = &three_quarters,
     .units = BF16},
};

HC_CASES(units_own, cases);
