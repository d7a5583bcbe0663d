/* The engine on sums that were computed by hand or published as probes, and at its edges. */
#include <criterion/criterion.h>
#include <signal.h>

#include "unit/testing.h"

enum { MOST = 128 };

/* The unit's sum of n products of numbers and c. */
static double dot(const char *name, int n, const double *a, const double *b, double c)
{
    const struct hc_unit *u = hc_unit_by_name(name);
    cr_assert_not_null(u, "%s", name);
    uint32_t x[MOST], y[MOST];
    for (int i = 0; i < n; i++) {
        x[i] = code(u->a, a[i]);
        y[i] = code(u->b, b[i]);
    }
    return value_of(u->d, hc_unit_dot(u, x, y, NULL, n, code(u->c, c)));
}

/* MMA-Sim's example, with which it tells units apart (examples/discrepancy). The sum is -0.875. */
Test(dot, published_example_tells_eleven_machines_apart)
{
    static const struct {
        const char *unit;
        double want;
    } rows[] = {
        {"v100-fp16-fp32", 0},
        {"t4-fp16-fp32", -0.5},
        {"t4-fp16k4-fp32", 0},
        {"t4-fp16k4-fp32@c785138", -0.5},
        {"a100-fp16-fp32", -0.5},
        {"a100-bf16-fp32", -0.5},
        {"a100-tf32-fp32", -0.5},
        {"ada-fp16-fp32", -0.5},
        {"ada-e5m2-fp32", 0},
        {"h100mma-fp16-fp32", -0.75},
        {"h100wgmma-fp16-fp32", -0.75},
        {"h100wgmma-bf16-fp32", -0.75},
        {"h100wgmma-tf32-fp32", -0.75},
        {"h100wgmma-e5m2-fp32", 0},
        {"b200-fp16-fp32", -0.75},
        {"b200-e5m2-fp32", -0.75},
        {"b200mma-bf16-fp32", -0.75},
        {"rtxblackwell-fp16-fp32", -0.75},
        {"mi100-fp16-fp32", -0.875},
        {"mi100-fp16-fp32@c785138", 0},
        {"mi100-bf16-fp32", -0.875},
        {"mi100-bf16-fp32@c785138", -0.375},
        {"mi250x-fp16-fp32", 0},
        {"mi250x-bf16-fp32", -0.375},
        {"mi250x-bf16_1k-fp32", 0},
        {"mi300x-fp16-fp32", -0.5},
        {"mi300x-xf32-fp32", -0.5},
        {"mi300x-bf16k4-fp32", -0.5},
        {"mi300x-bf8-fp32", -1},
        /* By hand. The odd product comes first, and nothing is lost in 2^23 - 0.5. AMX loses -0.25
           in its first chain, and rounds -2^23 - 0.625 to -2^23 - 1 before it adds C. */
        {"avx512bf16-bf16-fp32", -0.875},
        {"amx-bf16-fp32", -1},
    };
    static const double a[] = {-8192, -0.5, -0.25, -0.125}, b[] = {1024, 1, 1, 1};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double got = dot(rows[i].unit, 4, a, b, 8388608);
        cr_expect_eq(got, rows[i].want, "%s: %a", rows[i].unit, got);
    }
}

/* The probe of peichenxie/MMA-Sim for the exponent of a zero: 2^-149 and -2^-k, all else 0. The
   first k at which the small term is cut away tells the exponent: 1 - k + fraction bits. */
Test(dot, exponent_of_a_zero_shows_in_the_smallest_sums)
{
    static const struct {
        const char *unit;
        int want, older;
    } rows[] = {
        {"a100-bf16-fp32", 157, 151},    {"ada-bf16-fp32", 157, 151},
        {"h100mma-bf16-fp32", 159, 152}, {"h100wgmma-bf16-fp32", 159, 152},
        {"b200-bf16-fp32", 159, 152},    {"rtxblackwell-bf16-fp32", 159, 152},
        {"a100-tf32-fp32", 157, 151},    {"h100wgmma-tf32-fp32", 159, 152},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int older = 0; older < 2; older++) {
            char name[64];
            (void)snprintf(name, sizeof name, "%s%s", rows[i].unit, older ? "@c785138" : "");
            int k = 150;
            for (; k < 200; k++) {
                double a[] = {0x1p-75, -0x1p-75}, b[] = {0x1p-74, ldexp(1, 75 - k)};
                if (dot(name, 2, a, b, 0) != 0)
                    break;
            }
            cr_expect_eq(k, older ? rows[i].older : rows[i].want, "%s: %d", name, k);
        }
}

