/* Probes that were published with their answers by units, or by models of units. */
#include <math.h>
#include <stdio.h>

#include "cases/fixture/unit_probe.h"

/* -2^23 cancels C, and what is left of 0.875 shows how many bits the unit keeps below 2^23. */
static const struct hc_unit_probe discrepancy = {
    .a = {-0x1p13, -0.5, -0.25, -0.125},
    .b = {0x1p10, 1, 1, 1},
    .c = 0x1p23,
    .answers = {
        {"v100-* ada-e5m2* h100wgmma-e5m2* mi250x-fp16* mi250x-bf16_1k* mi100-fp16*@*", 0},
        {"t4-* a100-* ada-* mi300x-fp16* mi300x-bf16* mi300x-xf32*", -0.5},
        {"h100*-* b200*-* rtxblackwell-*", -0.75},
        {"mi250x-bf16* mi100-bf16*@*", -0.375},
        {"mi100-* avx512bf16-*", -0.875},
        {"mi300x-bf8* amx-*", -1},
        {"bfmmla-*", -1.375},
    }};

/* The exponent that a zero has in the alignment, from the first k at which the term 2^-k is lost
   beside a larger one and zeros: 1 - k + fraction bits. */
struct zero_probe {
    double large; /* = large_a * large_b */
    double large_a;
    double large_b;
    double sign; /* of the small term */
    int from;
    int to;
    double kept; /* the result while the small term counts */
    struct {
        const char *units;
        int k;
    } lost[6];
};

/* 2^-149 less a small term is below 2^-149 and cut to 0; once the small term is lost it stays. */
static const struct zero_probe single = {.large = 0x1p-149,
                                         .large_a = 0x1p-75,
                                         .large_b = 0x1p-74,
                                         .sign = -1,
                                         .from = 150,
                                         .to = 176,
                                         .kept = 0,
                                         .lost = {{"a100-*@* ada-*@*", 151},
                                                  {"*@*", 152},
                                                  {"a100-* ada-*", 157},
                                                  {"h100*-* b200*-* rtxblackwell-*", 159}}};

/* 2^-25 is half of the smallest half. A small term above it makes it 2^-24; once the small term is
   lost the tie is broken to 0. Subnormal halves end at 2^-48. */
static const struct zero_probe half = {.large = 0x1p-25,
                                       .large_a = 0x1p-14,
                                       .large_b = 0x1p-11,
                                       .sign = 1,
                                       .from = 26,
                                       .to = 48,
                                       .kept = 0x1p-24,
                                       .lost = {{"*@*", 49},
                                                {"v100-*", 43},
                                                {"t4-* a100-* ada-*", 45},
                                                {"h100*-* b200*-* rtxblackwell-*", 47}}};

/* The first k at which the small term is lost, `to` + 1 if it never is, or 0 if a call failed. */
static int first_lost(struct hc_check *check, const struct zero_probe *z,
                      const struct hc_unit *unit)
{
    struct hc_unit_probe_product p = hc_unit_probe_product_new(check, unit, 1, unit->k, 1);
    const struct hc_tensor *a = &p.call.in[HC_GEMM_A];
    const struct hc_tensor *b = &p.call.in[HC_GEMM_B];
    hc_unit_probe_set(a, 0, hc_unit_probe_code(unit->a, z->large_a));
    hc_unit_probe_set(b, 0, hc_unit_probe_code(unit->b, z->large_b));
    for (int k = z->from; k <= z->to; k++) {
        hc_unit_probe_set(a, 1, hc_unit_probe_code(unit->a, z->sign * ldexp(1, -(k / 2))));
        hc_unit_probe_set(b, 1, hc_unit_probe_code(unit->b, ldexp(1, -(k - k / 2))));
        if (hc_do(check, &p.call) != HC_OK)
            return 0;
        if (hc_tensor_get(&p.call.out[HC_GEMM_OUT], 0) != z->kept)
            return k;
    }
    return z->to + 1;
}

static void zeros(struct hc_check *check)
{
    const struct zero_probe *z = hc_check_case(check)->data;
    const struct hc_unit *const *units = hc_check_backend(check)->units;
    for (int u = 0; units[u]; u++) {
        int i = 0;
        while (z->lost[i].units && !hc_any_glob(z->lost[i].units, units[u]->name))
            i++;
        if (!hc_any_glob(hc_check_case(check)->units, units[u]->name) || !z->lost[i].units)
            continue;
        int k = first_lost(check, z, units[u]);
        if (k == 0)
            return;
        char what[96];
        (void)snprintf(what, sizeof what, "%s: the first k at which 2^-k is lost", units[u]->name);
        hc_claim_value(check, what, z->lost[i].k, k);
    }
}

#define SUMMED_IN_SINGLE                                                                           \
    "*-fp16-fp32* *-bf16-fp32* *-bf16_1k-fp32* *-tf32-fp32* *-xf32-fp32* *-e5m2-fp32* *-bf8-fp32*"
#define MMA_SIM   "github.com/peichenxie/MMA-Sim "
#define NVIDIA_16 "a100-bf16-* ada-bf16-* h100*-bf16-* b200*-bf16-* rtxblackwell-bf16-*"
#define NVIDIA_32 "a100-tf32-* ada-tf32-* h100*-tf32-* b200*-tf32-* rtxblackwell-tf32-*"

static const struct hc_case cases[] = {
    {.name = "units/mma-sim/discrepancy",
     .title = "one dot product gives seven results from 0 to -1.375, by the unit",
     .source = MMA_SIM "examples/discrepancy (inputs); answers: the units' models",
     .level = HC_QUICK,
     .run = hc_unit_probe_claim,
     .data = &discrepancy,
     .units = SUMMED_IN_SINGLE},
    {.name = "units/zero-exponent/fp32",
     .title = "beside zeros the smallest number of fp32 is not made smaller by what is too small",
     .source = MMA_SIM "tests/probe/features/fdpa_exponent_for_zero.py (inputs), and Khattak and "
                       "Mikaitis, arXiv 2512.07004 (-132 on A100, -133 on H100 and B200)",
     .level = HC_QUICK,
     .run = zeros,
     .data = &single,
     .units = NVIDIA_16 " " NVIDIA_32},
    {.name = "units/zero-exponent/fp16",
     .title = "beside zeros a tie of halves is not broken by what is too small",
     .source = MMA_SIM "tests/probe/features/fdpa_exponent_for_zero.py (inputs); answers: the "
                       "units' models",
     .level = HC_QUICK,
     .run = zeros,
     .data = &half,
     .units = "*-fp16-fp16"},
};

HC_CASES(units_published, cases);
