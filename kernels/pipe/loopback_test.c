/* Runs of the whole program on kernels/pipe/programs/loopback.c, halfcheck's own kernels behind a
   pipe: what is right must pass, in whatever order it computes, and what has not been asked must
   not. */
#include "cli/testing.h"

static const char quick[] = "'op/*' 'order/*' 'optimizer/*' 'batchnorm/*' 'clipping/*' 'skip/*' "
                            "'loss/*' 'master/*' 'training/*' --level quick";

static const struct ran *run_loopback(const char *arguments, const char *more)
{
    char line[2048];
    (void)snprintf(line, sizeof line, "$hc run %s --backend 'pipe:" HC_LOOPBACK " %s' %s", quick,
                   arguments, more);
    return run_shell(line);
}

static void expect_only_passes(const struct ran *ran)
{
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_expect_null(strstr(ran->out, "MISTRUSTED"), "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, " PASS; "), "%s", ran->out);
}

Test(loopback, a_right_program_passes_with_the_bits_of_our_order, .init = enter_folder)
{
    const struct ran *ran = run_loopback("host memory", "--order ours");
    expect_only_passes(ran);
    cr_expect_null(strstr(ran->out, "lacks"), "%s", ran->out);
}

/* Norms, averages, products and steps at level standard. All of op/ under seeds 1 to 5 takes a
   minute and more. */
Test(loopback, its_cases_pass_under_another_seed, .init = enter_folder)
{
    const struct ran *ran =
        run_shell("$hc run 'op/bn_*' 'op/all_reduce/*' 'op/gemm/*' 'op/sgd/*' --strict --seed 3 "
                  "--backend 'pipe:" HC_LOOPBACK " exact'");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, "\nPASS: 5"), "%s", ran->out);
}

Test(loopback, a_right_program_in_another_order_passes, .init = enter_folder)
{
    expect_only_passes(run_loopback("exact order=torch-fused reversed", ""));
}

/* In size/ nobody asks `exact` how near an error comes to a bound on sums in fp32. */
Test(loopback, a_program_that_sums_in_fp64_passes_strictly, .init = enter_folder)
{
    const struct ran *ran = run_shell(
        "$hc run 'size/gemm/*' 'size/conv2d*/*tf32*' 'products/*' 'op/layer_norm*/fp32/*' "
        "--strict --backend 'pipe:" HC_LOOPBACK " exact finer'");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, "\nPASS: "), "%s", ran->out);
}

/* All formats and families of numbers. */
Test(loopback, averages_over_ranks_in_another_order_pass, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc run 'op/all_reduce/*' --strict --backend "
                                      "'pipe:" HC_LOOPBACK " exact reversed'");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
}

/* The bits of another order are none of ours. */
Test(loopback, another_order_fails_where_ours_is_asked_for, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc run 'bits/adamw/fp32' --level quick --order ours "
                                      "--backend 'pipe:" HC_LOOPBACK " host order=torch-loop'");
    cr_expect_eq(ran->status, 1, "%s%s", ran->out, ran->err);
}

/* Its unit flushes in bf16 alone. */
Test(loopback, what_is_flushed_is_said_for_a_format, .init = enter_folder)
{
    static const struct {
        const char *word, *verdicts;
    } rows[] = {
        {"flushed=bf16", "PASS: 2 of 2"}, {"", "FAIL: 1 of 2"}, {"flushed=fp16", "FAIL: 2 of 2"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char line[2048];
        (void)snprintf(line, sizeof line,
                       "$hc run 'units/flush-gemm-*' --backend 'pipe:" HC_LOOPBACK
                       " sim-avx512bf16 %s'",
                       rows[i].word);
        const struct ran *ran = run_shell(line);
        cr_expect_eq(ran->status, i > 0, "%s%s", ran->out, ran->err);
        cr_expect_not_null(strstr(ran->out, rows[i].verdicts), "%s: %s", rows[i].word, ran->out);
    }
}

/* Of host's ops the products of matrices flush in bf16 where a unit multiplies, and the dot never
   does: what a program declares, it can declare by op. */
Test(loopback, host_passes_strictly_by_what_it_declares_of_each_op, .init = enter_folder)
{
    const struct ran *ran =
        run_shell("$hc run 'units/flush-*' 'op/*/subnormals' --strict --backend "
                  "'pipe:" HC_LOOPBACK " host flushed=own'");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, "\nPASS: "), "%s", ran->out);
}

