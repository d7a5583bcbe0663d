#include "cli/scale/answer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/lines.h"
#include "num/bits.h"
#include "reference_scale.h"

void hc_scale_begin(struct hc_scale_oracle *oracle, const struct hc_scale_plan *plan)
{
    memset(oracle, 0, sizeof *oracle);
    oracle->plan = *plan;
    oracle->scale = 1;
}

/* Whether the plan's rule is asked for the decoding scale, and not for its reciprocal. */
static bool scale_shows_decode(const struct hc_scale_plan *plan)
{
    if (plan->has_history)
        return plan->delayed.rule == HC_DELAYED_FLAX;
    return plan->rule == HC_SCALE_DEEPGEMM || plan->rule == HC_SCALE_DEEPSEEK_UE8M0 ||
           hc_scale_rules[plan->rule].kind != HC_SCALE_OF_FP32;
}

/* Where TransformerEngine takes a maximum of a block, a NaN drops out of it, as fmaxf has it;
   cuBLAS is taken to do the same, which its documentation leaves open. Elsewhere the NaN is the
   maximum. */
static double amax_of(enum hc_scale_rule rule, const uint32_t *words, int n)
{
    bool drops = rule == HC_SCALE_MX_TE || rule == HC_SCALE_MX_CUBLAS;
    double amax = 0;
    for (int i = 0; i < n; i++) {
        double x = fabs((double)hc_fp32_value(words[i]));
        if (isnan(x) && !drops)
            return x;
        if (x > amax)
            amax = x;
    }
    return amax;
}

static bool is_nan_code(enum hc_format format, uint32_t code)
{
    return isnan(hc_decode(format, code));
}

/* A code is claimed unless the block decodes to NaN, or a NaN goes into a format without one. Of -0
   under TransformerEngine's rule of two levels its kernel makes -0 and its reference 0. */
static void round_block(const struct hc_scale_oracle *o, const struct hc_stated_scale *s,
                        const uint32_t *words, int n, struct hc_scale_answer *a)
{
    const struct hc_scale_plan *plan = &o->plan;
    for (int i = 0; i < n; i++) {
        float t = hc_fp32_value(words[i]) * (float)s->encode;
        a->code[i] =
            (uint8_t)(o->round ? o->round(plan->codes, t)
                               : hc_encode_saturated(plan->codes, (double)t, 0, HC_NEAREST));
        bool is_free = isnan(s->decode) || (isnan(t) && !is_nan_code(plan->codes, a->code[i]));
        a->free |= (uint32_t)is_free << i;
        a->zero |= (uint32_t)(plan->rule == HC_SCALE_NVFP4_TE && t == 0 && signbit(t)) << i;
    }
}

static struct hc_scale_answer step(struct hc_scale_oracle *o, double amax)
{
    double *history = o->history[o->current];
    o->current = !o->current;
    o->scale = hc_stated_delayed(&o->plan.delayed, amax, o->scale, history, o->plan.window,
                                 o->history[o->current]);
    return (struct hc_scale_answer){.scale = hc_fp32_bits((float)o->scale)};
}

struct hc_scale_answer hc_scale_next(struct hc_scale_oracle *o, const uint32_t *words)
{
    const struct hc_scale_plan *plan = &o->plan;
    double first = (double)hc_fp32_value(words[0]);
    if (plan->has_history)
        return step(o, first);
    int n = hc_scale_block(plan);
    bool has_levels = hc_scale_rules[plan->rule].kind == HC_SCALE_OF_LEVELS;
    words += has_levels;
    double amax = n ? amax_of(plan->rule, words, n) : first;
    struct hc_stated_scale s =
        hc_stated_scale(plan->rule, plan->codes, plan->input, has_levels ? first : 1, amax);
    struct hc_scale_answer a = {.scale = (uint32_t)s.stored};
    if (n == 0 && !scale_shows_decode(plan))
        a.scale = hc_fp32_bits((float)s.encode);
    round_block(o, &s, words, n, &a);
    return a;
}

static bool is_fp32(const struct hc_scale_plan *plan)
{
    return plan->has_history || hc_scale_format(plan->rule) == HC_FP32;
}

