/* The built program's comparisons: their table, files and pictures. */
#include "cli/training/testing.h"

TestSuite(comparison_run, .init = make, .fini = unmake);

Test(comparison_run, compare_prints_a_table_and_writes_a_record_with_every_run)
{
    ends("", "compare --recipes fp32,amp --seeds 2 " SMALL);
    const char *said = content("stdout");
    cr_assert_not_null(strstr(said, "Accuracy against fp32, in pairs of equal seed."), "%s", said);
    cr_assert_not_null(strstr(said, "SYNTHETIC"), "%s", said);
    const char *record = content("out/compare/record.json");
    cr_assert_not_null(strstr(record, "\"train/amp-seed2\""));
    cr_assert_not_null(strstr(record, "\"compare/amp-as-fp32\""));
}

/* gnuplot would run what follows a '<' or a '|' in a file's name, and end a text at a quote. */
Test(comparison_run, a_folder_of_any_name_has_its_pictures)
{
    static const char *const names[] = {"'it'\\''s \"a\" `touch pwned` $(touch pwned)'",
                                        "'< touch pwned'", "'two\nlines'", "'|touch pwned'"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char line[512];
        (void)snprintf(line, sizeof line, "compare --recipes fp32,amp-bf16 --out %s " SMALL,
                       names[i]);
        cr_expect_lt(run("", line), 2, "%s: %s", names[i], content("stderr"));
        (void)snprintf(line, sizeof line, "ls %s/summary.svg %s/gradients.png >/dev/null", names[i],
                       names[i]);
        if (shell("gnuplot --version >/dev/null 2>&1") == 0)
            cr_expect_eq(shell(line), 0, "%s: %s", names[i], content("stdout"));
        cr_expect_eq(shell("find . -name 'pwned*' | grep -q ."), 1, "%s", names[i]);
    }
}

/* Adam's eps of 1e-8 is 0 in half: the first gradient that is 0 makes 0/0. */
Test(comparison_run, a_recipe_that_ends_in_nan_is_told_so_everywhere)
{
    cr_assert_eq(run("",
                     "compare --recipes fp32,fp16-pure,apex-O3 --network darknet-tiny --images 32"
                     " --batch 16 --classes dog,ship --epochs 1"),
                 1, "%s", content("stderr"));
    const char *said = content("stdout");
    cr_expect_not_null(strstr(said, "\nfp16-pure                 1  NaN from step 1 "), "%s", said);
    cr_expect_null(strstr(said, "-nan"), "%s", said);
    cr_expect_eq(shell("grep -q '^fp16-pure,1,0,1,nan,nan,nan,' out/compare/runs.csv"), 0, "%s",
                 content("out/compare/runs.csv"));
    cr_expect_eq(shell("grep -rqe -nan out/compare --include='*.csv' --include='*.json'"), 1);
    cr_expect_eq(shell("grep -q '\"nan_from\": 1' out/compare/fp16-pure-seed1/run.json"), 0);
    if (shell("gnuplot --version >/dev/null 2>&1") == 0)
        for (int i = 0; i < 2; i++)
            cr_expect_eq(shell(i ? "grep -q 'fp16-pure: NaN from step 1' out/compare/curves.svg"
                                 : "grep -q '>NaN from step 1<' out/compare/summary.svg"),
                         0);
}

Test(comparison_run, a_new_comparison_leaves_no_old_checkpoint)
{
    ends("", "compare --recipes fp32,amp-bf16 " SMALL);
    cr_assert_eq(run("ulimit -f 4;", "compare --recipes fp32,amp-bf16 " SMALL), 2);
    cr_assert_neq(access("out/compare/amp-bf16-seed1/checkpoint", F_OK), 0);
}

Test(comparison_run, pictures_change_no_status)
{
    int with = run("", "compare --recipes fp32,amp-bf16 " SMALL);
    cr_assert(strstr(content("stdout"), "pictures: out/compare/{curves,scale,gradients,summary}") !=
                      NULL ||
                  strstr(content("stdout"), "no pictures: gnuplot is not installed\n") != NULL,
              "%s", content("stdout"));
    int without = run("PATH=/nonexistent", "compare --recipes fp32,amp-bf16 " SMALL);
    cr_assert_not_null(strstr(content("stdout"), "no pictures: gnuplot is not installed\n"));
    cr_assert_eq(with, without);
}