/* A sum of stated order in bf16 is no unit's, whatever that does to factors in bf16. */
Test(loopback, what_is_flushed_is_not_so_in_a_sum_of_stated_order, .init = enter_folder)
{
    for (int seed = 2; seed <= 5; seed += 3) {
        char line[2048];
        (void)snprintf(line, sizeof line,
                       "$hc run 'op/dot/bf16-in-bf16/*/subnormals' --seed %d --strict --backend "
                       "'pipe:" HC_LOOPBACK " exact flushed=bf16'",
                       seed);
        const struct ran *ran = run_shell(line);
        cr_expect_eq(ran->status, 0, "%d: %s%s", seed, ran->out, ran->err);
    }
}

/* With a fallback a case may hold by the other backend alone. */
Test(loopback, what_it_was_not_asked_is_no_pass_of_the_program, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc run 'op/add/fp32/1/*' 'op/mul/fp32/1/*' --fallback host "
                                      "--backend 'pipe:" HC_LOOPBACK " host only=add' --json r");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, "cases left out, which hold but made no call"), "%s",
                       ran->out);
    ran = run_shell("grep -o '\"unasked\": [1-9]' r; $hc run 'op/mul/fp32/1/*' --fallback host "
                    "--backend 'pipe:" HC_LOOPBACK " host only=add'");
    cr_expect_not_null(strstr(ran->out, "\"unasked\": "), "%s", ran->out);
    cr_expect_eq(ran->status, 2, "nothing was checked on it: %s%s", ran->out, ran->err);
}

/* Sweeps call the program from threads of their own. */
Test(loopback, calls_of_a_sweep_are_calls_of_the_program, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc run 'bits/cast/fp16-fp32' --fallback host "
                                      "--backend 'pipe:" HC_LOOPBACK " host only=cast'");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_expect_null(strstr(ran->out, "no call"), "%s", ran->out);
}

/* A training's steps, losses and gradients are the same bits. */
Test(loopback, a_training_on_it_with_a_fallback_is_that_of_the_fallback_alone, .init = enter_folder)
{
    static const char train[] =
        "$hc train --recipe fp16-bn32 --network darknet-tiny --images 24 --epochs 2 --batch 16 "
        "--classes airplane,dog";
    char line[2048];
    (void)snprintf(line, sizeof line,
                   "%s --out a >/dev/null; %s --out b --fallback host --call-limit 30 --backend "
                   "'pipe:" HC_LOOPBACK " host only=bn_leaky_train,cast,adamw'; grep -c '' "
                   "a/steps.csv && cmp a/steps.csv b/steps.csv && cmp a/gradients.csv "
                   "b/gradients.csv && echo the same bits; "
                   "grep -o 'call-limit 30 --network' b/run.json",
                   train, train);
    const struct ran *ran = run_shell(line);
    cr_expect_not_null(strstr(ran->out, "the same bits"), "%s%s", ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, "calls ran on its own; on host: add"), "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "call-limit 30"), "%s", ran->out);
}

/* The page says what was left out. */
Test(loopback, the_page_counts_what_was_left_out, .init = enter_folder)
{
    const struct ran *ran = run_shell(
        "$hc run 'op/add/fp32/1/*' 'op/mul/fp32/1/*' --fallback host --json r --backend "
        "'pipe:" HC_LOOPBACK " host only=add' >/dev/null && $hc report r --out . >/dev/null && "
        "grep -A9 'Cases that were left out' report.html");
    cr_expect_not_null(strstr(ran->out, "no call of it reached pipe:"), "%s%s", ran->out, ran->err);
}

Test(loopback, zeros_do_not_pass, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc run 'op/adamw/*/257/normal' 'op/axpy/*/257/normal' "
                                      "--backend 'pipe:" HC_LOOPBACK " host zeros'");
    cr_expect_eq(ran->status, 1, "%s%s", ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, "passed     0 of "), "%s", ran->out);
}
