#include "train/update/schedule.h"

#include <criterion/criterion.h>
#include <math.h>

Test(schedule, the_rate_starts_at_a_25th_peaks_in_the_middle_and_ends_at_a_250000th)
{
    struct hc_rates start = hc_one_cycle(3e-3, 101, 0);
    struct hc_rates peak = hc_one_cycle(3e-3, 101, 50);
    struct hc_rates end = hc_one_cycle(3e-3, 101, 100);
    cr_assert_eq(start.lr, 3e-3 / 25);
    cr_assert_float_eq(peak.lr, 3e-3, 1e-18);
    cr_assert_eq(end.lr, 3e-3 / 25 / 1e4);
    cr_assert_eq(start.beta1, 0.95);
    cr_assert_float_eq(peak.beta1, 0.85, 1e-15);
    cr_assert_eq(end.beta1, 0.95);
}

/* cos(pi/3) = 1/2 and cos(2 pi/3) = -1/2: a quarter and three quarters of the way down. */
Test(schedule, it_rises_on_a_line_and_falls_on_a_cosine)
{
    double low = 1.0 / 25;
    double end = low / 1e4;
    cr_assert_float_eq(hc_one_cycle(1, 13, 3).lr, low + (1 - low) / 2, 1e-15);
    cr_assert_float_eq(hc_one_cycle(1, 13, 3).beta1, 0.90, 1e-15);
    cr_assert_float_eq(hc_one_cycle(1, 13, 8).lr, end + 0.75 * (1 - end), 1e-15);
    cr_assert_float_eq(hc_one_cycle(1, 13, 8).beta1, 0.95 - 0.75 * 0.1, 1e-15);
    cr_assert_float_eq(hc_one_cycle(1, 13, 10).lr, end + 0.25 * (1 - end), 1e-15);
}

Test(schedule, it_has_one_peak_for_odd_and_even_numbers_of_steps)
{
    for (int64_t steps = 1; steps < 40; steps++)
        for (int64_t step = 1; step < steps; step++) {
            struct hc_rates before = hc_one_cycle(1, steps, step - 1);
            struct hc_rates now = hc_one_cycle(1, steps, step);
            if (2 * step <= steps - 1)
                cr_assert(now.lr > before.lr && now.beta1 < before.beta1);
            else if (2 * (step - 1) >= steps - 1)
                cr_assert(now.lr < before.lr && now.beta1 > before.beta1);
        }
}
