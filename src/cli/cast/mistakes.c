/* Wrong conversions: what goes wrong with numbers beyond the largest, what goes wrong elsewhere,
   and the list of all. */
#include <float.h>
#include <math.h>

#include "cli/cast/judge.h"
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
enum overflow {
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

/* Wrong conversions of what is beyond the largest number, and of what rounds to it or beyond. */

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
static uint32_t truncated(const struct hc_cast_plan *plan, int how, uint32_t input, double x)
{
    (void)how;
    (void)input;
    if (!isfinite(x) || leads_to_zero(plan, x))
        return right(plan, x, 0);
    if (fabs(x) >= step_beyond(plan))
        return infinite(plan, x);
    return (uint32_t)hc_encode(plan->to, x, 0, HC_TOWARD_ZERO);
}

/* Rounding in the plan's direction, or toward zero, and what is then beyond the largest number
   overflows, though it would be the largest number by a direction that leads to zero. */
static uint32_t undirected(const struct hc_cast_plan *plan, int how, uint32_t input, double x)
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

static uint32_t overflow(const struct hc_cast_plan *plan, int how, uint32_t input, double x)
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

static uint32_t magnitude_of(const struct hc_cast_plan *plan, uint32_t code)
{
    return code & ~sign_bit(plan);
}

static bool is_normal_finite(double x)
{
    return isfinite(x) && x != 0;
}

/* The format's ulp at x. */
static double ulp_at(const struct hc_cast_plan *plan, double x)
{
    int e = x == 0 ? target(plan)->emin : ilogb(x);
    e = e < target(plan)->emin ? target(plan)->emin : e;
    return ldexp(1, e - target(plan)->precision + 1);
}

enum { AWAY, ZERO, UP };

static uint32_t ties(const struct hc_cast_plan *plan, int how, uint32_t input, double x)
{
    (void)input;
    if (!is_normal_finite(x) || plan->direction != HC_NEAREST)
        return right(plan, x, 0);
    double lo = how == UP ? DBL_TRUE_MIN : copysign(DBL_TRUE_MIN, how == AWAY ? x : -x);
    return right(plan, x, lo);
}

static uint32_t directed(const struct hc_cast_plan *plan, int how, uint32_t input, double x)
{
    struct hc_cast_plan other = *plan;
    (void)input;
    other.direction = (enum hc_direction)how;
    if (how == HC_DIRECTION_COUNT)
        other.direction = signbit(x) ? HC_DOWNWARD : HC_UPWARD;
    return right(&other, x, 0);
}

/* As a test of the fraction does that takes a number without hidden bit for one with it. */
static uint32_t subnormals_away(const struct hc_cast_plan *plan, int how, uint32_t input, double x)
{
    bool subnormal = fabs(x) < ldexp(1, hc_formats[plan->from].emin);
    (void)how;
    return subnormal ? directed(plan, HC_DIRECTION_COUNT, input, x) : right(plan, x, 0);
}

/* `how` bits below the last place are kept, and those behind them forgotten. */
static uint32_t sticky(const struct hc_cast_plan *plan, int how, uint32_t input, double x)
{
    (void)input;
    if (!is_normal_finite(x))
        return right(plan, x, 0);
    double step = ldexp(ulp_at(plan, x), -how);
    return right(plan, copysign(trunc(fabs(x) / step) * step, x), 0);
}

static uint32_t by_way_of(const struct hc_cast_plan *plan, int how, uint32_t input, double x)
{
    (void)input;
    return right(plan, hc_round((enum hc_format)how, x), 0);
}

static uint32_t cut_to(const struct hc_cast_plan *plan, int how, uint32_t input, double x)
{
    enum hc_format way = (enum hc_format)how;
    if (way == HC_BF16 && plan->from == HC_FP32)
        return right(plan, hc_decode(HC_FP32, input >> 16 << 16), 0);
    return right(plan, hc_decode(way, hc_encode(way, x, 0, HC_TOWARD_ZERO)), 0);
}

/* To the format's precision first, as if it had no subnormals. */
static uint32_t twice(const struct hc_cast_plan *plan, int how, uint32_t input, double x)
{
    (void)how;
    (void)input;
    if (!is_normal_finite(x))
        return right(plan, x, 0);
    double step = ldexp(1, ilogb(x) - target(plan)->precision + 1);
    return right(plan, nearbyint(x / step) * step, 0);
}

static uint32_t floor_of_half_more(const struct hc_cast_plan *plan, int how, uint32_t input,
                                   double x)
{
    (void)how;
    (void)input;
    if (!is_normal_finite(x) || plan->direction != HC_NEAREST)
        return right(plan, x, 0);
    double step = ulp_at(plan, x);
    float rounded = floorf((float)(fabs(x) / step) + 0.5F);
    return right(plan, copysign((double)rounded * step, x), 0);
}

enum { RESULT, TARGET, SOURCE, TINY };

static uint32_t flush(const struct hc_cast_plan *plan, int how, uint32_t input, double x)
{
    uint32_t code = right(plan, x, 0);
    double normal = ldexp(1, target(plan)->emin);
    double least[] = {[RESULT] = normal,
                      [TARGET] = normal,
                      [SOURCE] = ldexp(1, hc_formats[plan->from].emin),
                      [TINY] = hc_format_tiny(plan->to)};
    double size = how == RESULT ? fabs(hc_decode(plan->to, code)) : fabs(x);
    (void)input;
    return size < least[how] ? right(plan, copysign(0, x), 0) : code;
}

enum { HALF, BELOW_HALF };

/* Half the smallest number, a tie, becomes the smallest number; or what fp32 has directly below. */
static uint32_t half_of_tiny(const struct hc_cast_plan *plan, int how, uint32_t input, double x)
{
    double half = hc_format_tiny(plan->to) / 2;
    double below = half - half * ldexp(1, -hc_formats[plan->from].precision);
    (void)input;
    return fabs(x) == (how == HALF ? half : below) ? signed_as(plan, x, 1) : right(plan, x, 0);
}

enum { TO_MAX, TO_ZERO, TO_INFINITY, TO_PLUS_MAX, TO_PLUS_ZERO };

static uint32_t of_nan(const struct hc_cast_plan *plan, int how, uint32_t input, double x)
{
    double numbers[] = {[TO_MAX] = hc_format_max(plan->to),
                        [TO_ZERO] = 0,
                        [TO_INFINITY] = (double)INFINITY,
                        [TO_PLUS_MAX] = hc_format_max(plan->to),
                        [TO_PLUS_ZERO] = 0};
    (void)input;
    if (!isnan(x))
        return right(plan, x, 0);
    return right(plan, how >= TO_PLUS_MAX ? numbers[how] : copysign(numbers[how], x), 0);
}

enum { OF_ZERO, OF_UNDERFLOW, KEPT, LOST, TURNED };

static uint32_t sign(const struct hc_cast_plan *plan, int how, uint32_t input, double x)
{
    uint32_t code = right(plan, x, 0);
    bool fnuz = target(plan)->special == HC_SPECIAL_FNUZ;
    (void)input;
    if (how == LOST || (how == OF_ZERO && x == 0) ||
        (how == OF_UNDERFLOW && magnitude_of(plan, code) == 0 && !isnan(x)))
        return fnuz && isnan(x) ? code : magnitude_of(plan, code);
    if (how == KEPT && fnuz && code == 0)
        return signed_as(plan, x, 0);
    return how == TURNED && !isnan(x) && x != 0 ? code ^ sign_bit(plan) : code;
}

enum { WRAPS, STAYS };

/* The fraction is all ones and is rounded up, but the exponent stays. */
static uint32_t carry(const struct hc_cast_plan *plan, int how, uint32_t input, double x)
{
    uint32_t fractions = ((uint32_t)1 << (target(plan)->precision - 1)) - 1;
    uint32_t code = right(plan, x, 0);
    uint32_t cut = (uint32_t)hc_encode(plan->to, x, 0, HC_TOWARD_ZERO);
    (void)input;
    if (!is_normal_finite(x) || !fractions || code != cut + 1 || (cut & fractions) != fractions)
        return code;
    return how == WRAPS ? cut & ~fractions : cut;
}

static uint32_t to_other(const struct hc_cast_plan *plan, int how, uint32_t input, double x)
{
    (void)input;
    if (hc_formats[how].bits != target(plan)->bits)
        return right(plan, x, 0);
    return (uint32_t)hc_encode_as(&hc_formats[how], x, 0, plan->direction, plan->saturate);
}

/* e4m3 with IEEE's pattern: exponent 15 for infinity and NaN, and 240 for the largest number. */
static uint32_t to_ieee(const struct hc_cast_plan *plan, int how, uint32_t input, double x)
{
    struct hc_format_info ieee = *target(plan);
    (void)how;
    (void)input;
    if (plan->to != HC_E4M3)
        return right(plan, x, 0);
    ieee.special = HC_SPECIAL_IEEE;
    ieee.emax--;
    return (uint32_t)hc_encode_as(&ieee, x, 0, plan->direction, plan->saturate);
}

static uint32_t in_upper_bits(const struct hc_cast_plan *plan, int how, uint32_t input, double x)
{
    (void)how;
    (void)input;
    return right(plan, x, 0) << (8 - target(plan)->bits) % 8;
}

/* In the order of how often they are met: of two that explain the same, the first is named. */
const struct hc_cast_mistake hc_cast_mistakes[] = {
    {"it rounds ties away from zero", ties, AWAY},
    {"it rounds ties toward zero", ties, ZERO},
    {"it rounds ties up", ties, UP},
    {"it truncates", truncated, 0},
    {"it rounds by way of fp16", by_way_of, HC_FP16},
    {"it rounds by way of bf16", by_way_of, HC_BF16},
    {"it rounds by way of tf32", by_way_of, HC_TF32},
    {"it cuts the input to bf16 first", cut_to, HC_BF16},
    {"it cuts the input to fp16 first", cut_to, HC_FP16},
    {"it does not saturate", overflow, UNCLAMPED},
    {"it saturates", overflow, CLAMPED},
    {"it saturates what is finite and not infinity", overflow, CLAMPED_FINITE},
    {"it saturates infinity and not what is finite", overflow, CLAMPED_INFINITE},
    {"it decides about overflow before rounding", overflow, EARLY},
    {"it sees an overflow only from one step beyond the largest number on", overflow, LATE},
    {"it makes infinity or NaN of an overflow whatever the direction", undirected, 0},
    {"it makes an overflow of the tie between the largest number and overflow", overflow,
     TIE_BEYOND},
    {"it makes the largest number of the tie between that and overflow", overflow, TIE_WITHIN},
    {"it makes NaN of an overflow", overflow, TO_NAN},
    {"it makes NaN of what rounding up carries beyond the largest number", overflow, NEXT_TO_NAN},
    {"it makes the largest number of what is one step beyond it", overflow, NEXT},
    {"it makes the largest number of NaN", of_nan, TO_MAX},
    {"it makes 0 of NaN", of_nan, TO_ZERO},
    {"it makes the largest positive number of NaN of either sign", of_nan, TO_PLUS_MAX},
    {"it makes +0 of NaN of either sign", of_nan, TO_PLUS_ZERO},
    {"it makes of NaN what it makes of infinity", of_nan, TO_INFINITY},
    {"it flushes subnormal results to 0", flush, RESULT},
    {"it flushes what is below the smallest normal number to 0", flush, TARGET},
    {"it flushes what is below the smallest number to 0", flush, TINY},
    {"it flushes subnormal inputs to 0", flush, SOURCE},
    {"it rounds subnormal inputs away from zero", subnormals_away, 0},
    {"it makes the smallest number of its half, which is a tie", half_of_tiny, HALF},
    {"it makes the smallest number of what is just below its half", half_of_tiny, BELOW_HALF},
    {"it rounds by floor(x + 1/2) in fp32", floor_of_half_more, 0},
    {"it loses the carry: a fraction of all ones becomes 0, and the exponent stays", carry, WRAPS},
    {"it loses the carry: a fraction of all ones is not rounded up", carry, STAYS},
    {"it forgets the bits behind the first one cut off", sticky, 1},
    {"it forgets the bits behind the first two cut off", sticky, 2},
    {"it forgets the bits behind the first three cut off", sticky, 3},
    {"it rounds twice where the result is subnormal", twice, 0},
    {"it makes +0 of -0", sign, OF_ZERO},
    {"it makes +0 of negative numbers that are too small", sign, OF_UNDERFLOW},
    {"it makes NaN, the code of the sign alone, of -0", sign, KEPT},
    {"it loses the sign", sign, LOST},
    {"it turns the sign", sign, TURNED},
    {"it rounds toward zero, overflow to the largest number", directed, HC_TOWARD_ZERO},
    {"it rounds away from zero", directed, HC_DIRECTION_COUNT},
    {"it rounds upward", directed, HC_UPWARD},
    {"it rounds downward", directed, HC_DOWNWARD},
    {"it rounds to nearest", directed, HC_NEAREST},
    {"it has an exponent for infinity and NaN, as IEEE's formats have", to_ieee, 0},
    {"it converts to e4m3", to_other, HC_E4M3},
    {"it converts to e5m2", to_other, HC_E5M2},
    {"it converts to e4m3fnuz", to_other, HC_E4M3FNUZ},
    {"it converts to e5m2fnuz", to_other, HC_E5M2FNUZ},
    {"it converts to e2m3", to_other, HC_E2M3},
    {"it converts to e3m2", to_other, HC_E3M2},
    {"it puts the code into the upper bits of the byte", in_upper_bits, 0},
};

const int hc_cast_mistake_count = (int)(sizeof hc_cast_mistakes / sizeof hc_cast_mistakes[0]);

_Static_assert(sizeof hc_cast_mistakes / sizeof hc_cast_mistakes[0] <= HC_CAST_MAX_MISTAKES,
               "a mistake has a bit of 64");

uint32_t hc_cast_mistaken(const struct hc_cast_plan *plan, int mistake, uint32_t input)
{
    const struct hc_cast_mistake *m = &hc_cast_mistakes[mistake];
    return m->code(plan, m->how, input, hc_decode(plan->from, input));
}
