/* Matrix units against what was published of them. */
#include <math.h>
#include <stdio.h>

#include "cases/fixture/unit_probe.h"

/* Probes that were published with their answers by units, or by models of units. */

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

/* The probes of Fasi, Higham, Mikaitis and Pranesh (Numerical behavior of NVIDIA tensor cores,
   PeerJ Computer Science 7:e330, 2021), by the labels that they have in the authors' suite. It was
   run on V100, T4 and A100, and these answers are its conditions for a pass; the inputs are made
   here from what the paper says of each probe. What other units give is predicted by their models.

   The suite expects other answers of V100, which keeps 23 fraction bits, than of T4 and A100, which
   keep 24. Units that keep 25 would fail three probes of the second file: B3, B4 and D5. */

#define F24    "t4-* a100-* ada-*"
#define F25    "h100*-* b200*-* rtxblackwell-*"
#define NVIDIA "v100-* " F24 " " F25
#define EVERY  NVIDIA " mi100-* mi250x-* mi300x-*"

#define FASI "v100-* t4-* a100-*"
#define T4UP "t4-* a100-*"

/* 2^-24 is the smallest subnormal half. Every "tiny" product is it times another factor. */
#define S 0x1p-24

/* 2^-24 as a subnormal half in every product, times `x`. */
#define FOUR(x) .a = {S, S, S, S}, .b = {x, x, x, x}

static const struct hc_unit_probe a2 = {
    .a = {S}, .b = {4}, .answers = {{"mi250x-*", 0}, {EVERY, 0x1p-22}}, .published = FASI};
static const struct hc_unit_probe a3 = {
    .c = 0x1p-149, .answers = {{"mi250x-*", 0}, {EVERY, 0x1p-149}}, .published = FASI};
static const struct hc_unit_probe a5 = {
    .a = {0x1p-14}, .b = {1}, .c = -0x1p-15, .answers = {{EVERY, 0x1p-15}}, .published = FASI};
static const struct hc_unit_probe b1 = {.a = {1 - 0x1p-11, 1 - 0x1p-11, 1 - 0x1p-11, 1 - 0x1p-11},
                                        .b = {1 - 0x1p-11, 1 - 0x1p-11, 1 - 0x1p-11, 1 - 0x1p-11},
                                        .answers = {{EVERY, 4 * (1 - 0x1p-11) * (1 - 0x1p-11)}},
                                        .published = FASI};
static const struct hc_unit_probe b3_v100 = {
    FOUR(1), .c = 1, .answers = {{"v100-* mi250x-*", 1}, {EVERY, 1 + 0x1p-22}},
    .published = "v100-*"};
static const struct hc_unit_probe b3_t4 = {
    FOUR(0.5), .c = 1,
    .answers = {{"v100-* " F24 " mi250x-*", 1}, {F25 " mi100-* mi300x-*", 1 + 0x1p-23}},
    .published = T4UP};
static const struct hc_unit_probe b4 = {
    .a = {1, S, S, S},
    .b = {1, 0.5, 0.5, 0.5},
    .c = S,
    .answers = {{"mi100-*@* v100-* " F24 " mi250x-* mi300x-*", 1}, {F25 " mi100-*", 1 + 0x1p-23}},
    .published = T4UP};
static const struct hc_unit_probe c1 = {
    .a = {2, S}, .b = {1, 3}, .answers = {{"mi100-*", 2 + 0x1p-22}, {EVERY, 2}}, .published = FASI};
static const struct hc_unit_probe c2 = {.a = {-2, -S},
                                        .b = {1, 3},
                                        .answers = {{"mi100-*", -2 - 0x1p-22}, {EVERY, -2}},
                                        .published = FASI};
static const struct hc_unit_probe d1 = {.a = {1},
                                        .b = {1},
                                        .c = -1 + S,
                                        .answers = {{"v100-*", 0x1p-23}, {EVERY, S}},
                                        .published = FASI};
