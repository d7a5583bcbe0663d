/* The built program, given what users get wrong. */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend.h"
#include "cli/training/training_record.h"

static char folder[] = "/tmp/halfcheck-training-XXXXXX";

static void make(void)
{
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
}

static int shell(const char *command)
{
    int status = system(command); /* NOLINT(cert-env33-c): the tests' own commands */
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void unmake(void)
{
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    (void)chdir("/");
    (void)shell(command);
}

TestSuite(training, .init = make, .fini = unmake);

/* Runs halfcheck in the test's folder; stdout and stderr go to the files stdout and stderr. */
static int run(const char *before, const char *arguments)
{
    char command[1024];
    (void)snprintf(command, sizeof command, "%s '%s' %s >stdout 2>stderr </dev/null", before,
                   HC_PROGRAM, arguments);
    return shell(command);
}

static const char *content(const char *name)
{
    static char text[16384];
    FILE *f = fopen(name, "r");
    size_t length = f == NULL ? 0 : fread(text, 1, sizeof text - 1, f);
    if (f != NULL)
        (void)fclose(f);
    text[length] = '\0';
    return text;
}

/* One line on stderr, with this in it, and status 2. */
static void refuse_with(const char *before, const char *arguments, const char *fact)
{
    int status = run(before, arguments);
    const char *said = content("stderr");
    const char *newline = strchr(said, '\n');
    cr_assert_eq(status, 2, "%s: status %d, %s", arguments, status, said);
    cr_assert_eq(strncmp(said, "halfcheck: ", 11), 0, "%s", said);
    cr_assert_not_null(strstr(said, fact), "%s: %s", arguments, said);
    cr_assert(newline != NULL && newline[1] == '\0', "%s: %s", arguments, said);
}

static void refuse(const char *arguments, const char *fact)
{
    refuse_with("", arguments, fact);
}

Test(training, wrong_options_are_refused_before_anything_is_read_or_written)
{
    refuse("train", "train needs --recipe");
    refuse("train --recipe fp31", "no recipe 'fp31'; did you mean 'fp32'?");
    refuse("train --recipe none", "no recipe 'none'; there are: fp32, tf32");
    refuse("train --recipe amp --set intervall=3",
           "no field 'intervall'; did you mean 'interval'?");
    refuse("train --recipe", "--recipe needs R");
    refuse("train --recipe fp32 --backend hots",
           "no backend 'hots'; did you mean 'host'? there are: ");
    refuse("train --recipe fp32 --backend exact,host",
           "a training runs on one backend, not on exact,host");
    refuse("train --recipe fp32 --frobnicate", "unknown option --frobnicate");
    refuse("train --recipe fp32 --seed one", "--seed takes a number");
    refuse("train --recipe fp32 --seed -1", "--seed takes a number");
    refuse("train --recipe fp32 --epochs 0", "--epochs takes a whole number");
    refuse("train --recipe fp32 --epochs 1.5", "--epochs takes a whole number");
    refuse("train --recipe fp32 --batch 0", "--batch takes a whole number");
    refuse("train --recipe fp32 --lr nan", "--lr takes a number");
    refuse("train --recipe fp32 --lr 0", "--lr takes a number");
    refuse("train --recipe fp32 --network lenet", "--network takes one of darknet16, darknet-tiny");
    refuse("train --recipe fp32 more", "takes no argument 'more'");
    refuse("train --recipe fp32 --classes airplane,dgo",
           "unknown class \"dgo\"; did you mean 'dog'?");
    refuse("train --recipe fp32 --classes cat,,dog", "--classes 'cat,,dog': an element is empty");
    refuse("train --recipe fp32 --recipe amp", "--recipe is given twice");
    refuse("train --recipe fp32 --classes dog", "two or more");
    refuse("train --recipe fp32 --classes cat,dog --batch 2048", "a batch of 2048 is more");
    refuse("train --recipe fp32 --lr-find --resume", "--lr-find keeps no checkpoint");
    refuse("compare", "compare needs --recipes");
    refuse("compare --recipes fp32", "two recipes or more");
    refuse("compare --recipes fp32,fp32", "named twice");
    refuse("compare --recipes fp32,", "--recipes 'fp32,': an element is empty");
    refuse("compare --recipes ' ,fp32'", "an element is empty");
    refuse("compare --recipes 'fp32, fp32'", "recipe fp32 is named twice");
    refuse("compare --recipes fp32 --recipes fp32", "recipe fp32 is named twice");
    refuse("compare --recipes 'fp32 , fp 32'", "no recipe 'fp 32'; did you mean 'fp32'?");
    refuse("compare --recipes fp32:0,amp-bf16",
           "takes R or R:SEEDS, with 1 to 1000 seeds, not 'fp32:0'");
    refuse("compare --recipes fp32:,amp-bf16", "not 'fp32:'");
    refuse("compare --recipes fp32:2x,amp-bf16", "not 'fp32:2x'");
    refuse("compare --recipes fp32,amp+group_rates=0.1,1", "no recipe '1'"); /* 0.1/1 is a list */
    refuse("compare --recipes all,amp-bf16", "recipe amp-bf16 is named twice");
    refuse("compare --recipes fp32,amp-bf16 --seeds 0", "--seeds takes a whole number");
    refuse("compare --recipes fp32,amp-bf16 --margin x", "--margin takes a number");
    refuse("train --recipe amp --set eps=x", "eps is a number");
    refuse("train --recipe amp --set group_rates=0.1,-1", "group_rates is up to 8 numbers");
    refuse("train --recipe amp --set group_rates=0.1,1 --set group_decays=0",
           "recipe amp+group_rates=0.1/1+group_decays=0: group_rates and group_decays are of");
    refuse("train --recipe amp --set loss=u8", "loss is one of fp64, fp32, bf16, fp16, not 'u8'");
    refuse("train --recipe fp32 --set loss_scale=8", "recipe fp32+loss_scale=8: a loss scale");
    cr_assert_neq(access("out", F_OK), 0, "the folder of the results was made");
}

Test(training, data_that_is_not_cifar_10_is_named)
{
    refuse("train --recipe fp32 --data nowhere", "nowhere/batches.meta.txt: No such file");
    cr_assert_eq(shell("mkdir d; printf 'airplane\\nautomobile\\nbird\\ncat\\ndeer\\ndog\\nfrog\\n"
                       "horse\\nship\\ntruck\\n' >d/batches.meta.txt"),
                 0);
    refuse("train --recipe fp32 --data d", "d/data_batch_1.bin: No such file");
    cr_assert_eq(shell("truncate -s 30729999 d/data_batch_1.bin"), 0);
    refuse("train --recipe fp32 --data d", "d/data_batch_1.bin: truncated, 30729999 bytes");
    cr_assert_eq(shell("truncate -s 30730001 d/data_batch_1.bin"), 0);
    refuse("train --recipe fp32 --data d", "d/data_batch_1.bin: too large, 30730001 bytes");
    cr_assert_eq(shell("truncate -s 0 d/data_batch_1.bin; printf '\\012' >d/data_batch_1.bin;"
                       "truncate -s 30730000 d/data_batch_1.bin"),
                 0);
    refuse("train --recipe fp32 --data d", "d/data_batch_1.bin: record 0 has label 10");
    cr_assert_eq(shell("truncate -s 0 d/data_batch_1.bin; truncate -s 30730000 d/data_batch_1.bin"),
                 0);
    refuse("train --recipe fp32 --data d",
           "d/data_batch_1.bin: record 5000 is one \"airplane\" too many");
    refuse("train --recipe fp32 --data d/batches.meta.txt", "Not a directory");
}

/* Too small to learn from: whether it does is no part of these tests. */
#define SMALL "--network darknet-tiny --classes dog,ship --images 16 --batch 16 --epochs 2 "
#define QUICK "train --recipe amp " SMALL

static void ends(const char *before, const char *arguments)
{
    int status = run(before, arguments);
    cr_assert(status == 0 || status == 1, "%s: status %d, %s", arguments, status,
              content("stderr"));
}

Test(training, a_folder_that_cannot_be_written_to_is_named)
{
    cr_assert_eq(shell("touch plain; mkdir made; touch made/file"), 0);
    refuse(QUICK "--out plain", "plain");
    refuse(QUICK "--out plain/below", "cannot make the folder plain/below: Not a directory");
    refuse(QUICK "--out /proc/nothing", "cannot make the folder /proc/nothing");
    refuse(QUICK "--out /proc/self", "cannot write into /proc/self");
    refuse("compare --recipes fp32,amp " SMALL "--out /proc/self", "cannot write into /proc/self");
}

Test(training, a_run_leaves_its_files_and_says_what_it_trained_on)
{
    ends("", QUICK);
    cr_assert_str_empty(content("stderr"));
    const char *said = content("stdout");
    cr_assert_not_null(strstr(said, "SYNTHETIC images (seed 1), not CIFAR-10"), "%s", said);
    cr_assert_not_null(strstr(said, "epoch 2/2"), "%s", said);
    cr_assert_not_null(strstr(said, "out/amp-seed1/: run.json"), "%s", said);
    cr_assert_eq(shell("cd out/amp-seed1 && test -s steps.csv && test -s epochs.csv &&"
                       " test -s gradients.csv && test -s run.json && test -s checkpoint"),
                 0);
    cr_assert_not_null(strstr(content("out/amp-seed1/run.json"), "\"synthetic\": true"));
}

Test(training, parameters_and_multiplications_are_printed)
{
    cr_assert_eq(run("", "train --recipe fp32 --classes airplane,dog --out /proc/nothing"), 2);
    cr_assert_not_null(strstr(content("stdout"), "5,067,378 parameters (7,872 of batch norm), "
                                                 "63,751,168 MACs"));
}

Test(training, a_checkpoint_that_is_missing_damaged_or_another_runs_is_refused)
{
    refuse(QUICK "--resume --out r", "r/checkpoint");
    ends("", QUICK "--out r");
    cr_assert_eq(shell("cp r/checkpoint whole"), 0);
    refuse(
        "train --recipe fp32 --network darknet-tiny --classes dog,ship --epochs 2 --resume --out r",
        "recipe");
    refuse(QUICK "--seed 2 --resume --out r", "seed=");
    refuse(QUICK "--set interval=9 --resume --out r", "recipe=amp, not recipe=amp+interval=9");
    refuse(QUICK "--data-seed 2 --resume --out r", "data=");
    refuse("train --recipe amp --network darknet-tiny --classes cat,dog --images 16 --batch 16 "
           "--epochs 2 --resume --out r",
           "data=");
    cr_assert_eq(shell("cp r/steps.csv rows; head -n 3 rows >r/steps.csv"), 0);
    refuse(QUICK "--resume --out r", "r/steps.csv: ends before row 2, which its checkpoint");
    cr_assert_eq(shell("cp rows r/steps.csv"), 0);
    cr_assert_eq(shell("head -c 1000 whole >r/checkpoint"), 0);
    refuse(QUICK "--resume --out r", "cut");
    cr_assert_eq(shell("cp whole r/checkpoint; printf X | dd of=r/checkpoint bs=1 seek=3000 "
                       "conv=notrunc 2>/dev/null"),
                 0);
    refuse(QUICK "--resume --out r", "checksum");
    cr_assert_eq(shell("cp whole r/checkpoint"), 0);
    ends("", QUICK "--resume --out r");
}

/* Files may grow to 64 blocks of 512 bytes: enough for nothing but the smallest. */
Test(training, a_full_disk_is_one_line_and_leaves_the_old_checkpoint)
{
    ends("", QUICK "--out r");
    cr_assert_eq(shell("cp r/checkpoint whole"), 0);
    refuse_with("ulimit -f 4;", QUICK "--out r", "File too large");
    refuse_with("ulimit -f 40;", QUICK "--out r", "r/checkpoint: File too large");
    cr_assert_eq(shell("cmp -s whole r/checkpoint"), 0);
}

/* One that trains long enough to be met; $! is its process. */
#define LONG                                                                                       \
    "train --recipe fp32 --network darknet-tiny --classes dog,ship --images 16 --batch 16 "        \
    "--epochs 10000 --checkpoint-every 1 --out "

Test(training, two_in_one_folder_do_not_mix)
{
    static const char script[] =
        "'" HC_PROGRAM "' " LONG "r >/dev/null 2>&1 & "
        "while [ ! -e r/checkpoint ]; do sleep 0.01; done; "
        "'" HC_PROGRAM "' " QUICK "--out r >stdout 2>stderr; status=$?; "
        "'" HC_PROGRAM "' compare --recipes fp32,amp-bf16 " SMALL "--out r >/dev/null 2>second; "
        "[ $? = 2 ] || status=7; kill -KILL $!; wait $! 2>/dev/null; "
        "grep -q \"^halfcheck: r: another halfcheck, process $! writes there\" stderr || status=8; "
        "exit $status";
    cr_assert_eq(shell(script), 2, "%s", content("stderr"));
    cr_assert_not_null(strstr(content("second"), "another halfcheck"), "%s", content("second"));
    ends("", QUICK "--out r"); /* the lock of a process that was killed is free */
}

Test(training, follows_no_symbolic_link)
{
    static const char *const names[] = {"checkpoint",    "checkpoint.part", "steps.csv",
                                        "epochs.csv",    "gradients.csv",   "run.json",
                                        "run.json.part", "steps.csv.part"};
    cr_assert_eq(shell("mkdir r; echo kept >precious"), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[200];
        (void)snprintf(path, sizeof path, "r/%s", names[i]);
        cr_assert_eq(symlink("../precious", path), 0);
    }
    ends("", QUICK "--out r");
    cr_expect_str_eq(content("precious"), "kept\n");
    cr_expect_eq(shell("test -z \"$(find r -type l -o -name '*.part')\""), 0);
    cr_assert_eq(shell("mv r/steps.csv moved; ln -s ../moved r/steps.csv"), 0);
    refuse(QUICK "--out r --resume", "r/steps.csv: a symbolic link");
    cr_assert_eq(shell("rm r/.lock; ln -s ../precious r/.lock"), 0);
    refuse(QUICK "--out r", "r/.lock");
}

Test(training, a_full_disk_at_the_start_leaves_the_old_results)
{
    ends("", QUICK "--out r");
    cr_assert_eq(shell("cp -r r old"), 0);
    refuse_with("ulimit -f 1;", QUICK "--out r", "File too large");
    cr_expect_eq(shell("rm r/.lock old/.lock; diff -r r old"), 0);
}

Test(training, compare_prints_a_table_and_writes_a_record_with_every_run)
{
    ends("", "compare --recipes fp32,amp --seeds 2 " SMALL);
    const char *said = content("stdout");
    cr_assert_not_null(strstr(said, "Accuracy against fp32, in pairs of equal seed."), "%s", said);
    cr_assert_not_null(strstr(said, "SYNTHETIC"), "%s", said);
    const char *record = content("out/compare/record.json");
    cr_assert_not_null(strstr(record, "\"train/amp-seed2\""));
    cr_assert_not_null(strstr(record, "\"compare/amp-as-fp32\""));
}

/* Killed twice, at moments that fall into different runs; a run whose run.json was not written yet keeps
   the speed of its last epoch. */
Test(training, a_killed_comparison_goes_on_to_the_same_runs)
{
    const char *script =
        "set -- compare --recipes fp32:2,amp:2,amp-bf16 --network darknet-tiny --classes "
        "dog,ship "
        "--images 16 --batch 16 --epochs 4 --checkpoint-every 1 --out\n"
        "'" HC_PROGRAM "' \"$@\" whole >/dev/null\n"
        "for file in fp32-seed1/checkpoint amp-bf16-seed1/checkpoint; do\n"
        "  '" HC_PROGRAM "' \"$@\" cut --resume >/dev/null &\n"
        "  while [ ! -e cut/$file ]; do sleep 0.01; done\n"
        "  kill -KILL $!\n"
        "  wait $! 2>/dev/null\n"
        "  [ $? = 137 ] || exit 3\n"
        "done\n"
        "rm -f cut/amp-seed1/run.json\n"
        "'" HC_PROGRAM "' \"$@\" cut --resume >/dev/null\n"
        "for run in fp32-seed1 fp32-seed2 amp-seed1 amp-seed2 amp-bf16-seed1; do\n"
        "  cmp whole/$run/checkpoint cut/$run/checkpoint || exit 4\n"
        "  cmp whole/$run/steps.csv cut/$run/steps.csv || exit 5\n"
        "done\n"
        "[ -e cut/amp-bf16-seed2 ] && exit 6\n"
        "cut -d, -f1-14 whole/runs.csv >a; cut -d, -f1-14 cut/runs.csv >b; cmp a b || exit 7\n"
        "grep -Eq ',nan(,|$)' b && exit 8\n"
        "grep -q '^amp,1,.*,0,[1-9][0-9.e+]*$' cut/runs.csv || exit 9\n"
        "grep -q '^amp,2,.*,[1-9][0-9]*,[1-9][0-9.e+]*$' cut/runs.csv || exit 10\n"
        "test -s cut/table.txt";
    cr_assert_eq(shell(script), 0);
}

/* gnuplot would run what follows a '<' or a '|' in a file's name, and end a text at a quote. */
Test(training, a_folder_of_any_name_has_its_pictures)
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
Test(training, a_recipe_that_ends_in_nan_is_told_so_everywhere)
{
    cr_assert_eq(run("",
                     "compare --recipes fp32,fp16-pure,apex-O3 --network darknet-tiny --images 400"
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

/* More than six curves in one frame cannot be told apart. */
Test(training, each_of_many_recipes_has_a_frame_of_its_own)
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

Test(training, a_new_comparison_leaves_no_old_checkpoint)
{
    ends("", "compare --recipes fp32,amp-bf16 " SMALL);
    cr_assert_eq(run("ulimit -f 4;", "compare --recipes fp32,amp-bf16 " SMALL), 2);
    cr_assert_neq(access("out/compare/amp-bf16-seed1/checkpoint", F_OK), 0);
}

Test(training, pictures_change_no_status)
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

Test(training, the_repro_line_of_a_record_trains_the_same_again)
{
    static const char again[] =
        "sed -n 's/.*\"repro\": \"halfcheck \\(.*\\)\".*/\\1/p' r/run.json >line; "
        "test -s line; '" HC_PROGRAM "' $(cat line) --out s >stdout 2>stderr </dev/null; "
        "test $? -lt 2 && cut -d, -f1-8 r/steps.csv >r.csv && cut -d, -f1-8 s/steps.csv | cmp - "
        "r.csv";
    cr_assert_lt(run("", QUICK "--data-seed 3 --out r"), 2);
    cr_assert_eq(shell(again), 0, "%s", content("stderr"));
}

/* The options that are not given stand there with their defaults. */
Test(training, the_repro_line_of_default_images_trains_again)
{
    static const char again[] =
        "line=$(sed -n 's/.*\"repro\": \"halfcheck \\(.*\\)\".*/\\1/p' r/run.json); '" HC_PROGRAM
        "' $line --out s >stdout 2>stderr; test $? -lt 2 && cut -d, -f1-5 r/epochs.csv >a && "
        "cut -d, -f1-5 s/epochs.csv | cmp - a";
    ends("", "train --recipe fp32 --network darknet-tiny --classes dog,ship --epochs 1 --out r");
    cr_expect_not_null(strstr(content("r/run.json"), " --images 500 "));
    cr_assert_eq(shell(again), 0, "%s", content("stderr"));
}

Test(training, a_repro_line_says_where_real_images_lie_and_nothing_of_made_ones)
{
    char line[512];
    const struct hc_backend backend = {.name = "host"};
    const struct hc_training training = {.data = "DIR",
                                         .classes = "cat,dog",
                                         .epochs = 5,
                                         .batch = 64,
                                         .max_lr = 0.5,
                                         .backend = &backend,
                                         .network = &hc_darknet16};
    hc_training_repro(&training, line, sizeof line);
    cr_assert_str_eq(line, " --data DIR --classes cat,dog --epochs 5 --batch 64 --lr 0.5 --backend "
                           "host --network darknet16");
    struct hc_training elsewhere = training;
    elsewhere.data = "my data; touch pwned";
    hc_training_repro(&elsewhere, line, sizeof line);
    cr_assert_eq(strncmp(line, " --data 'my data; touch pwned' --classes", 40), 0, "%s", line);
}

Test(training, the_settings_of_a_record_name_a_folder_that_is_not_utf_8)
{
    const struct hc_backend backend = {.name = "host"};
    struct hc_training training = {.backend = &backend, .network = &hc_darknet16};
    (void)strcpy(training.set.origin, "CIFAR-10 from \xff");
    json_t *settings = hc_training_settings(&training);
    cr_expect_str_eq(json_string_value(json_object_get(settings, "data")), "CIFAR-10 from \\xff");
    json_decref(settings);
}

Test(training, a_run_that_was_over_keeps_the_time_it_took)
{
    const char *cut = "grep -E 'images_per_second|\"seconds|memory_bytes|\"graph' r/run.json";
    char command[200];
    ends("", QUICK "--out r");
    (void)snprintf(command, sizeof command, "%s >before; test $(wc -l <before) = 4", cut);
    cr_assert_eq(shell(command), 0);
    ends("", QUICK "--out r --resume");
    (void)snprintf(command, sizeof command, "%s | cmp - before", cut);
    cr_assert_eq(shell(command), 0);
    cr_assert_eq(shell("grep null before"), 1);
}

/* 2^40 + 2^20, a number of fp32, of which six digits are not enough. */
Test(training, the_record_of_a_run_has_all_of_its_scale)
{
    ends("", "train --recipe fastai-004b --set loss_scale=1099512676352 --out r " SMALL);
    cr_assert_not_null(strstr(content("r/run.json"), "\"final_scale\": \"0x1.00001p+40\""), "%s",
                       content("r/run.json"));
}

Test(training, a_run_that_does_not_learn_fails_by_itself)
{
    int status = run("", "train --recipe fp32 --lr 1e-12 " SMALL);
    cr_assert_eq(status, 1, "%s", content("stderr"));
    cr_assert_not_null(strstr(content("stdout"), "FAIL  fp32 did not learn: "));
    status = run("", "compare --recipes fp32,amp-bf16 --lr 1e-12 " SMALL);
    cr_assert_eq(status, 1, "%s", content("stderr"));
    cr_assert_not_null(strstr(content("stdout"), "FAIL  amp-bf16, seed 1, did not learn: "));
}

/* Killed a moment after its first checkpoint. */
Test(training, a_killed_run_goes_on_to_the_same_bits)
{
    const char *script =
        "set -- train --recipe amp --network darknet-tiny --classes dog,ship --images 16 "
        "--batch 16 --epochs 20 --checkpoint-every 1 --out\n"
        "'" HC_PROGRAM "' \"$@\" whole >/dev/null\n"
        "'" HC_PROGRAM "' \"$@\" cut >/dev/null &\n"
        "while [ ! -e cut/checkpoint ]; do sleep 0.01; done\n"
        "kill -KILL $!\n"
        "wait $! 2>/dev/null\n"
        "[ $? = 137 ] || exit 3\n"
        "cp cut/checkpoint early\n"
        "'" HC_PROGRAM "' \"$@\" cut --resume >/dev/null\n"
        "cmp -s whole/checkpoint early && exit 4\n"
        "cmp whole/checkpoint cut/checkpoint && test $(wc -l <cut/steps.csv) = 41";
    cr_assert_eq(shell(script), 0);
}

Test(training, looks_for_a_learning_rate)
{
    struct stat facts;
    cr_assert_eq(run("", "train --lr-find --recipe fp32 " SMALL), 0, "%s", content("stderr"));
    cr_assert_not_null(strstr(content("stdout"), "falls fastest at a learning rate of "), "%s",
                       content("stdout"));
    const char *rows = content("out/fp32-seed1-lr-find/lr_find.csv");
    cr_assert_eq(strstr(rows, "step,lr,loss,smooth,scale,skipped\n0,1e-07,"), rows, "%s", rows);
    if (shell("gnuplot --version >/dev/null 2>&1") == 0) {
        cr_assert_eq(stat("out/fp32-seed1-lr-find/lr_find.png", &facts), 0);
        cr_assert_gt(facts.st_size, 5000);
    }
    cr_assert_neq(access("out/fp32-seed1", F_OK), 0);
    cr_assert_eq(run("", "train --lr-find --recipe fp16-pure " SMALL), 1);
    cr_assert_not_null(strstr(content("stdout"), "FAIL  fp16-pure: "), "%s", content("stdout"));
    refuse_with("ln -sf /dev/full out/fp32-seed1-lr-find/lr_find.csv;",
                "train --lr-find --recipe fp32 " SMALL, "lr_find.csv: No space left on device");
}