/* The same of units whose D is fp16: 2^-25 is a tie, and 2^-k breaks it until a zero's exponent
   cuts it away. In c785138, -126, it never does. */
Test(dot, exponent_of_a_zero_breaks_ties_of_fp16)
{
    static const struct {
        const char *unit;
        int want;
    } rows[] = {
        {"v100-fp16-fp16", 43},         {"t4-fp16-fp16", 45},   {"a100-fp16-fp16", 45},
        {"ada-fp16-fp16", 45},          {"b200-fp16-fp16", 47}, {"h100wgmma-fp16-fp16", 47},
        {"rtxblackwell-fp16-fp16", 47},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int older = 0; older < 2; older++) {
            char name[64];
            (void)snprintf(name, sizeof name, "%s%s", rows[i].unit, older ? "@c785138" : "");
            int k = 26;
            for (; k < 48; k++) {
                double a[] = {0x1p-12, 0x1p-24}, b[] = {0x1p-13, ldexp(1, 24 - k)};
                if (dot(name, 2, a, b, 0) == 0)
                    break;
            }
            cr_expect_eq(k, older ? 48 : rows[i].want, "%s: %d", name, k);
        }
}

/* Flushing is decided after a rounding that knows no smallest exponent. "fmaf, then flush" gives
   2^-126 to both. */
Test(dot, sums_just_below_the_smallest_normal_number_round_before_they_are_flushed)
{
    double first = -0x1p-76, second = -0x1.8p-76, small = 0x1p-76, less = 0x1p-75;
    cr_expect_eq(dot("avx512bf16-bf16-fp32", 1, &first, &small, 0x1p-126), 0x1p-126);
    cr_expect_eq(dot("avx512bf16-bf16-fp32", 1, &second, &less, 0x1p-126), 0);
    double a[] = {0x1p-63, 0, -0x1p-76}, b[] = {0x1p-63, 0, 0x1p-76};
    cr_expect_eq(dot("amx-bf16-fp32", 3, a, b, 0), 0x1p-126);
    a[2] = -0x1.8p-76, b[2] = 0x1p-75;
    cr_expect_eq(dot("amx-bf16-fp32", 3, a, b, 0), 0);
}

Test(dot, amx_adds_its_two_chains_before_c)
{
    double a[] = {0x1p-24, 0x1p-24}, b[] = {1, 1};
    cr_expect_eq(dot("amx-bf16-fp32", 2, a, b, 1), 1 + 0x1p-23);
    cr_expect_eq(dot("avx512bf16-bf16-fp32", 2, a, b, 1), 1);
}

/* Arm's rounding to odd, step by step: an inexact sum gets a last bit, and what is subnormal is
   zero. By hand: 2^-24 + 2^-24 = 2^-23, exact; 1 + 2^-30 = 1 + 2^-23; that + 2^-30 stays. */
Test(dot, bfmmla_rounds_to_odd)
{
    double a[] = {0x1p-24, 0x1p-24, 0x1p-30, 0}, b[] = {1, 1, 1, 1};
    cr_expect_eq(dot("bfmmla-bf16-fp32", 2, a, b, 1), 1 + 0x1p-23);
    cr_expect_eq(dot("bfmmla-bf16-fp32", 2, a + 2, b, 1), 1 + 0x1p-23);
    cr_expect_eq(dot("bfmmla-bf16-fp32", 4, a, b, 1), 1 + 0x1p-23);
    double c[] = {-0x1p-30, 0}, least[] = {0x1p-70, 0}, small[] = {0x1p-57, 0};
    cr_expect_eq(dot("bfmmla-bf16-fp32", 2, c, b, 1), 1 - 0x1p-24);
    cr_expect_eq(dot("bfmmla-bf16-fp32", 2, least, small, 0), 0);
    double big[] = {0x1p127, 0}, two[] = {2, 0};
    const struct hc_unit *u = hc_unit_by_name("bfmmla-bf16-fp32");
    uint32_t x = code(u->a, big[0]), y = code(u->a, two[0]);
    cr_expect_eq(hc_unit_dot(u, &x, &y, NULL, 1, 0), 0x7f800000u);
    /* Zeros that are all -0 stay -0. */
    uint32_t zeros[4] = {0x8000, 0x8000, 0x8000, 0x8000};
    uint32_t ones[4] = {0x3f80, 0x3f80, 0x3f80, 0x3f80};
    cr_expect_eq(hc_unit_dot(u, zeros, ones, NULL, 4, 0x80000000u), 0x80000000u);
    cr_expect_eq(hc_unit_dot(u, zeros, ones, NULL, 2, 0x80000000u), 0, "filled up with +0");
}

