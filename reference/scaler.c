/* scaler_update and overflow_verdict. The kernels run the rule from top to bottom, as the contract
   writes it; here the step is classified first, and each output then has a formula of its own. */

#include "reference/split.h"

/* What the rule makes of this step, before any number changes. */
struct step {
    int found;
    int overflowed;
    int held_back; /* an overflow at which hysteresis keeps the scale */
    int gave_up;
    int due; /* growth */
};

static int64_t count(const struct hc_call *call, enum hc_count which)
{
    return (int64_t)hc_tensor_get(&call->in[HC_SCALER_COUNTS], which);
}

/* Whether the scale grows after one more clean step. */
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
    double scale = hc_tensor_get(&call->in[HC_SCALER_SCALE], 0);
    struct step s = {0};
    s.found = hc_is_set(&call->in[HC_SCALER_FOUND_INF]);
    bool divides_by_zero = p->error_at_floor && scale == 0;
    s.overflowed = divides_by_zero || (s.found && !(scale <= (double)p->min_checked_scale));
    s.held_back =
        s.overflowed && !divides_by_zero && p->hysteresis - count(call, HC_COUNT_HELD_BACK) >= 2;
    s.gave_up = s.overflowed && !s.held_back && p->error_at_floor &&
                (divides_by_zero || scale == (double)p->floor);
    s.due = !s.overflowed && growth_due(call, scale);
    return s;
}

static bool is_skipped(const struct hc_call *call, const struct step *s)
{
    const struct hc_scaler_update *p = &call->params.scaler;
    bool is_first = p->wait_for_first_step && count(call, HC_COUNT_TAKEN) == 0;
    return s->overflowed && (p->skip_on_overflow || is_first);
}

static int64_t counted(const struct hc_call *call, const struct step *s, enum hc_count which)
{
    const struct hc_scaler_update *p = &call->params.scaler;
    int64_t before = count(call, which);
    bool skipped = is_skipped(call, s);
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
        if (s->overflowed)
            return p->keep_clean ? before : 0;
        return s->due && p->when != HC_WHEN_MULTIPLE ? 0 : before + 1;
    case HC_COUNT_HELD_BACK:
        return s->due || (p->refill_hysteresis && !s->overflowed) ? 0 : before + s->held_back;
    case HC_COUNT_GAVE_UP:
        return s->gave_up ? 1 : before;
    default:
        return before;
    }
}

/* A product of two fp32 numbers has at most 48 bits, so it is exact here. The cap and the floor are
   fp32 numbers; therefore the exact product compares with them as the rounded one does. From
   2^128 - 2^103 on, rounding to fp32 gives infinity. */
static void rescale(mpfr_t x, const struct hc_call *call, const struct step *s)
{
    const struct hc_scaler_update *p = &call->params.scaler;
    if (mpfr_nan_p(x))
        return;
    if (s->overflowed && !s->held_back && !s->gave_up) {
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
    if (e->out == HC_SCALER_NEW_SCALE) {
        hc_load_real(x, &call->in[HC_SCALER_SCALE], 0);
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
    mpfr_set_ui(
        x, e->index == HC_VERDICT_OVERFLOWED ? (unsigned)s.overflowed : is_skipped(e->call, &s),
        MPFR_RNDN);
    hc_split(x, want);
    mpfr_clear(x);
}
