/* Real drifts through the gate, of a tiny network. */
#include "cli/gate/testing.h"

#define DRIFT "$hc compare --drift --steps 2 --network darknet-tiny --images 8 "

static void expect_gate(const char *line, int status, const char *within)
{
    const struct ran *ran = run_shell(line);
    cr_expect_eq(ran->status, status, "%s%s", ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, within), "want %s: %s%s", within, ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, status ? "\nFAIL: " : "\nPASS: "), "%s", ran->out);
}

/* Planted: bf16 under the name of half. */
Test(gate_drift_run, drift_passes_against_itself_and_other_seeds_and_fails_in_another_format,
     .init = enter_folder)
{
    const struct ran *ran =
        run_shell(DRIFT "--recipes amp,amp-bf16 --seeds 4 --batch 2 --out a >log; " DRIFT
                        "--recipes amp --seeds 4 --seed 11 --batch 2 --out b >log; " DRIFT
                        "--recipes amp --batch 2 --out one >log; " DRIFT
                        "--recipes amp --seed 2 --batch 2 --out other >log; " DRIFT
                        "--recipes amp --seeds 4 --batch 1 --out batch >log; "
                        "sed -e 's/amp\\([\"-]s\\|\"\\|-g\\|-w\\)/dropped\\1/g' -e "
                        "'s/amp-bf16/amp/g' a/record.json >planted.json");
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    expect_gate("$hc gate --baseline a/record.json a/record.json", 0,
                "no drift is larger: 2 recipes\n  drift/amp on host\n    gradient ");
    expect_gate("$hc gate --baseline a/record.json a/record.json", 0, "35 of 35 numbers are equal");
    expect_gate("$hc gate --baseline a/record.json b/record.json drift/amp", 0, "0 grew");
    expect_gate("$hc gate --baseline a/record.json planted.json drift/amp --all", 1,
                "drift/amp/gradient on host");
    expect_gate("sed 's/\"drift\": \\[/\"d\": [/' a/record.json >without.json; "
                "$hc gate --baseline a/record.json without.json",
                1, "worse (missing)");
    expect_gate("sed 's/\"free\": \".*\"/\"free\": \"nan\"/' a/record.json >nan.json; "
                "$hc gate --baseline nan.json b/record.json drift/amp",
                1, "not comparable (seeds)");
    expect_refusal("sed 's/\"free\": \"/\"free\": \"-/' a/record.json >below.json; "
                   "$hc gate --baseline a/record.json below.json",
                   "\"weights\" is below 0");
    expect_gate("$hc gate --baseline one/record.json one/record.json", 0, "equal");
    expect_gate("$hc gate --baseline one/record.json other/record.json", 1,
                "too few: 1 seed, 1 in the baseline");
    expect_gate("$hc gate --baseline b/record.json batch/record.json", 1, "measured on synthetic");
}
