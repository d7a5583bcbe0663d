/* scaler_update and decide, told as the contract tells it: what the step was, then the one output asked for. */
#include <math.h>

#include "reference/split.h"

/* What this step came to, without any of the new numbers. */
struct step {
    int found;
    int seen;
    int held; /* seen, and hysteresis keeps the scale */
    int gave_up;
    int due;
};

static int64_t count(const struct hc_call *call, enum hc_count which)
{
    return (int64_t)hc_tensor_get(&call->in[1], which);
}

/* Clean steps, this one included, beyond the rule's lateness. */
static int growth_due(const struct hc_call *call, double scale)
{
    const struct hc_scaler_update *p = &call->params.scaler;
    int64_t past = count(call, HC_COUNT_CLEAN) + 1 - p->delay - p->interval;
    if (p->interval == 0)
        return 0;
    if (p->cap == HC_CAP_BELOW && !(scale < (double)p->max_scale))
        return 0;
    switch (p->when) {
    case HC_WHEN_EQUAL:
        return past == 0;
    case HC_WHEN_REACHED:
        return past >= 0;
    default:
        return past >= 0 && past % p->interval == 0;
    }
}

static struct step classify(const struct hc_call *call)
{
    const struct hc_scaler_update *p = &call->params.scaler;
    double scale = hc_tensor_get(&call->in[0], 0);
    struct step s = {0};
    s.found = call->in[2].data && hc_tensor_get(&call->in[2], 0) != 0;
    bool divides_by_zero = p->error_at_floor && scale == 0;
    s.seen = divides_by_zero || (s.found && !(scale <= (double)p->min_checked_scale));
    s.held = s.seen && !divides_by_zero && p->hysteresis - count(call, HC_COUNT_HELD_BACK) >= 2;
    s.gave_up =
        s.seen && !s.held && p->error_at_floor && (divides_by_zero || scale == (double)p->floor);
    s.due = !s.seen && growth_due(call, scale);
    return s;
}

static bool left_out(const struct hc_call *call, const struct step *s)
{
    const struct hc_scaler_update *p = &call->params.scaler;
    bool nothing_to_take = p->wait_for_first_step && count(call, HC_COUNT_TAKEN) == 0;
    return s->seen && (p->skip_on_overflow || nothing_to_take);
}

static int64_t counted(const struct hc_call *call, const struct step *s, enum hc_count which)
{
    const struct hc_scaler_update *p = &call->params.scaler;
    int64_t before = count(call, which);
    bool skipped = left_out(call, s);
    switch (which) {
    case HC_COUNT_STEPS:
        return before + 1;
    case HC_COUNT_TAKEN:
        return before + !skipped;
    case HC_COUNT_SKIPPED:
        return before + skipped;
    case HC_COUNT_FOUND:
        return before + s->found;
    case HC_COUNT_CLEAN:
        if (s->seen)
            return p->keep_clean ? before : 0;
        return s->due && p->when != HC_WHEN_MULTIPLE ? 0 : before + 1;
    case HC_COUNT_HELD_BACK:
        return s->due || (p->refill_hysteresis && !s->seen) ? 0 : before + s->held;
    case HC_COUNT_GAVE_UP:
        return s->gave_up ? 1 : before;
    default:
        return before;
    }
}

/* At least 49 bits make a product of two fp32 numbers exact; so the cap's and the floor's comparisons
   are those of the real product, which agree with those of the rounded one: both are fp32 numbers.
   2^128 - 2^103 is where rounding to fp32 begins to give infinity. */
static void rescale(mpfr_t x, const struct hc_call *call, const struct step *s)
{
    const struct hc_scaler_update *p = &call->params.scaler;
    if (mpfr_nan_p(x))
        return;
    if (s->seen && !s->held && !s->gave_up) {
        mpfr_mul_d(x, x, (double)p->backoff, MPFR_RNDN);
        if (mpfr_cmp_d(x, (double)p->floor) < 0)
            mpfr_set_d(x, (double)p->floor, MPFR_RNDN);
    }
    if (!s->due)
        return;
    mpfr_t grown;
    mpfr_init2(grown, mpfr_get_prec(x));
    mpfr_mul_d(grown, x, (double)p->growth, MPFR_RNDN);
    bool finite = mpfr_number_p(grown) && mpfr_cmp_d(grown, 0x1p128 - 0x1p103) < 0;
    if (p->cap == HC_CAP_CLAMP && mpfr_cmp_d(grown, (double)p->max_scale) > 0)
        mpfr_set_d(x, (double)p->max_scale, MPFR_RNDN);
    else if (p->cap != HC_CAP_FINITE || finite)
        mpfr_set(x, grown, MPFR_RNDN);
    mpfr_clear(grown);
}

hc_reference hc_reference_scaler_update;
void hc_reference_scaler_update(const struct hc_element *e, long precision, struct hc_exact *want)
{
    const struct hc_call *call = e->call;
    struct step s = classify(call);
    mpfr_t x;
    mpfr_init2(x, precision);
    if (e->out == 0) {
        hc_load_real(x, &call->in[0], 0);
        rescale(x, call, &s);
    } else {
        mpfr_set_d(x, (double)counted(call, &s, (enum hc_count)e->index), MPFR_RNDN);
    }
    hc_split(x, want);
    mpfr_clear(x);
}

hc_reference hc_reference_overflow_verdict;
void hc_reference_overflow_verdict(const struct hc_element *e, long precision,
                                   struct hc_exact *want)
{
    struct step s = classify(e->call);
    mpfr_t x;
    mpfr_init2(x, precision);
    mpfr_set_ui(x, e->index == 0 ? (unsigned)s.seen : left_out(e->call, &s), MPFR_RNDN);
    hc_split(x, want);
    mpfr_clear(x);
}
