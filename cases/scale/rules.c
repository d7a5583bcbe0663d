/* Every scale rule against its independent statement, others' answers, and bad input. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "cases/fixture/amaxes.h"
#include "op/scale_rule.h"
#include "reference_scale.h"

/* Every scale rule without a state, by the op quantize: at directed amaxes, the scales that are
   stored are those of the rule's independent statement, and the codes those of the reference. */

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

static void run_rule(struct hc_check *check)
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

/* Every scale rule with a state, by the op delayed_scale: along traces of amaxes, scale and history
   are after each step those of the rule's independent statement. */

enum { TENSORS = 6, MOST_WINDOW = 16 };

/* The state of all tensors of a call, and of the statement. */
struct state {
    struct hc_call call;
    double scale[TENSORS];
    double history[TENSORS][MOST_WINDOW];
    int64_t window;
};

/* An amax: an idle step, a number of a usual size, any number, or one of those that rules treat
   apart. Six tensors take it in turns to be mostly tiny, idle and not finite. */
static double amax_at(uint64_t seed, int step, int tensor)
{
    static const double apart[] = {(double)INFINITY, (double)NAN,    0x1p-149, 0x1p-126,
                                   0x1.fffffep127,   0x1.0e5b1p-123, 448,      0};
    uint64_t r = hc_random(seed, (uint64_t)tensor, (uint64_t)step);
    uint64_t kind = (step / 24 + tensor) % 4 == 0 ? 1 : r % 8;
    if (kind == 0)
        return 0;
    if (kind == 1)
        return apart[(step / 24 % 2 ? (uint64_t)step / 12 : r >> 8) % 8];
    if (kind == 2)
        return fabs((double)hc_fp32_value((uint32_t)(r >> 16) % 0x7f800000u));
    return ldexp(1 + (double)(r >> 8 & 0x7fffff) * 0x1p-23, (int)(r >> 40 & 15) - 4);
}

static void begin(struct hc_check *check, struct state *s, const struct hc_delayed_scale *p,
                  int64_t window)
{
    struct hc_tensor history = {.format = HC_FP32, .rank = 2, .shape = {window, TENSORS}};
    *s = (struct state){.call = {.op = HC_OP_delayed_scale, .params.delayed_scale = *p},
                        .window = window};
    s->call.in[HC_DELAYED_AMAX] = hc_check_vector(check, HC_FP32, TENSORS);
    s->call.in[HC_DELAYED_HISTORY] = hc_check_tensor(check, history);
    s->call.in[HC_DELAYED_SCALE] = hc_check_vector(check, HC_FP32, TENSORS);
    s->call.out[HC_DELAYED_NEW_HISTORY] = s->call.in[HC_DELAYED_HISTORY];
    s->call.out[HC_DELAYED_NEW_SCALE] = s->call.in[HC_DELAYED_SCALE];
    for (int t = 0; t < TENSORS; t++) {
        s->scale[t] = 1;
        hc_tensor_set(&s->call.in[HC_DELAYED_SCALE], t, 1);
    }
}

static bool same(double x, double y)
{
    return x == y || (isnan(x) && isnan(y));
}

/* One step of a tensor by the statement, and whether the call had the same. */
static void compare(struct state *s, int step, int t, struct hc_comparisons *c)
{
    const struct hc_delayed_scale *p = &s->call.params.delayed_scale;
    double before[MOST_WINDOW];
    memcpy(before, s->history[t], sizeof before);
    double amax = hc_tensor_get(&s->call.in[HC_DELAYED_AMAX], t);
    s->scale[t] = hc_stated_delayed(p, amax, s->scale[t], before, s->window, s->history[t]);
    double got = hc_tensor_get(&s->call.out[HC_DELAYED_NEW_SCALE], t);
    c->checked++;
    if (!same(s->scale[t], got))
        hc_comparisons_wrong(c, "%s, window %d, margin %d, step %d, amax %a: want %a, got %a",
                             hc_formats[p->codes].name, (int)s->window, p->margin, step, amax,
                             s->scale[t], got);
    for (int64_t i = 0; i < s->window; i++) {
        double entry = hc_tensor_get(&s->call.out[HC_DELAYED_NEW_HISTORY], i * TENSORS + t);
        c->checked++;
        if (!same(s->history[t][i], entry))
            hc_comparisons_wrong(c, "window %d, step %d, amax %a: want %a in slot %d, got %a",
                                 (int)s->window, step, amax, s->history[t][i], (int)i, entry);
    }
}

