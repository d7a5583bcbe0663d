#include "cli/training/machine_load.h"

#include <criterion/criterion.h>
#include <math.h>
#include <unistd.h>

Test(machine_load, busy_is_all_but_idle_and_waiting_and_counts_guests_once)
{
    /* 100 + 20 + 30 + 5 + 4 + 3 of 1/100 s; 7000 idle, 600 waiting, 50 of the 100 in a guest. */
    cr_assert_float_eq(hc_cpu_busy("cpu  100 20 30 7000 600 5 4 3 50 0\n", 100), 1.62, 1e-12);
    cr_assert(isnan(hc_cpu_busy("intr 1 2 3\n", 100)));
    cr_assert(isnan(hc_cpu_busy("cpu 1 2 3\n", 100)));
    cr_assert(isnan(hc_cpu_busy("", 100)));
}

Test(machine_load, others_are_what_this_process_did_not_use)
{
    struct hc_cpu_time begun = {.wall = 10, .all = 100, .own = 4};
    struct hc_cpu_time ended = {.wall = 20, .all = 115, .own = 12};
    cr_assert_float_eq(hc_cpu_others(begun, ended), 0.7, 1e-12);
    ended.own = 19.5; /* more than all: ticks are whole */
    cr_assert_eq(hc_cpu_others(begun, ended), 0);
    cr_assert(isnan(hc_cpu_others(begun, begun)));
    ended.all = (double)NAN;
    cr_assert(isnan(hc_cpu_others(begun, ended)));
}

Test(machine_load, a_speed_is_worth_nothing_beside_others_and_unknown_others_do_not_count)
{
    double cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
    cr_assert_not(hc_cpu_shared(0));
    cr_assert_not(hc_cpu_shared(0.04 * cores));
    cr_assert(hc_cpu_shared(0.06 * cores));
    cr_assert_not(hc_cpu_shared((double)NAN));
}

Test(machine_load, this_system_says_how_busy_it_is)
{
    struct hc_cpu_time now = hc_cpu_time();
    cr_assert_not(isnan(now.all));
    cr_assert_geq(now.own, 0);
    cr_assert_geq(now.wall, 0);
}
