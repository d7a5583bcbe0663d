/* Probes of the units for fp8. Hopper and Ada keep 13 bits behind the point of the largest product
   or C: of each product, of C, and of the result, which is a number of E8M13 in a register for
   fp32. Blackwell keeps as many as of other formats. The claims are published, the inputs are made
   here, and so all answers are those of the units' models. */
#include "cases/fixture/unit_probe.h"

#define F13 "ada-* h100wgmma-*"
#define F25 "b200-* rtxblackwell-*"

/* 2^-7 is a subnormal number of e4m3. */
#define S 0x1p-7

static const struct hc_unit_probe kept = {
    .a = {1, S}, .b = {1, 2 * S}, .answers = {{F13 " " F25, 1 + 0x1p-13}}};
static const struct hc_unit_probe lost = {
    .a = {1, S}, .b = {1, S}, .answers = {{F13, 1}, {F25, 1 + 0x1p-14}}};
static const struct hc_unit_probe cut = {
    .a = {1, S}, .b = {1, 1.5 * S}, .answers = {{F13, 1}, {F25, 1 + 1.5 * 0x1p-14}}};
static const struct hc_unit_probe negative = {
    .a = {-1, -S}, .b = {1, 1.5 * S}, .answers = {{F13, -1}, {F25, -1 - 1.5 * 0x1p-14}}};
static const struct hc_unit_probe each = {
    .a = {1, S, S, S}, .b = {1, S, S, S}, .answers = {{F13, 1}, {F25, 1 + 3 * 0x1p-14}}};
static const struct hc_unit_probe c = {
    .a = {0}, .b = {1}, .c = 1 + 0x1p-14, .answers = {{F13, 1}, {F25, 1 + 0x1p-14}}};
static const struct hc_unit_probe result = {
    .a = {2, 2, 2 * S}, .b = {1, 1, 2 * S}, .answers = {{F13, 4}, {F25, 4 + 0x1p-12}}};

#define SOURCE                                                                                     \
    "DeepSeek-V3, arXiv 2412.19437, 3.5.2 (14 bits, cut, on Hopper); SageAttention2, arXiv "       \
    "2411.10958 (E8M13 on Ada and Hopper); deepseek-ai/DeepGEMM issues 37 and 176 (a B200 keeps "  \
    "25 bits); answers: the units' models (docs/matrix-units.md)"
#define ROW(name_, title_, probe)                                                                  \
    {                                                                                              \
        .name = "units/fp8/" name_, .title = (title_), .source = SOURCE, .level = HC_QUICK,        \
        .run = hc_unit_probe_claim, .data = &(probe),                                              \
        .units = "*-e4m3-fp32* *-e4m3xe5m2-fp32* *-e5m2xe4m3-fp32* *-e5m2-fp32*"                   \
    }

static const struct hc_case cases[] = {
    ROW("thirteen-bits", "2^-13 beside 1 is kept", kept),
    ROW("fourteen-bits", "2^-14 beside 1 is lost where a unit keeps 13 bits", lost),
    ROW("cut", "three quarters of the last bit are cut off", cut),
    ROW("cut-negative", "three quarters of the last bit are cut off a negative sum", negative),
    ROW("each-product", "three halves of the last bit are lost, each by itself", each),
    ROW("c", "C is cut as products are", c),
    ROW("result", "the sum is cut once more where it carries", result),
};

HC_CASES(units_fp8, cases);