static const struct hc_unit_probe d2 = {
    FOUR(1), .c = 1 - S,
    .answers = {{"mi250x-*", 1 - S}, {NVIDIA, 1 + 0x1p-23}, {EVERY, 1 + 0x1p-22}},
    .published = FASI};
static const struct hc_unit_probe d3 = {
    .a = {1, -S},
    .b = {1, 1},
    .c = -1 + S,
    .answers = {{"v100-*", 0x1p-23}, {"mi250x-*", S}, {EVERY, 0}},
    .published = FASI};
static const struct hc_unit_probe d4 = {.a = {1, 1, 1, S},
                                        .b = {1, 1, 1, 2},
                                        .c = 1 + 3 * 0x1p-23,
                                        .answers = {{EVERY, 4 + 0x1p-21}},
                                        .published = FASI};
static const struct hc_unit_probe d4b = {.a = {1.5, 1.75, 1.875, 1.875},
                                         .b = {1, 1, 1, 1},
                                         .c = 1,
                                         .answers = {{EVERY, 8}},
                                         .published = FASI};
static const struct hc_unit_probe d4c = {.a = {1, 1, 1, 1},
                                         .b = {1, 1, 1, 1},
                                         .c = 1 + 3 * 0x1p-23,
                                         .answers = {{NVIDIA, 5}, {EVERY, 5 + 0x1p-21}},
                                         .published = FASI};
static const struct hc_unit_probe d4d = {.a = {-1, -1, -1, -1},
                                         .b = {1, 1, 1, 1},
                                         .c = -1 - 3 * 0x1p-23,
                                         .answers = {{NVIDIA, -5}, {EVERY, -5 - 0x1p-21}},
                                         .published = FASI};
static const struct hc_unit_probe d5_less = {
    .a = {S, S, S, S},
    .b = {0.5, 0.5, 0.5, 1.5},
    .c = 1 - S,
    .answers = {{"v100-*", 1}, {"mi250x-*", 1 - S}, {EVERY, 1 + 0x1p-23}},
    .published = T4UP};
static const struct hc_unit_probe d5_more = {
    .a = {S, S, S, S},
    .b = {0.5, 0.5, 0.5, 1.5},
    .c = 1,
    .answers = {{"v100-* " F24 " mi250x-*", 1}, {F25, 1 + 0x1p-23}, {EVERY, 1 + 0x1p-22}},
    .published = T4UP};
static const struct hc_unit_probe half_a1 = {
    .a = {S}, .b = {4}, .answers = {{NVIDIA, 0x1p-22}}, .published = FASI};
static const struct hc_unit_probe half_a4a = {
    .a = {0x1p-14}, .b = {0.5}, .answers = {{NVIDIA, 0x1p-15}}, .published = FASI};
static const struct hc_unit_probe half_a4b = {
    .a = {0x1p-14}, .b = {1}, .c = -0x1p-15, .answers = {{NVIDIA, 0x1p-15}}, .published = FASI};
static const struct hc_unit_probe half_b2 = {.a = {1 - 0x1p-11, 1 - 0x1p-11},
                                             .b = {1 - 0x1p-11, 0x1p-11},
                                             .answers = {{NVIDIA, 1 - 0x1p-11}},
                                             .published = FASI};
static const struct hc_unit_probe half_c3 = {
    .a = {0x1p-14, 0x1p-14}, .b = {0x1p-11, 0x1p-12}, .answers = {{NVIDIA, S}}, .published = FASI};

#define SOURCE                                                                                     \
    "Fasi, Higham, Mikaitis, Pranesh 2021, PeerJ CS 7:e330; "                                      \
    "github.com/north-numerical-computing/tensor-cores-numerical-behavior"
#define ROW(name_, title_, on, probe)                                                              \
    {                                                                                              \
        .name = "units/fasi/" name_, .title = (title_), .source = SOURCE, .level = HC_QUICK,       \
        .run = hc_unit_probe_claim, .data = &(probe), .units = (on)                                \
    }
