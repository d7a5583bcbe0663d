/* Wrong conversions of what is beyond the largest number, and of what rounds to it or beyond. */
#include "cli/cast/mistakes_inner.h"

static uint32_t largest(const struct hc_cast_plan *plan, double x)
{
    return signed_as(plan, x, (uint32_t)hc_layout_of(target(plan)).largest);
}

static uint32_t infinite(const struct hc_cast_plan *plan, double x)
{
    return right(plan, copysign((double)INFINITY, x), 0);
}

/* Half the distance between the largest number and what would follow it, and a whole. */
static double half_step_beyond(const struct hc_cast_plan *plan)
{
    double step = ldexp(1, target(plan)->emax - target(plan)->precision + 1);
    return hc_format_max(plan->to) + step / 2;
}

static double step_beyond(const struct hc_cast_plan *plan)
{
    return 2 * half_step_beyond(plan) - hc_format_max(plan->to);
}

/* Whether the plan's direction is the one toward zero for numbers of this sign. */
static bool leads_to_zero(const struct hc_cast_plan *plan, double x)
{
    bool negative = signbit(x) && target(plan)->sign;
    return plan->direction == HC_TOWARD_ZERO ||
           plan->direction == (negative ? HC_UPWARD : HC_DOWNWARD);
}

/* Where truncation is what is asked for, it is no mistake. */
uint32_t hc_cast_truncated(const struct hc_cast_plan *plan, int how, uint32_t input, double x)
{
    (void)how;
    (void)input;
    if (!isfinite(x) || leads_to_zero(plan, x))
        return right(plan, x, 0);
    if (fabs(x) >= step_beyond(plan))
        return infinite(plan, x);
    return (uint32_t)hc_encode(plan->to, x, 0, HC_TOWARD_ZERO);
}

uint32_t hc_cast_undirected(const struct hc_cast_plan *plan, int how, uint32_t input, double x)
{
    struct hc_cast_plan other = *plan;
    (void)how;
    (void)input;
    if (plan->direction == HC_NEAREST)
        return right(plan, x, 0);
    other.saturate = false;
    return fabs(x) >= step_beyond(plan) ? infinite(&other, x) : right(&other, x, 0);
}

/* The finite numbers that overflow because they are rounded up, or that lie a step beyond. */
static bool is_next_beyond(const struct hc_cast_plan *plan, int how, double size)
{
    double most = hc_format_max(plan->to);
    double step = step_beyond(plan);
    return how == NEXT ? size >= step && size < step + (step - most) / 2
                       : size > most && size < step;
}

/* The number that is as near to the largest as to overflow, where ties are rounded to even. */
static uint32_t tie(const struct hc_cast_plan *plan, int how, double x)
{
    if (plan->direction != HC_NEAREST || fabs(x) != half_step_beyond(plan))
        return right(plan, x, 0);
    return how == TIE_BEYOND ? infinite(plan, x) : largest(plan, x);
}

static uint32_t saturated(const struct hc_cast_plan *plan, int how, double x)
{
    struct hc_cast_plan other = *plan;
    other.saturate = how == CLAMPED || (how == CLAMPED_FINITE && !isinf(x)) ||
                     (how == CLAMPED_INFINITE && isinf(x));
    return right(&other, x, 0);
}

uint32_t hc_cast_overflow(const struct hc_cast_plan *plan, int how, uint32_t input, double x)
{
    double size = fabs(x);
    uint32_t code = right(plan, x, 0);
    struct hc_cast_plan open = *plan;
    (void)input;
    switch (how) {
    case EARLY:
        return size > hc_format_max(plan->to) ? infinite(plan, x) : code;
    case LATE:
    case NEXT:
        return is_next_beyond(plan, how, size) ? largest(plan, x) : code;
    case TIE_BEYOND:
    case TIE_WITHIN:
        return tie(plan, how, x);
    case TO_NAN:
    case NEXT_TO_NAN:
        open.saturate = false;
        if (target(plan)->special == HC_SPECIAL_IEEE &&
            isinf(hc_decode(plan->to, right(&open, x, 0))) &&
            (how == TO_NAN || is_next_beyond(plan, how, size)))
            return signed_as(plan, x, (uint32_t)hc_layout_of(target(plan)).nan);
        return code;
    default:
        return saturated(plan, how, x);
    }
}