/* The name of such a recipe has slashes between the numbers of its list. */
Test(comparison_run, a_recipe_with_a_list_has_one_folder_beside_the_others)
{
    ends("", "compare --recipes fp32,amp+group_rates=0.1/1 " SMALL);
    cr_expect_eq(shell("test -s 'out/compare/amp+group_rates=0.1_1-seed1/run.json'"), 0);
    cr_expect_eq(shell("test ! -e 'out/compare/amp+group_rates=0.1'"), 0);
}

/* More than six curves in one frame cannot be told apart. */
Test(comparison_run, each_of_many_recipes_has_a_frame_of_its_own)
{
    static const char *const recipes[] = {"fp32",      "fp64",    "amp",      "amp-bf16",
                                          "bf16-pure", "bf16-sr", "fp16-pure"};
    if (shell("gnuplot --version >/dev/null 2>&1") != 0)
        return;
    ends("", "compare --recipes fp32,fp64,amp,amp-bf16,bf16-pure,bf16-sr,fp16-pure " SMALL);
    for (size_t i = 0; i < sizeof recipes / sizeof recipes[0]; i++) {
        char line[128];
        (void)snprintf(line, sizeof line, "grep -c '>%s<' out/compare/curves.svg >count",
                       recipes[i]);
        cr_assert_eq(shell(line), 0, "%s", recipes[i]);
        cr_expect_str_eq(content("count"), "2\n", "%s: loss and accuracy", recipes[i]);
        (void)snprintf(line, sizeof line, "grep -q '>%s<' out/compare/scale.svg", recipes[i]);
        cr_expect_eq(shell(line), 0, "%s", recipes[i]);
    }
}

/* Without --ranks a batch is in one piece, whatever the recipe's shards are: each gradient is
   that of the recipe without them. A training cuts it. */
Test(comparison_run, drift_of_a_batch_in_one_piece_asks_for_no_shards)
{
    cr_assert_eq(run("", "compare --drift --steps 1 --recipes amp,amp+shards=16 " SMALL), 0, "%s",
                 content("stderr"));
    cr_expect_eq(shell("cut -d, -f2- out/compare/layers.csv | sort | uniq -u >of"), 0);
    cr_expect_str_eq(content("of"), "layer,error,cosine,underflow,lost\n");
    refuse("compare --drift --ranks 1 --steps 1 --recipes amp+shards=16 " SMALL,
           "a batch of 16 has only one image for each of 16 shards: it needs two");
    refuse("compare --recipes fp32,amp+shards=16 " SMALL,
           "a batch of 16 has only one image for each of 16 shards: it needs two");
}

/* Shares of a file sum to the square of all, to the digits that it has. */
Test(comparison_run, shares_of_a_drift_are_printed_recorded_and_refused_without_one)
{
    cr_assert_eq(run("", "compare --drift --shares --seeds 2 --steps 1 --recipes fp32 --images 4"
                         " --batch 4 --network darknet-tiny --classes dog,ship --epochs 1"),
                 0, "%s", content("stderr"));
    cr_expect_eq(
        shell("grep -q '^fp32: shares of the squared error, in %, mean over 2 seeds$' stdout"), 0,
        "%s", content("stdout"));
    cr_expect_eq(shell("awk -F, 'NR > 1 { sum[$2] += $6 / $4 } END { for (of in sum) if (sum[of] < "
                       "0.9999999 || sum[of] > 1.0000001) exit 1; exit length(sum) != 2 }' "
                       "out/compare/shares.csv"),
                 0, "%s", content("out/compare/shares.csv"));
    cr_expect_eq(shell("head -1 out/compare/pairs.csv | grep -q '^recipe,of,source,other,'"), 0);
    cr_expect_eq(shell("grep -c '\"interaction\"' out/compare/record.json >of"), 0);
    refuse("compare --shares --recipes fp32,amp " SMALL,
           "--shares of compare is an option of --drift");
}

Test(comparison_run, tables_are_as_wide_as_the_longest_recipe)
{
    cr_assert_eq(run("", "compare --drift --ranks 2 --steps 1 --recipes fp32,"
                         "apex-O2+wrapper=apex-ddp " SMALL),
                 0, "%s", content("stderr"));
    cr_expect_eq(shell("grep -A2 '^recipe .* shards ' stdout | awk '{ print length }' | uniq >of; "
                       "[ $(wc -l <of) = 1 ]"),
                 0, "%s", content("stdout"));
    cr_expect_eq(shell("grep -A2 '^recipe .* cosine ' stdout | awk '{ print length }' | uniq >of; "
                       "[ $(wc -l <of) = 1 ]"),
                 0, "%s", content("stdout"));
}
