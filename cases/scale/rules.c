/* Every scale rule without a state, by the op quantize: at directed amaxes, the scales that are
   stored are those of the rule's independent statement, and the codes those of the reference. */
#include <math.h>

#include "case.h"
#include "cases/fixture/amaxes.h"
#include "reference_scale.h"

/* A matrix whose rows are blocks, each with an amax of its own. */
struct blocks {
    enum hc_scale_rule rule;
    enum hc_format codes, input;
    int rows, columns;
    double tensor; /* the largest amax of all */
    const double *amax;
};

/* Elements of a block: the amax, in another column in each row, and parts of it of both signs. */
static void fill(const struct blocks *b, struct hc_tensor *x)
{
    for (int64_t i = 0; i < (int64_t)b->rows * b->columns; i++) {
        int64_t row = i / b->columns;
        int64_t column = i % b->columns;
        int is_largest = column == row % b->columns;
        double size = isinf(b->amax[row]) ? 1 : b->amax[row];
        double part = size * (double)(column + 1) / (double)(b->columns + 1);
        double value = is_largest ? b->amax[row] : part;
        hc_tensor_set(x, i, (row + column) % 3 == 0 ? -value : value);
    }
}

/* Runs quantize over the blocks, claims the call, and compares every scale. */
static bool judge(struct hc_check *check, const struct blocks *b, struct hc_comparisons *c)
{
    struct hc_call call = {.op = HC_OP_quantize,
                           .params.quantize = {.rule = b->rule, .rows = 1, .columns = 0}};
    struct hc_tensor x = {.format = b->input, .rank = 2, .shape = {b->rows, b->columns}};
    struct hc_tensor codes = {.format = b->codes, .rank = 2, .shape = {b->rows, b->columns}};
    struct hc_tensor scales = {
        .format = hc_scale_format(b->rule), .rank = 2, .shape = {b->rows, 1}};
    call.in[HC_QUANTIZE_X] = hc_check_tensor(check, x);
    call.out[HC_QUANTIZE_CODES] = hc_check_tensor(check, codes);
    call.out[HC_QUANTIZE_SCALES] = hc_check_tensor(check, scales);
    call.out[HC_QUANTIZE_TENSOR] = hc_check_vector(check, HC_FP32, 1);
    call.out[HC_QUANTIZE_AMAX] = hc_check_vector(check, HC_FP32, 1);
    fill(b, &call.in[HC_QUANTIZE_X]);
    if (hc_claim_call_met(check, &call) != HC_OK)
        return false;
    for (int row = 0; row < b->rows; row++) {
        uint64_t want =
            hc_stated_scale(b->rule, b->codes, b->input, b->tensor, b->amax[row]).stored;
        uint64_t got = hc_tensor_bits(&call.out[HC_QUANTIZE_SCALES], row);
        c->checked++;
        if (!hc_same_bits(scales.format, want, got))
            hc_comparisons_wrong(c, "%s from %s, amax %a: want scale %llx, got %llx",
                                 hc_formats[b->codes].name, hc_formats[b->input].name, b->amax[row],
                                 (unsigned long long)want, (unsigned long long)got);
    }
    return true;
}

/* Amaxes as numbers of the input's format, without NaN (which quantize drops) and what is above
   `most`. The first is `most`, if it is finite. */
static int amaxes_of(struct hc_check *check, const struct blocks *b, double most, double *amax)
{
    static const int strides[] = {[HC_QUICK] = 24, [HC_STANDARD] = 8, [HC_EXHAUSTIVE] = 1};
    int stride = strides[hc_check_level(check)];
    uint32_t *bits = hc_check_memory(check, HC_MOST_AMAXES * sizeof *bits);
    struct hc_amaxes which = {.codes = b->codes,
                              .stride = stride,
                              .offset = (int)(hc_check_seed(check) % (uint64_t)stride),
                              .neighbours = 5};
    int n = hc_amaxes(&which, bits, HC_MOST_AMAXES);
    int kept = 0;
    if (isfinite(most))
        amax[kept++] = most;
    for (int i = 0; i < n; i++) {
        double a = hc_round(b->input, (double)hc_fp32_value(bits[i]));
        if (a <= most)
            amax[kept++] = a;
    }
    return kept;
}