#define SINGLE(name, title, probe) ROW(name, title, "*-fp16-fp32*", probe)
#define HALF(name, title, probe)   ROW("half/" name, title, "*-fp16-fp16*", probe)

/* The feature tests of FTTN (Li, Laguna and others: FTTN: Feature-Targeted Testing for Numerical
   Properties of NVIDIA and AMD Matrix Accelerators, CCGrid 2024, arXiv 2403.00232). Their inputs
   are public, the paper's table of answers was not to be read, so all answers here are those of the
   units' models. The three values of the paper's matrix product (0, 255.875 and 191.875) are no
   case: its matrices were not found. */

#define NVIDIA_FTTN "v100-* t4-* a100-* ada-* h100*-* b200*-* rtxblackwell-*"
static const struct hc_unit_probe subnormal = {
    .a = {0x1p-24}, .b = {1}, .answers = {{"mi250x-*", 0}, {EVERY, 0x1p-24}}};
static const struct hc_unit_probe subnormal_c = {.c = 0x1p-127,
                                                 .answers = {{"mi250x-*", 0}, {EVERY, 0x1p-127}}};
static const struct hc_unit_probe up = {.a = {2, 0x1p-14},
                                        .b = {1, 1.5 * 0x1p-9},
                                        .answers = {{"mi100-* mi250x-*", 2 + 0x1p-22}, {EVERY, 2}}};
static const struct hc_unit_probe down = {
    .a = {-2, -0x1p-14},
    .b = {1, 1.5 * 0x1p-9},
    .answers = {{"mi100-* mi250x-*", -2 - 0x1p-22}, {EVERY, -2}}};
static const struct hc_unit_probe c_up = {.a = {0x1p-14},
                                          .b = {1.5 * 0x1p-9},
                                          .c = 2,
                                          .answers = {{NVIDIA_FTTN, 2}, {EVERY, 2 + 0x1p-22}}};
static const struct hc_unit_probe c_down = {.a = {-2},
                                            .b = {1},
                                            .c = -1.5 * 0x1p-23,
                                            .answers = {{NVIDIA_FTTN, -2}, {EVERY, -2 - 0x1p-22}}};
static const struct hc_unit_probe one_bit = {
    .a = {1}, .b = {1}, .c = -1 + 0x1p-24, .answers = {{"v100-*", 0x1p-23}, {EVERY, 0x1p-24}}};
static const struct hc_unit_probe three_bits_zero = {
    .a = {1.25},
    .b = {1},
    .c = -0x1p-3 - 0x1p-25,
    .answers = {{F25, 1.125 - 0x1p-23}, {EVERY, 1.125}}};
static const struct hc_unit_probe three_bits_nearest = {
    .a = {1.25},
    .b = {1},
    .c = -0x1p-3 - 0x1p-24 - 0x1p-26,
    .answers = {{"v100-*", 1.125}, {EVERY, 1.125 - 0x1p-23}}};
static const struct hc_unit_probe tie = {
    .a = {0x1p-14}, .b = {0x1p-10}, .c = 1, .answers = {{EVERY, 1}}};
static const struct hc_unit_probe sticky = {
    .a = {1},
    .b = {1},
    .c = 0x1p-24 + 0x1p-27,
    .answers = {{"mi100-* mi250x-*", 1 + 0x1p-23}, {EVERY, 1}}};

#define ROW_FTTN(name_, title_, probe)                                                             \
    {                                                                                              \
        .name = "units/fttn/" name_, .title = (title_),                                            \
        .source = "github.com/LLNL/FTTN fp16in.cpp (inputs); answers: the units' models",          \
        .level = HC_QUICK, .run = hc_unit_probe_claim, .data = &(probe), .units = "*-fp16-fp32*"   \
    }