/* A ue4m3 is written as an e4m3, and of that ff is a NaN, too. */
static bool is_nan_scale(const struct hc_scale_plan *plan, uint32_t scale)
{
    if (is_fp32(plan))
        return isnan(hc_fp32_value(scale));
    enum hc_format format = hc_scale_format(plan->rule);
    return is_nan_code(format == HC_UE4M3 ? HC_E4M3 : format, scale);
}

static bool is_same_code(const struct hc_scale_plan *plan, const struct hc_scale_answer *want,
                         const struct hc_scale_answer *got, int i)
{
    bool is_zero = want->zero >> i & 1;
    bool both_nan =
        is_nan_code(plan->codes, want->code[i]) && is_nan_code(plan->codes, got->code[i]);
    return want->code[i] == got->code[i] || both_nan || (is_zero && got->code[i] == 0);
}

int hc_scale_differs(const struct hc_scale_plan *plan, const struct hc_scale_answer *want,
                     const struct hc_scale_answer *got)
{
    bool both_nan = is_nan_scale(plan, want->scale) && is_nan_scale(plan, got->scale);
    if (want->scale != got->scale && !both_nan)
        return 0;
    for (int i = 0; i < hc_scale_block(plan); i++)
        if (!(want->free >> i & 1) && !is_same_code(plan, want, got, i))
            return 1 + i;
    return -1;
}

/* Hexadecimal digits of a scale. */
static int scale_digits(const struct hc_scale_plan *plan)
{
    return is_fp32(plan) ? 8 : 2;
}

int hc_scale_code_digits(const struct hc_scale_plan *plan)
{
    return (hc_formats[plan->codes].bits + 3) / 4;
}

void hc_scale_answer_excerpt(const struct hc_scale_plan *plan, const struct hc_scale_answer *answer,
                             int place, char text[HC_SCALE_EXCERPT])
{
    int n = hc_scale_block(plan);
    int digits = hc_scale_code_digits(plan);
    int count = 16 / digits < n ? 16 / digits : n;
    int first = place - 1 - count / 2;
    if (first > n - count)
        first = n - count;
    if (first < 0)
        first = 0;
    (void)snprintf(text, HC_SCALE_EXCERPT, "%0*x%s%s", scale_digits(plan), (unsigned)answer->scale,
                   n ? " " : "", first > 0 ? "..." : "");
    for (int i = first; i < first + count; i++)
        hc_append(text, HC_SCALE_EXCERPT, "%0*x", digits, (unsigned)answer->code[i]);
    hc_append(text, HC_SCALE_EXCERPT, "%s", first + count < n ? "..." : "");
}

/* Reads `digits` hexadecimal digits; -1 if there are none. */
static int64_t digits_at(const char *text, int digits)
{
    int64_t value = 0;
    for (int i = 0; i < digits; i++) {
        static const char all[] = "0123456789abcdefABCDEF";
        const char *at = text[i] ? strchr(all, text[i]) : NULL;
        if (!at)
            return -1;
        int digit = (int)(at - all);
        value = value * 16 + (digit < 16 ? digit : digit - 6);
    }
    return value;
}

/* Behind a 0x, if there is one. */
static const char *behind_prefix(const char *text)
{
    return text + 2 * (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'));
}

const char *hc_scale_answer_read(const struct hc_scale_plan *plan, const char *text,
                                 struct hc_scale_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    text = behind_prefix(text);
    int64_t value = digits_at(text, scale_digits(plan));
    if (value < 0)
        return is_fp32(plan) ? "the scale is not 8 hexadecimal digits"
                             : "the scale is not 2 hexadecimal digits";
    answer->scale = (uint32_t)value;
    text += scale_digits(plan);
    int n = hc_scale_block(plan);
    if (n > 0 && *text++ != ' ')
        return "no codes come after the scale";
    if (n > 0)
        text = behind_prefix(text);
    for (int i = 0; i < n; i++, text += hc_scale_code_digits(plan)) {
        value = digits_at(text, hc_scale_code_digits(plan));
        if (value < 0)
            return hc_scale_code_digits(plan) == 1 ? "there is not one digit a code"
                                                   : "there are not two digits a code";
        answer->code[i] = (uint8_t)value;
    }
    return *text ? "something comes after the answer" : NULL;
}
