/* Every scale rule with a state, by the op delayed_scale: along traces of amaxes, scale and history
   are after each step those of the rule's independent statement. */
#include <math.h>

#include "case.h"
#include "reference_scale.h"

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

static void run(struct hc_check *check)
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

static const enum hc_delayed_rule rules[] = {
#define HC_DELAYED(id, name, title, source, defects) HC_DELAYED_##id,
#include "op/delayed_rules.def"
#undef HC_DELAYED
};

static const struct hc_case cases[] = {
#define HC_DELAYED(id, rule, is, from, defects)                                                    \
    {.name = "scale/" rule,                                                                        \
     .title = "delayed_scale follows the rule " rule " step by step: " is,                         \
     .source = (from),                                                                             \
     .run = run,                                                                                   \
     .data = &rules[HC_DELAYED_##id]},
#include "op/delayed_rules.def"
#undef HC_DELAYED
};

HC_CASES(scale_delayed, cases);