static const struct hc_case cases[] = {
    {"units/mma-sim/discrepancy",
     "one dot product gives seven results from 0 to -1.375, by the unit",
     MMA_SIM "examples/discrepancy (inputs); answers: the units' models", .level = HC_QUICK,
     .run = hc_unit_probe_claim, .data = &discrepancy, .units = SUMMED_IN_SINGLE},
    {"units/zero-exponent/fp32",
     "beside zeros the smallest number of fp32 is not made smaller by what is too small",
     MMA_SIM "tests/probe/features/fdpa_exponent_for_zero.py (inputs), and Khattak and Mikaitis, "
             "arXiv 2512.07004 (-132 on A100, -133 on H100 and B200)",
     .level = HC_QUICK, .run = zeros, .data = &single, .units = NVIDIA_16 " " NVIDIA_32},
    {"units/zero-exponent/fp16", "beside zeros a tie of halves is not broken by what is too small",
     MMA_SIM "tests/probe/features/fdpa_exponent_for_zero.py (inputs); answers: the units' models",
     .level = HC_QUICK, .run = zeros, .data = &half, .units = "*-fp16-fp16"},
    SINGLE("a2", "subnormal halves are no zeros", a2),
    SINGLE("a3", "a subnormal C is no zero", a3),
    SINGLE("a5", "a difference that is no normal half is not flushed", a5),
    SINGLE("b1", "products of halves are not rounded", b1),
    SINGLE("b3-v100", "1 and four times 2^-24 tell 23 fraction bits from 24", b3_v100),
    SINGLE("b3-t4", "1 and four times 2^-25 tell 24 fraction bits from 25", b3_t4),
    SINGLE("b4", "a large product cuts the others and C", b4),
    SINGLE("c1", "a positive sum is cut, and not rounded", c1),
    SINGLE("c2", "a negative sum is cut toward zero, and not downward", c2),
    SINGLE("d1", "a bit that only C has below the last place of 1 is kept, or not", d1),
    SINGLE("d2", "small products are added before the sum is cut", d2),
    SINGLE("d3", "both a product and C have a bit below the last place of 1", d3),
    SINGLE("d4", "the sum of a piece is not normalized on the way", d4),
    SINGLE("d4-carry", "a sum that carries by two places keeps its value", d4b),
    SINGLE("d4-cut", "a sum that carries by two places is cut at its own last place", d4c),
    SINGLE("d4-cut-negative", "a negative sum that carries is cut toward zero", d4d),
    SINGLE("d5-less", "with C below 1 small products count", d5_less),
    SINGLE("d5-more", "with C = 1 they count less: a larger C gives a smaller sum", d5_more),
    HALF("a1", "subnormal halves are no zeros where the sum is a half", half_a1),
    HALF("a4-product", "a product that is a subnormal half is not flushed", half_a4a),
    HALF("a4-sum", "a sum that is a subnormal half is not flushed", half_a4b),
    HALF("b2", "products and sum are rounded once, into half", half_b2),
    HALF("c3", "the sum is rounded to nearest into half", half_c3),
    ROW_FTTN("subnormal-input", "the smallest subnormal half is no zero", subnormal),
    ROW_FTTN("subnormal-c", "a subnormal C is no zero", subnormal_c),
    ROW_FTTN("rounds-up", "three quarters of the last place of a positive sum", up),
    ROW_FTTN("rounds-down", "three quarters of the last place of a negative sum", down),
    ROW_FTTN("rounds-up-to-c", "three quarters of the last place of a positive C", c_up),
    ROW_FTTN("rounds-c-down", "a negative C of three quarters of a product's last place", c_down),
    ROW_FTTN("one-extra-bit", "one bit below the last place is kept in a difference", one_bit),
    ROW_FTTN("three-extra-bits-cut", "a third bit below the last place makes a cut sum smaller",
             three_bits_zero),
    ROW_FTTN("three-extra-bits-nearest", "three bits below the last place round a sum",
             three_bits_nearest),
    ROW_FTTN("tie", "half of the last place of 1 is lost", tie),
    ROW_FTTN("sticky-bit",
             "more than half of the last place of 1 is not lost where sums are rounded", sticky),
};

HC_CASES(units_published, cases);
