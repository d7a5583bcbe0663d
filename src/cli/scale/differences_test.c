/* list scale-differences against what was measured of the systems' own code, or follows from the
   rules on paper. */
#include "cli/testing.h"

/* One row: rule, base, codes, and the columns from `other scale` on that are known. */
static void expect_row(const char *rule, const char *codes, int scales, const char *first,
                       const char *loss)
{
    char line[160], want[96];
    (void)snprintf(line, sizeof line,
                   "$hc list scale-differences | awk -F'\\t' '$1 == \"%s\" && $3 == \"%s\" "
                   "{ print %s, $7, $10 }'",
                   rule, codes, scales < 0 ? "\"-\"" : "$5");
    if (scales < 0)
        (void)snprintf(want, sizeof want, "- %s %s\n", first, loss);
    else
        (void)snprintf(want, sizeof want, "%d %s %s\n", scales, first, loss);
    cr_expect_str_eq(run_shell(line)->out, want, "%s of %s: %s", rule, codes, run_shell(line)->out);
}

/* The least scale M 2^k with a >= M 2^k loses the part 1 - M / a: for floor, a is just below
   2^(emax + 1), so that e4m3 loses 1 - 448/512, e5m2 1 - 57344/65536 and e2m1 1 - 6/8. Rounding to
   nearest in the logarithm loses up to 1 - 1/sqrt 2, and down nearly half. */
Test(differences, worst_losses_are_those_that_follow_from_the_rules, .init = enter_folder)
{
    expect_row("mx-floor", "e4m3", -1, "04600001", "12.5 %");
    expect_row("mx-floor", "e5m2", -1, "07e00001", "12.5 %");
    expect_row("mx-floor", "e2m1", -1, "01400001", "25.0 %");
    expect_row("mx-even", "e4m3", -1, "04600001", "9.7 %");
    expect_row("mx-even", "e5m2", -1, "07e00001", "6.7 %");
    expect_row("mx-even", "e2m1", -1, "01400001", "14.3 %");
    expect_row("mx-nearest", "e4m3", -1, "04600001", "29.3 %");
    expect_row("mx-floor-div", "e2m1", -1, "01400001", "50.0 %");
}

/* A scale in ue4m3 with three bits of fraction is rounded down most, as a part of itself, from a
   little below 17/16 of a power of two: 1 - 16/17. (Its clamp to 2^-6 keeps it normal.) */
Test(differences, rounding_scales_of_blocks_to_ue4m3_saturates_a_seventeenth_at_most,
     .init = enter_folder)
{
    expect_row("nvfp4-torchao", "e2m1", -1, "0087c3b6", "5.9 %");
}

/* Measured over all amaxes of CUDA's host conversion: one a format. */
Test(differences, rounding_a_quotient_up_misses_one_amax_of_a_format, .init = enter_folder)
{
    expect_row("mx-te", "e4m3", 1, "04600001", "0.0 %");
    expect_row("mx-te", "e5m2", 1, "07e00001", "0.0 %");
    expect_row("mx-te", "e2m1", 1, "01400001", "0.0 %");
    expect_row("mx-cublas", "e4m3", 1, "04600001", "0.0 %");
}

Test(differences, tests_of_transformer_engine_differ_from_its_kernel_at_inf_and_nan,
     .init = enter_folder)
{
    expect_row("te-reference", "e4m3", 2, "7f800000", "0.0 %");
}

/* The answers to 0, infinity and NaN as the systems' sources have them: TransformerEngine
   takes the scale 1, or of blocks the largest below NaN; torchao's newest makes NaN of infinity,
   and its 0.18.0 the exponent field of fp32 less emax, 255 - 8. */
Test(differences, specials_are_listed_of_every_rule_without_a_history, .init = enter_folder)
{
    static const char *const rows[][2] = {
        {"te-current", "0 3f800000, inf 3f800000, nan 3f800000\n"},
        {"te-reference", "0 3f800000, inf 00000000, nan 7fc00000\n"},
        {"torchao", "0 57cbba10, inf 00000000, nan 7fc00000\n"},
        {"mx-te", "0 00, inf fe, nan 00\n"},
        {"mx-rp", "0 00, inf fe, nan ff\n"},
        {"mx-floor", "0 00, inf ff, nan ff\n"},
        {"torchao-rceil", "0 00, inf ff, nan ff\n"},
        {"torchao-0.18-floor", "0 00, inf f7, nan ff\n"},
        {"torchao-0.18-rceil", "0 00, inf fe, nan ff\n"},
        {"te-delayed", "-\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[128];
        (void)snprintf(line, sizeof line,
                       "$hc list scales | awk -F'\\t' '$1 == \"%s\" { print $6 }'", rows[i][0]);
        cr_expect_str_eq(run_shell(line)->out, rows[i][1], "%s: %s", rows[i][0],
                         run_shell(line)->out);
    }
}
