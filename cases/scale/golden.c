/* The scales of E8M0 against what the systems' own code answered, executed. The cases scale/RULE
   hold kernels to this program's statement of a rule; both might round the same wrong way, and the
   answers of others do not. */
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "op/scale_rule.h"

enum { ANSWERS = 15, BLOCK = 32, NO_NUMBER = 0xff };

static const struct golden {
    enum hc_format codes;
    uint32_t amax;
    const char *scales;
} golden[] = {
#include "cases/scale/golden.inc"
};

enum { ROWS = sizeof golden / sizeof *golden };

/* Whose answer stands in which column. mx-even is torchao's, but where that is NaN. */
static const struct column {
    enum hc_scale_rule rule;
    int at;
    bool but_nan;
} columns[] = {
    {HC_SCALE_MX_RP, 1, false},        {HC_SCALE_MX_TE, 2, false},
    {HC_SCALE_MX_CUBLAS, 3, false},    {HC_SCALE_AO18_FLOOR, 4, false},
    {HC_SCALE_AO18_RCEIL, 5, false},   {HC_SCALE_AO18_CEIL, 6, false},
    {HC_SCALE_AO18_EVEN, 7, false},    {HC_SCALE_MX_NEAREST, 8, false},
    {HC_SCALE_MX_FLOOR_DIV, 9, false}, {HC_SCALE_DEEPGEMM_UE8M0, 10, false},
    {HC_SCALE_MX_FLOOR, 11, false},    {HC_SCALE_AO_RCEIL, 12, false},
    {HC_SCALE_MX_CEIL, 13, false},     {HC_SCALE_AO_EVEN, 14, false},
    {HC_SCALE_MX_EVEN, 14, true},
};

/* -1: the system has none. */
static int answer(const struct golden *row, int column)
{
    char text[3] = {row->scales[2 * column], row->scales[2 * column + 1], '\0'};
    return text[0] == '-' ? -1 : (int)strtol(text, NULL, 16);
}

/* Each row is a block whose amax stands in another column; the rest is 0. */
static bool judge(struct hc_check *check, enum hc_format codes, const struct column *c,
                  struct hc_comparisons *all)
{
    struct hc_call call = {.op = HC_OP_quantize,
                           .params.quantize = {.rule = c->rule, .rows = 1, .columns = BLOCK}};
    struct hc_tensor x = hc_tensor2(HC_FP32, ROWS, BLOCK, NULL);
    struct hc_tensor scales = hc_tensor2(HC_E8M0, ROWS, 1, NULL);
    call.in[HC_QUANTIZE_X] = hc_check_tensor(check, x);
    x.format = codes;
    call.out[HC_QUANTIZE_CODES] = hc_check_tensor(check, x);
    call.out[HC_QUANTIZE_SCALES] = hc_check_tensor(check, scales);
    call.out[HC_QUANTIZE_TENSOR] = hc_check_vector(check, HC_FP32, 1);
    call.out[HC_QUANTIZE_AMAX] = hc_check_vector(check, HC_FP32, 1);
    for (int64_t row = 0; row < ROWS; row++)
        if (golden[row].codes == codes)
            hc_tensor_set_bits(&call.in[HC_QUANTIZE_X], row * BLOCK + row % BLOCK,
                               golden[row].amax);
    if (hc_do(check, &call) != HC_OK)
        return false;
    for (int64_t row = 0; row < ROWS; row++) {
        int want = answer(&golden[row], c->at);
        uint64_t got = hc_tensor_bits(&call.out[HC_QUANTIZE_SCALES], row);
        if (golden[row].codes != codes || want < 0 || (c->but_nan && want == NO_NUMBER))
            continue;
        all->checked++;
        if ((uint64_t)want != got)
            hc_comparisons_wrong(all, "%s, amax %08x: want scale %02x, got %02x",
                                 hc_scale_rules[c->rule].name, (unsigned)golden[row].amax,
                                 (unsigned)want, (unsigned)got);
    }
    return true;
}

static void run(struct hc_check *check)
{
    enum hc_format codes = *(const enum hc_format *)hc_check_case(check)->data;
    struct hc_comparisons all = {.what = "scales"};
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
        if (!judge(check, codes, &columns[c], &all))
            return;
    hc_claim_comparisons(check, &all);
}

static const enum hc_format formats[] = {HC_E4M3, HC_E5M2, HC_E2M1};

static const struct hc_case cases[] = {
    {.name = "scale/golden-e4m3",
     .title = "the scales of E8M0 for codes in e4m3 are those that the systems' own code gave",
     .source =
         "kernels/element/vectors/scale_e8m0_e4m3.txt, whose first line says what was executed",
     .run = run,
     .data = &formats[0]},
    {.name = "scale/golden-e5m2",
     .title = "the scales of E8M0 for codes in e5m2 are those that the systems' own code gave",
     .source =
         "kernels/element/vectors/scale_e8m0_e5m2.txt, whose first line says what was executed",
     .run = run,
     .data = &formats[1]},
    {.name = "scale/golden-e2m1",
     .title = "the scales of E8M0 for codes in e2m1 are those that the systems' own code gave",
     .source =
         "kernels/element/vectors/scale_e8m0_e2m1.txt, whose first line says what was executed",
     .run = run,
     .data = &formats[2]},
};

HC_CASES(scale_golden, cases);