/* What is not a multiple of an instruction is filled up with +0, and D is C of what follows. */
Test(dot, any_length_is_a_chain_of_whole_instructions)
{
    int units;
    const struct hc_unit *u = hc_units(&units);
    for (int i = 0; i < units; i++, u++) {
        uint32_t a[MOST] = {0}, b[MOST] = {0}, c = code(u->c, 0.5);
        for (int j = 0; j < u->k + 1; j++) {
            a[j] = code(u->a, j % 3 ? 1.5 : -1);
            b[j] = code(u->b, j % 2 ? -0.5 : 1);
        }
        uint32_t one = hc_unit_dot(u, a, b, NULL, u->k, c);
        uint32_t two = hc_unit_dot(u, a, b, NULL, 2 * u->k, c);
        cr_expect_eq(hc_unit_dot(u, a, b, NULL, u->k + 1, c), two, "%s", u->name);
        if (u->c == u->d)
            cr_expect_eq(hc_unit_dot(u, a + u->k, b + u->k, NULL, u->k, one), two, "%s", u->name);
        cr_expect_eq(value_of(u->d, hc_unit_dot(u, NULL, NULL, NULL, 0, c)), 0.5, "%s", u->name);
    }
}

Test(dot, no_products_leave_every_kind_of_c_as_it_is)
{
    const struct hc_unit *u = hc_unit_by_name("v100-fp16c16-fp32");
    static const uint32_t codes[][2] = {{0x0000, 0},          {0x8000, 0x80000000},
                                        {0x0001, 0x33800000}, {0xfbff, 0xc77fe000},
                                        {0x7c00, 0x7f800000}, {0x7e01, 0x7fffffff}};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        cr_expect_eq(hc_unit_dot(u, NULL, NULL, NULL, 0, codes[i][0]), codes[i][1]);
    u = hc_unit_by_name("a100-fp16-fp32");
    cr_expect_eq(hc_unit_dot(u, NULL, NULL, NULL, 0, 0xff812345), 0xff812345);
}

Test(dot, missing_scales_are_one)
{
    int units;
    const struct hc_unit *u = hc_units(&units);
    for (int i = 0; i < units; i++, u++) {
        if (u->scale == HC_OPERAND_NONE)
            continue;
        uint32_t a[MOST], b[MOST], ones[MOST / 16], twos[MOST / 16];
        for (int j = 0; j < MOST; j++) {
            a[j] = code(u->a, j % 3 ? 1.5 : -1);
            b[j] = code(u->b, 1);
        }
        for (int j = 0; j < MOST / 16; j++) {
            ones[j] = code(u->scale, 1);
            twos[j] = ones[j] + (1u << hc_operands[u->scale].fraction);
        }
        const struct hc_unit_scales one = {ones, ones}, two = {twos, ones};
        uint32_t want = hc_unit_dot(u, a, b, &one, MOST, 0);
        cr_expect_eq(hc_unit_dot(u, a, b, NULL, MOST, 0), want, "%s", u->name);
        double twice = value_of(u->d, hc_unit_dot(u, a, b, &two, MOST, 0));
        cr_expect_eq(twice, 2 * value_of(u->d, want), "%s", u->name);
        /* Ten products have a scale of their own block; what is beyond them is not read. */
        const struct hc_unit_scales first = {twos, ones};
        cr_expect_eq(value_of(u->d, hc_unit_dot(u, a, b, &first, 10, 0)),
                     2 * value_of(u->d, hc_unit_dot(u, a, b, NULL, 10, 0)), "%s", u->name);
    }
}

Test(dot, scales_of_a_unit_without_any_are_a_programmers_error, .signal = SIGABRT)
{
    uint32_t code = 0;
    const struct hc_unit_scales scales = {&code, &code};
    (void)hc_unit_dot(hc_unit_by_name("a100-fp16-fp32"), &code, &code, &scales, 1, 0);
}