static bool one_level(struct hc_check *check, struct blocks *b, struct hc_comparisons *c)
{
    double *amax = hc_check_memory(check, (HC_MOST_AMAXES + 1) * sizeof *amax);
    b->amax = amax;
    b->rows = amaxes_of(check, b, (double)INFINITY, amax);
    b->tensor = (double)INFINITY;
    return judge(check, b, c);
}

/* Tensors of several sizes: the amax 0 is a tensor of zeros, and 2^-149 one whose first scale ends
   at fp32's largest number. */
static bool two_levels(struct hc_check *check, struct blocks *b, struct hc_comparisons *c)
{
    static const double tensors[] = {0, 0x1p-149, 1e-30, 1, 2688, 0x1.fffffep127};
    double *amax = hc_check_memory(check, (HC_MOST_AMAXES + 1) * sizeof *amax);
    b->amax = amax;
    for (int t = 0; t < 6; t++) {
        b->tensor = fmin(hc_round(b->input, tensors[t]), hc_format_max(b->input));
        b->rows = amaxes_of(check, b, b->tensor, amax);
        if (!judge(check, b, c))
            return false;
    }
    return true;
}

/* The formats of codes under a kind of rule. */
static const enum hc_format codes_of[][3] = {
    [HC_SCALE_OF_FP32] = {HC_E4M3, HC_E5M2, HC_E4M3FNUZ},
    [HC_SCALE_OF_E8M0] = {HC_E4M3, HC_E5M2, HC_E2M1},
    [HC_SCALE_OF_LEVELS] = {HC_E2M1, HC_E2M1, HC_E2M1},
};

/* The other rules take bf16 and fp16 as the fp32 numbers that they are. */
static bool limits_by_input(enum hc_scale_rule rule)
{
    return rule == HC_SCALE_TE_BLOCK || rule == HC_SCALE_TE_BLOCK_FP32;
}

static void run(struct hc_check *check)
{
    static const int columns[] = {
        [HC_SCALE_OF_FP32] = 4, [HC_SCALE_OF_E8M0] = 32, [HC_SCALE_OF_LEVELS] = 16};
    static const enum hc_format inputs[] = {HC_FP32, HC_BF16, HC_FP16};
    enum hc_scale_rule rule = *(const enum hc_scale_rule *)hc_check_case(check)->data;
    enum hc_scale_kind kind = hc_scale_rules[rule].kind;
    struct hc_comparisons c = {.what = "scales"};
    for (int i = 0; i < 9; i++) {
        struct blocks b = {.rule = rule,
                           .codes = codes_of[kind][i / 3],
                           .input = inputs[i % 3],
                           .columns = columns[kind]};
        if (kind == HC_SCALE_OF_LEVELS && i >= 3)
            break;
        if (i % 3 && !(limits_by_input(rule) || hc_check_level(check) == HC_EXHAUSTIVE))
            continue;
        if (!(kind == HC_SCALE_OF_LEVELS ? two_levels : one_level)(check, &b, &c))
            return;
    }
    hc_claim_comparisons(check, &c);
}

static const enum hc_scale_rule rules[] = {
#define HC_SCALE(id, name, kind, title, source, defects) HC_SCALE_##id,
#include "op/scale_rules.def"
#undef HC_SCALE
};

static const struct hc_case cases[] = {
#define HC_SCALE(id, rule, kind, is, from, defects)                                                \
    {.name = "scale/" rule,                                                                        \
     .title = "quantize has the scales of the rule " rule ": " is,                                 \
     .source = (from),                                                                             \
     .run = run,                                                                                   \
     .data = &rules[HC_SCALE_##id - 1]},
#include "op/scale_rules.def"
#undef HC_SCALE
};

HC_CASES(scale_rules, cases);
