/* What the functions of wrong conversions share, and those that the list takes from another file:
   mistakes.c has the list, mistakes_overflow.c what goes wrong with numbers beyond the largest. */
#ifndef HC_CLI_CAST_MISTAKES_INNER_H
#define HC_CLI_CAST_MISTAKES_INNER_H

#include <math.h>

#include "cli/cast/mistakes.h"
#include "num/encode.h"

static inline const struct hc_format_info *target(const struct hc_cast_plan *plan)
{
    return &hc_formats[plan->to];
}

/* The definition, of a number that lies lo's sign beside x. */
static inline uint32_t right(const struct hc_cast_plan *plan, double x, double lo)
{
    return (uint32_t)hc_encode_as(target(plan), x, lo, plan->direction, plan->saturate);
}

static inline uint32_t sign_bit(const struct hc_cast_plan *plan)
{
    return target(plan)->sign ? (uint32_t)1 << (target(plan)->bits - 1) : 0;
}

/* A magnitude's code with the sign of x. */
static inline uint32_t signed_as(const struct hc_cast_plan *plan, double x, uint32_t magnitude)
{
    return magnitude | (signbit(x) ? sign_bit(plan) : 0);
}

/* What becomes of finite numbers that are too large, or nearly so, and of infinity. */
enum hc_cast_overflow {
    EARLY,
    LATE,
    NEXT,
    TIE_BEYOND,
    TIE_WITHIN,
    CLAMPED,
    UNCLAMPED,
    CLAMPED_FINITE,
    CLAMPED_INFINITE,
    TO_NAN,
    NEXT_TO_NAN
};

uint32_t hc_cast_overflow(const struct hc_cast_plan *plan, int how, uint32_t input, double x);

/* Rounding in the plan's direction, or toward zero, and what is then beyond the largest number
   overflows, though it would be the largest number by a direction that leads to zero. */
uint32_t hc_cast_undirected(const struct hc_cast_plan *plan, int how, uint32_t input, double x);
uint32_t hc_cast_truncated(const struct hc_cast_plan *plan, int how, uint32_t input, double x);

#endif
