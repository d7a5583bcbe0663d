/* Real trainings through the gate: seconds of a tiny network on synthetic images. */
#include "cli/gate/testing.h"

#define TINY                                                                                       \
    " --network darknet-tiny --classes dog,ship --images 200 --epochs 2 --batch 16 --backend "     \
    "host "                                                                                        \
    "--threads 1 >log; "

static void expect_gate(const char *line, int status, const char *within, const char *last)
{
    const struct ran *ran = run_shell(line);
    cr_expect_eq(ran->status, status, "%s%s", ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, within), "want %s: %s%s", within, ran->out, ran->err);
    const char *said = strstr(ran->out, last);
    cr_expect(said && strchr(said + 1, '\n') && !strchr(said + 1, '\n')[1], "want %s: %s", last,
              ran->out);
}

/* Null controls: the same runs, and the same recipe with other seeds. Planted: a recipe that learns
   at a fifth of the rate, under the name of the one that it is not. Accuracy after one epoch says
   little here, so the target of the null control is one that the last epoch reaches. */
Test(gate_training_run, real_trainings_pass_against_themselves_and_a_planted_loss_fails,
     .init = enter_folder)
{
    const struct ran *ran =
        run_shell("$hc compare --recipes fp32,fp32+group_rates=0.2 --seeds 4 --out a" TINY
                  "$hc compare --recipes fp32,amp --seeds 4 --seed 11 --out b" TINY
                  "sed -e 's/fp32\\([^+]\\)/other\\1/g' -e 's/fp32+group_rates=0.2/fp32/g' "
                  "a/record.json >planted.json; "
                  "$hc merge a/record.json b/record.json --json both.json");
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    cr_assert_eq(run_shell("$hc merge a/record.json --json a.baseline")->status, 0);
    expect_gate("$hc gate --baseline a.baseline a/record.json", 0, "identical: 2 recipes\n",
                "\nPASS: ");
    expect_gate("$hc gate --baseline a.baseline planted.json train/fp32 --margin 1", 1,
                "worse: accuracy -", "\nFAIL: ");
    expect_gate("$hc gate --baseline a/record.json a/record.json", 0, "identical: 2 recipes\n",
                "\nPASS: ");
    expect_gate("$hc gate --baseline both.json both.json", 0,
                "+0.00 points in 8 pairs: accuracy and losses", "\nPASS: ");
    expect_gate(
        "$hc gate --baseline a/record.json b/record.json train/fp32 --margin 4 --target 99.9", 0,
        "equivalent: 1 recipe\n  train/fp32 on host\n    accuracy ", "\nPASS: ");
    expect_gate("$hc gate --baseline a/record.json b/record.json train/fp32 --margin 0.1", 1,
                "not shown: accuracy ", "\nFAIL: 1 not comparable (1 seeds)");
    expect_gate("$hc gate --baseline a/record.json planted.json train/fp32 --margin 1", 1,
                "worse: accuracy -", "\nFAIL: ");
    expect_gate("$hc gate --baseline b/record.json planted.json train/fp32 --target 95 --margin 1",
                1, "epochs to 95.00 %, was", "\nFAIL: ");
    write_text("allow", "train/*  training  until 2099-01-01  they are known to fail\n");
    cr_assert_eq(
        run_shell("sed 's/\"learned\": true/\"learned\": false/' b/record.json >failed.json")
            ->status,
        0);
    expect_gate("$hc gate --baseline failed.json failed.json", 1,
                "did not learn, as in the baseline", "\nFAIL: 8 worse (8 training)");
    expect_gate("$hc gate --baseline failed.json failed.json --allowances allow", 0,
                "they are known to fail", "\nPASS: ");
}

/* Where the recipe says how many shards there are, the number of ranks decides nothing. Where it
   does not, it is another training, whatever comes of it. */
Test(gate_training_run, ranks_are_named_where_they_decide_what_is_trained, .init = enter_folder)
{
    const struct ran *ran = run_shell("for ranks in 1 2; do for recipe in fp32 fp32+shards=4; do "
                                      "$hc train --recipe $recipe --ranks $ranks "
                                      "--out $recipe.$ranks" TINY "done; done");
    cr_assert_eq(ran->status, 0, "%s", ran->err);
    cr_assert_eq(run_shell("$hc merge fp32.1/run.json --json one.baseline")->status, 0);
    expect_gate("$hc gate --baseline fp32+shards=4.1/run.json fp32+shards=4.2/run.json", 0,
                "identical: 1 recipe\n", "\nPASS: ");
    expect_gate("$hc gate --baseline fp32.1/run.json fp32.2/run.json", 1, ", 2 ranks\n",
                "\nFAIL: 1 not comparable (1 settings)");
    expect_gate("$hc gate --baseline one.baseline fp32.2/run.json", 1, ", 2 ranks\n",
                "\nFAIL: 1 not comparable (1 settings)");
    expect_gate("$hc gate --baseline fp32.2/run.json fp32.2/run.json", 0, "identical: 1 recipe\n",
                "\nPASS: ");
}