static bool trace(struct hc_check *check, const struct hc_delayed_scale *p, int64_t window,
                  struct hc_comparisons *c)
{
    int steps = hc_check_level(check) == HC_EXHAUSTIVE ? 1920 : 192;
    struct state *s = hc_check_memory(check, sizeof *s);
    begin(check, s, p, window);
    for (int step = 0; step < steps; step++) {
        for (int t = 0; t < TENSORS; t++)
            hc_tensor_set(&s->call.in[HC_DELAYED_AMAX], t, amax_at(hc_check_seed(check), step, t));
        if (hc_do(check, &s->call) != HC_OK)
            return false;
        for (int t = 0; t < TENSORS; t++)
            compare(s, step, t, c);
    }
    return true;
}

static void run_delayed(struct hc_check *check)
{
    static const int64_t windows[] = {1, 4, MOST_WINDOW};
    struct hc_comparisons c = {.what = "scales and entries"};
    for (int i = 0; i < 12; i++) {
        struct hc_delayed_scale p = {.rule =
                                         *(const enum hc_delayed_rule *)hc_check_case(check)->data,
                                     .codes = i % 2 ? HC_E5M2 : HC_E4M3,
                                     .margin = i % 3,
                                     .most_recent = i >= 6};
        if (!trace(check, &p, windows[i / 2 % 3], &c))
            return;
    }
    hc_claim_comparisons(check, &c);
}

static const enum hc_delayed_rule rules_delayed[] = {
#define HC_DELAYED(id, name, title, source, defects) HC_DELAYED_##id,
#include "op/delayed_rules.def"
#undef HC_DELAYED
};

