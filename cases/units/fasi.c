/* The probes of Fasi, Higham, Mikaitis and Pranesh (Numerical behavior of NVIDIA tensor cores,
   PeerJ Computer Science 7:e330, 2021), by the labels that they have in the authors' suite. It was
   run on V100, T4 and A100, and these answers are its conditions for a pass; the inputs are made
   here from what the paper says of each probe. What other units give is predicted by their models.

   The suite expects other answers of V100, which keeps 23 fraction bits, than of T4 and A100, which
   keep 24. Units that keep 25 would fail three probes of the second file: B3, B4 and D5. */
#include "cases/fixture/unit_probe.h"

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

static const struct hc_case cases[] = {
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
};

HC_CASES(units_fasi, cases);
