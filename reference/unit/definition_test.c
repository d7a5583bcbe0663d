/* The engine of matrix units against the big integers, unit by unit. HALFCHECK_UNIT_TRIALS says how
   many vectors a unit gets. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include "reference.h"
#include "unit/directed.h"
#include "unit/testing.h"

enum { MAX_UNITS = 512, TRIALS = 250, MAX_TRIALS_FOR_A_CHANGE = 20000 };

static struct hc_directed vector;

typedef uint32_t dot(const struct hc_unit *unit, const uint32_t *a, const uint32_t *b,
                     const struct hc_unit_scales *scales, int64_t n, uint32_t c);

static uint32_t ask(dot *function, const struct hc_unit *unit)
{
    struct hc_unit_scales scales = {vector.scale_a, vector.scale_b};
    return function(unit, vector.a, vector.b, unit->scale ? &scales : NULL, vector.n, vector.c);
}

ParameterizedTestParameters(definition, the_engine_has_the_bits_of_the_big_integers)
{
    static int numbers[MAX_UNITS];
    int n;
    (void)hc_units(&n);
    cr_assert(n <= MAX_UNITS);
    for (int i = 0; i < n; i++)
        numbers[i] = i;
    return cr_make_param_array(int, numbers, (size_t)n);
}

ParameterizedTest(const int *number, definition, the_engine_has_the_bits_of_the_big_integers)
{
    int n;
    const struct hc_unit *unit = &hc_units(&n)[*number];
    const char *asked = getenv("HALFCHECK_UNIT_TRIALS");
    uint64_t trials = asked ? strtoull(asked, NULL, 10) : TRIALS;
    int wrong = 0;
    for (uint64_t i = 0; i < trials && wrong < 3; i++) {
        hc_directed_make(&vector, unit, 0, i);
        uint32_t want = ask(hc_unit_by_definition, unit);
        uint32_t got = ask(hc_unit_dot, unit);
        bool same = hc_unit_same(unit, want, got);
        wrong += !same;
        cr_expect(same, "%s, vector %llu of kind %d: want %08x, got %08x", unit->name,
                  (unsigned long long)i, (int)vector.kind, want, got);
    }
    hc_reference_end();
    if (asked && !wrong)
        printf("%s: %llu vectors, no difference\n", unit->name, (unsigned long long)trials);
}

/* A unit that is wrong in one way. Those that the published models leave open, or that no operands
   of a format can show, are not here: HC_UNIT_FLOORED's floor of 32 bits is hidden by the next. */
struct change {
    const char *what;
    bool (*make)(struct hc_unit *unit);
};

static bool aligns(const struct hc_unit *u)
{
    return u->rule == HC_UNIT_FUSED || u->rule == HC_UNIT_GROUPED || u->rule == HC_UNIT_FLOORED ||
           u->rule == HC_UNIT_FLOORED_HALVES;
}

static bool one_bit_more(struct hc_unit *u)
{
    u->fraction++;
    return aligns(u);
}

static bool one_bit_less(struct hc_unit *u)
{
    u->fraction--;
    return aligns(u);
}

static bool half_a_piece(struct hc_unit *u)
{
    u->piece /= 2;
    return aligns(u) && u->rule != HC_UNIT_GROUPED;
}

static bool another_rounding(struct hc_unit *u)
{
    u->output = u->output == HC_ROUND_NEAREST ? HC_ROUND_CUT : HC_ROUND_NEAREST;
    return true;
}

static bool a_bit_less_out(struct hc_unit *u)
{
    u->output_fraction--;
    return true;
}

static bool kept_subnormals(struct hc_unit *u)
{
    bool flushed = u->inputs != HC_INPUTS_KEPT;
    u->inputs = HC_INPUTS_KEPT;
    return flushed;
}

static bool flushed_when_rounded(struct hc_unit *u)
{
    bool unbounded = u->underflow == HC_UNDERFLOW_FLUSHED_UNBOUNDED;
    u->underflow = HC_UNDERFLOW_FLUSHED_AFTER;
    return unbounded && u->output == HC_ROUND_NEAREST;
}

static bool wide_zero(const struct hc_unit *u)
{
    return u->zero == HC_ZERO_FIXED && (u->a == HC_OPERAND_BF16 || u->a == HC_OPERAND_TF32);
}

static bool zeros_one_higher(struct hc_unit *u)
{
    u->zero_exponent++;
    u->zero_c_exponent++;
    return wide_zero(u);
}

static bool zeros_one_lower(struct hc_unit *u)
{
    u->zero_exponent--;
    u->zero_c_exponent--;
    return wide_zero(u);
}

static bool zeros_as_before(struct hc_unit *u)
{
    u->zero = HC_ZERO_OPERAND;
    u->zero_exponent = u->zero_c_exponent = -126;
    return wide_zero(u);
}

static bool floored_once(struct hc_unit *u)
{
    bool twice = u->total_fraction != 0 && u->rule == HC_UNIT_FLOORED;
    u->total_fraction = 0;
    return twice;
}

static bool another_order(struct hc_unit *u)
{
    u->last_first = !u->last_first;
    return u->rule == HC_UNIT_CHAIN && u->k > 1;
}

Test(definition, directed_vectors_tell_a_unit_from_one_that_is_wrong_in_one_way)
{
    static const struct change changes[] = {
        {"one fraction bit more", one_bit_more},
        {"one fraction bit less", one_bit_less},
        {"half a piece", half_a_piece},
        {"another rounding of the result", another_rounding},
        {"one bit less in the result", a_bit_less_out},
        {"subnormal operands kept", kept_subnormals},
        {"flushed when rounded", flushed_when_rounded},
        {"a zero's exponent one higher", zeros_one_higher},
        {"a zero's exponent one lower", zeros_one_lower},
        {"a zero's exponent as in the older model", zeros_as_before},
        {"floored once", floored_once},
        {"another order", another_order},
    };
    int n;
    int told = 0;
    const struct hc_unit *units = hc_units(&n);
    for (int u = 0; u < n; u++)
        for (size_t c = 0; c < sizeof changes / sizeof *changes; c++) {
            struct hc_unit other = units[u];
            if (!changes[c].make(&other))
                continue;
            int i = 0;
            do
                hc_directed_make(&vector, &units[u], 0, (uint64_t)i);
            while (hc_unit_same(&units[u], ask(hc_unit_dot, &units[u]),
                                ask(hc_unit_by_definition, &other)) &&
                   ++i < MAX_TRIALS_FOR_A_CHANGE);
            cr_expect(i < MAX_TRIALS_FOR_A_CHANGE, "%s: %s", units[u].name, changes[c].what);
            told++;
        }
    cr_expect(told > 800, "%d", told);
    hc_reference_end();
}