/* The scales of E8M0 against what the systems' own code answered, executed. The cases scale/RULE
   hold kernels to this program's statement of a rule; both might round the same wrong way, and the
   answers of others do not. */

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
} columns_golden[] = {
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
static bool judge_golden(struct hc_check *check, enum hc_format codes, const struct column *c,
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

static void run_golden(struct hc_check *check)
{
    enum hc_format codes = *(const enum hc_format *)hc_check_case(check)->data;
    struct hc_comparisons all = {.what = "scales"};
    for (size_t c = 0; c < sizeof columns_golden / sizeof *columns_golden; c++)
        if (!judge_golden(check, codes, &columns_golden[c], &all))
            return;
    hc_claim_comparisons(check, &all);
}

static const enum hc_format golden_formats[] = {HC_E4M3, HC_E5M2, HC_E2M1};

/* What comes of a scale that is 0, infinite, NaN or negative, and of a NaN in a format without one:
   op/quant.h states it, to the bit. (Blocks that do not divide a matrix are in op/quantize and
   op/dequantize, whose matrices none of the usual blocks divides.) */

enum { N = 4 };

/* Codes of 2, -2, inf and NaN under a given multiplier, and the scale that is stored. The factor 0
   makes NaN of inf, and a NaN of either sign is the largest positive number where there is none. */
static const struct multiplied_bad_input {
    enum hc_format codes;
    double multiplier;
    uint8_t code[N];
    double scale;
} multiplied_bad_input[] = {
    {HC_E4M3, 1, {0x40, 0xc0, 0x7e, 0x7f}, 1},
    {HC_E5M2, 1, {0x40, 0xc0, 0x7b, 0x7f}, 1},
    {HC_E4M3FNUZ, 1, {0x48, 0xc8, 0x7f, 0x80}, 1},
    {HC_E2M3, 1, {0x10, 0x30, 0x1f, 0x1f}, 1},
    {HC_E3M2, 1, {0x10, 0x30, 0x1f, 0x1f}, 1},
    {HC_E2M1, 1, {0x4, 0xc, 0x7, 0x7}, 1},
    {HC_E4M3, 0, {0x00, 0x80, 0x7f, 0x7f}, (double)INFINITY},
    {HC_E4M3FNUZ, 0, {0x00, 0x00, 0x80, 0x80}, (double)INFINITY},
    {HC_E2M1, 0, {0x0, 0x8, 0x7, 0x7}, (double)INFINITY},
    {HC_E4M3, -0.0, {0x80, 0x00, 0x7f, 0x7f}, -(double)INFINITY},
    {HC_E4M3, (double)NAN, {0x7f, 0x7f, 0x7f, 0x7f}, (double)NAN},
    {HC_E2M1, (double)NAN, {0x7, 0x7, 0x7, 0x7}, (double)NAN},
    {HC_E4M3, -1, {0xc0, 0x40, 0xfe, 0x7f}, -1},
    {HC_E2M1, -1, {0xc, 0x4, 0xf, 0x7}, -1},
    {HC_E4M3, (double)INFINITY, {0x7e, 0xfe, 0x7e, 0x7f}, 0},
    {HC_E2M1, -(double)INFINITY, {0xf, 0x7, 0xf, 0x7}, -0.0},
    {HC_E4M3, 0x1p-149, {0x00, 0x80, 0x7e, 0x7f}, (double)INFINITY},
};

static void compare_bad_input(struct hc_comparisons *c, const struct hc_tensor *t, int64_t i,
                              uint64_t want, const char *what, double under)
{
    uint64_t got = hc_tensor_bits(t, i);
    c->checked++;
    if (!hc_same_bits(t->format, want, got))
        hc_comparisons_wrong(c, "%s %s under %g: want %llx, got %llx", hc_formats[t->format].name,
                             what, under, (unsigned long long)want, (unsigned long long)got);
}

static struct hc_tensor matrix(struct hc_check *check, enum hc_format format, int64_t columns)
{
    return hc_check_tensor(check, hc_tensor2(format, 1, columns, NULL));
}

static void multipliers(struct hc_check *check)
{
    static const double x[N] = {2, -2, (double)INFINITY, (double)NAN};
    static const char *const names[N] = {"2", "-2", "inf", "NaN"};
    struct hc_comparisons c = {.what = "codes and scales"};
    for (size_t r = 0; r < sizeof multiplied_bad_input / sizeof multiplied_bad_input[0]; r++) {
        const struct multiplied_bad_input *m = &multiplied_bad_input[r];
        struct hc_call call = {.op = HC_OP_quantize, .params.quantize = {.rule = HC_SCALE_GIVEN}};
        call.in[HC_QUANTIZE_X] = matrix(check, HC_FP32, N);
        call.in[HC_QUANTIZE_SCALE] = hc_check_vector(check, HC_FP32, 1);
        call.out[HC_QUANTIZE_CODES] = matrix(check, m->codes, N);
        call.out[HC_QUANTIZE_SCALES] = matrix(check, HC_FP32, 1);
        call.out[HC_QUANTIZE_TENSOR] = hc_check_vector(check, HC_FP32, 1);
        call.out[HC_QUANTIZE_AMAX] = hc_check_vector(check, HC_FP32, 1);
        hc_tensor_set(&call.in[HC_QUANTIZE_SCALE], 0, m->multiplier);
        for (int i = 0; i < N; i++)
            hc_tensor_set(&call.in[HC_QUANTIZE_X], i, x[i]);
        if (hc_do(check, &call) != HC_OK)
            return;
        for (int i = 0; i < N; i++)
            compare_bad_input(&c, &call.out[HC_QUANTIZE_CODES], i, m->code[i], names[i],
                              m->multiplier);
        compare_bad_input(&c, &call.out[HC_QUANTIZE_SCALES], 0,
                          hc_encode(HC_FP32, m->scale, 0, HC_NEAREST), "scale", m->multiplier);
        compare_bad_input(&c, &call.out[HC_QUANTIZE_AMAX], 0, 0x7f800000, "amax", m->multiplier);
    }
    hc_claim_comparisons(check, &c);
}

/* 1, -1 and 0 of e4m3 and of e2m1 under a scale of fp32 and a second factor. */
static const struct decoded_bad_input {
    double scale, tensor;
    double y[3];
} decoded_bad_input[] = {
    {0, 1, {0, -0.0, 0}},
    {-0.0, 1, {-0.0, 0, -0.0}},
    {(double)NAN, 1, {(double)NAN, (double)NAN, (double)NAN}},
    {(double)INFINITY, 1, {(double)INFINITY, -(double)INFINITY, (double)NAN}},
    {-2, 1, {-2, 2, -0.0}},
    {1, 0, {0, -0.0, 0}},
    {1, (double)NAN, {(double)NAN, (double)NAN, (double)NAN}},
    {0, (double)INFINITY, {(double)NAN, (double)NAN, (double)NAN}},
    {1, -(double)INFINITY, {-(double)INFINITY, (double)INFINITY, (double)NAN}},
};

static void decode(struct hc_check *check)
{
    static const enum hc_format formats[] = {HC_E4M3, HC_E2M1};
    static const char *const names[] = {"1", "-1", "0"};
    static const double x[] = {1, -1, 0};
    struct hc_comparisons c = {.what = "numbers"};
    for (size_t r = 0; r < 2 * sizeof decoded_bad_input / sizeof decoded_bad_input[0]; r++) {
        const struct decoded_bad_input *d = &decoded_bad_input[r / 2];
        struct hc_call call = {.op = HC_OP_dequantize};
        call.in[HC_DEQUANTIZE_CODES] = matrix(check, formats[r % 2], 3);
        call.in[HC_DEQUANTIZE_SCALES] = matrix(check, HC_FP32, 1);
        call.in[HC_DEQUANTIZE_TENSOR] = hc_check_vector(check, HC_FP32, 1);
        call.out[HC_DEQUANTIZE_Y] = matrix(check, HC_FP32, 3);
        hc_tensor_set(&call.in[HC_DEQUANTIZE_SCALES], 0, d->scale);
        hc_tensor_set(&call.in[HC_DEQUANTIZE_TENSOR], 0, d->tensor);
        for (int i = 0; i < 3; i++)
            hc_tensor_set(&call.in[HC_DEQUANTIZE_CODES], i, x[i]);
        if (hc_do(check, &call) != HC_OK)
            return;
        for (int i = 0; i < 3; i++)
            compare_bad_input(&c, &call.out[HC_DEQUANTIZE_Y], i,
                              hc_encode(HC_FP32, d->y[i], 0, HC_NEAREST), names[i], d->scale);
    }
    hc_claim_comparisons(check, &c);
}

static const struct hc_case cases[] = {
#define HC_SCALE(id, rule, kind, is, from, defects)                                                \
    {.name = "scale/" rule,                                                                        \
     .title = "quantize has the scales of the rule " rule ": " is,                                 \
     .source = (from),                                                                             \
     .run = run_rule,                                                                              \
     .data = &rules[HC_SCALE_##id - 1]},
#include "op/scale_rules.def"
#undef HC_SCALE
#define HC_DELAYED(id, rule, is, from, defects)                                                    \
    {.name = "scale/" rule,                                                                        \
     .title = "delayed_scale follows the rule " rule " step by step: " is,                         \
     .source = (from),                                                                             \
     .run = run_delayed,                                                                           \
     .data = &rules_delayed[HC_DELAYED_##id]},
#include "op/delayed_rules.def"
#undef HC_DELAYED
    {"scale/golden-e4m3",
     "the scales of E8M0 for codes in e4m3 are those that the systems' own code gave",
     "kernels/element/vectors/scale_e8m0_e4m3.txt, whose first line says what was executed",
     .run = run_golden, .data = &golden_formats[0]},
    {"scale/golden-e5m2",
     "the scales of E8M0 for codes in e5m2 are those that the systems' own code gave",
     "kernels/element/vectors/scale_e8m0_e5m2.txt, whose first line says what was executed",
     .run = run_golden, .data = &golden_formats[1]},
    {"scale/golden-e2m1",
     "the scales of E8M0 for codes in e2m1 are those that the systems' own code gave",
     "kernels/element/vectors/scale_e8m0_e2m1.txt, whose first line says what was executed",
     .run = run_golden, .data = &golden_formats[2]},
    {"scale/bad-multipliers",
     "codes and scales of multipliers that are 0, infinite, NaN or negative",
     "src/op/quant.h; OCP OFP8 1.0 and Microscaling Formats (MX) 1.0", .level = HC_QUICK,
     .run = multipliers},
    {"scale/bad-scales-decoded",
     "codes are decoded under scales that are 0, infinite, NaN or negative", "src/op/quant.h",
     .level = HC_QUICK, .run = decode},
};

HC_CASES(scale_rules, cases);
