/* The feature tests of FTTN (Li, Laguna and others: FTTN: Feature-Targeted Testing for Numerical
   Properties of NVIDIA and AMD Matrix Accelerators, CCGrid 2024, arXiv 2403.00232). Their inputs
   are public, the paper's table of answers was not to be read, so all answers here are those of the
   units' models. The three values of the paper's matrix product (0, 255.875 and 191.875) are no
   case: its matrices were not found. */
#include "cases/fixture/unit_probe.h"

#define NVIDIA "v100-* t4-* a100-* ada-* h100*-* b200*-* rtxblackwell-*"
#define F25    "h100*-* b200*-* rtxblackwell-*"
#define EVERY  NVIDIA " mi100-* mi250x-* mi300x-*"

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
static const struct hc_unit_probe c_up = {
    .a = {0x1p-14}, .b = {1.5 * 0x1p-9}, .c = 2, .answers = {{NVIDIA, 2}, {EVERY, 2 + 0x1p-22}}};
static const struct hc_unit_probe c_down = {
    .a = {-2}, .b = {1}, .c = -1.5 * 0x1p-23, .answers = {{NVIDIA, -2}, {EVERY, -2 - 0x1p-22}}};
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

#define ROW(name_, title_, probe)                                                                  \
    {                                                                                              \
        .name = "units/fttn/" name_, .title = (title_),                                            \
        .source = "github.com/LLNL/FTTN fp16in.cpp (inputs); answers: the units' models",          \
        .level = HC_QUICK, .run = hc_unit_probe_claim, .data = &(probe), .units = "*-fp16-fp32*"   \
    }

static const struct hc_case cases[] = {
    ROW("subnormal-input", "the smallest subnormal half is no zero", subnormal),
    ROW("subnormal-c", "a subnormal C is no zero", subnormal_c),
    ROW("rounds-up", "three quarters of the last place of a positive sum", up),
    ROW("rounds-down", "three quarters of the last place of a negative sum", down),
    ROW("rounds-up-to-c", "three quarters of the last place of a positive C", c_up),
    ROW("rounds-c-down", "a negative C of three quarters of a product's last place", c_down),
    ROW("one-extra-bit", "one bit below the last place is kept in a difference", one_bit),
    ROW("three-extra-bits-cut", "a third bit below the last place makes a cut sum smaller",
        three_bits_zero),
    ROW("three-extra-bits-nearest", "three bits below the last place round a sum",
        three_bits_nearest),
    ROW("tie", "half of the last place of 1 is lost", tie),
    ROW("sticky-bit", "more than half of the last place of 1 is not lost where sums are rounded",
        sticky),
};

HC_CASES(units_fttn, cases);
