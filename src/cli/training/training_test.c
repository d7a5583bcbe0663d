/* The built program: what a training leaves behind, what it refuses, and how it ends. */
#include <sys/stat.h>

#include "backend.h"
#include "cli/training/testing.h"
#include "cli/training/training_record.h"
#include "cli/testing.h"

TestSuite(training, .init = make, .fini = unmake);

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

/* The record's repro line trains on as many ranks, too. */
Test(training, ranks_of_one_process_leave_the_files_of_one_rank)
{
    ends("", QUICK "--set shards=4 --out one");
    ends("", QUICK "--set shards=4 --ranks 4 --out four");
    cr_assert_str_empty(content("stderr"));
    cr_assert_not_null(strstr(content("stdout"), ", 4 ranks, backend "), "%s", content("stdout"));
    cr_assert_eq(shell("for f in checkpoint steps.csv gradients.csv; do cmp one/$f four/$f; done"),
                 0);
    cr_assert_not_null(strstr(content("four/run.json"), " --ranks 4 "));
    cr_assert_null(strstr(content("one/run.json"), "ranks"));
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

Test(training, the_settings_of_a_record_name_a_folder_that_is_not_utf_8)
{
    const struct hc_backend backend = {.name = "host"};
    struct hc_training training = {.backend = &backend, .network = &hc_darknet16};
    (void)strcpy(training.set.origin, "CIFAR-10 from \xff");
    json_t *settings = hc_training_settings(&training);
    cr_expect_str_eq(json_string_value(json_object_get(settings, "data")), "CIFAR-10 from \\xff");
    json_decref(settings);
}

/* A folder's name may contain what a terminal obeys. */
Test(training, a_folder_that_colours_the_terminal_is_printed_escaped)
{
    static const char *const commands[] = {
        "train --recipe amp " SMALL, "train --lr-find --recipe fp32 " SMALL,
        "compare --recipes fp32,amp " SMALL, "compare --drift --recipes amp " SMALL};
    char line[256];
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        (void)snprintf(line, sizeof line, "%s --out \"$(printf 'b%zu\\033[31mx')\"", commands[i],
                       i);
        ends("", line);
        cr_expect_null(strchr(content("stdout"), '\033'), "%s: %s", line, content("stdout"));
        cr_expect_not_null(strstr(content("stdout"), " [31mx/"), "%s: %s", line, content("stdout"));
    }
}

/* What train and compare refuse, with one line. */

TestSuite(training_refused, .init = make, .fini = unmake);

Test(training_refused, wrong_options_are_refused_before_anything_is_read_or_written)
{
    refuse("train", "train needs --recipe");
    refuse("train --recipe fp31", "no recipe 'fp31'; did you mean 'fp32'?");
    refuse("train --recipe none", "no recipe 'none'; there are: fp32, tf32");
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
    refuse("train --recipe fp32 --ranks 0", "--ranks takes a whole number from 1 to 64");
    refuse("train --recipe fp32 --ranks 3", "a batch of 64 is not divisible into 3 shards");
    refuse("train --recipe fp32+shards=4 --ranks 8", "4 shards are not divisible among 8 ranks");
    refuse("train --recipe fp32 --lr-find --ranks 2", "leave out --ranks");
    refuse("train --recipe fp32 --lr-find --resume", "--lr-find keeps no checkpoint");
    refuse("train --recipe fp32 --lr-find --dump 3", "--lr-find writes no step files");
    refuse("train --recipe fp32 --lr-find --load x", "leave out --lr-find");
    refuse("train --recipe fp32 --resume --load x", "leave out --resume");
    refuse("train --recipe fp32 --dump 3,x", "--dump takes steps, counted from 0, not 'x'");
    refuse("train --recipe fp32 --dump -1", "--dump takes steps, counted from 0, not '-1'");
    refuse(QUICK "--dump 3,4 --out r", "cannot dump step 4: this run has the steps 0 to 3");
    refuse(QUICK "--load nothing --out r", "nothing: ");
    cr_assert_neq(access("out", F_OK), 0, "the folder of the results was made");
}

Test(training_refused, wrong_overrides_are_refused_before_anything_is_read_or_written)
{
    refuse("train --recipe amp --set intervall=3",
           "no field 'intervall'; did you mean 'interval'?");
    refuse("train --recipe fp32 --set shards=64", "has only one image for each of 64 shards");
    refuse("train --recipe fp32 --set shards=-1", "shards is a whole number from 0 to 2^30");
    refuse("train --recipe amp --set eps=x", "eps is a number");
    refuse("train --recipe amp --set group_rates=0.1,-1", "group_rates is up to 8 numbers");
    refuse("train --recipe amp --set group_rates=0.1,1 --set group_decays=0",
           "recipe amp+group_rates=0.1/1+group_decays=0: group_rates and group_decays are of");
    refuse("train --recipe amp --set loss=u8", "loss is one of fp64, fp32, bf16, fp16, not 'u8'");
    refuse("train --recipe fp32 --set loss_scale=8", "recipe fp32+loss_scale=8: a loss scale");
    cr_assert_neq(access("out", F_OK), 0, "the folder of the results was made");
}

Test(training_refused, wrong_comparisons_are_refused_before_anything_is_read_or_written)
{
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
    cr_assert_neq(access("out", F_OK), 0, "the folder of the results was made");
}

Test(training_refused, data_that_is_not_cifar_10_is_named)
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

Test(training_refused, a_folder_that_cannot_be_written_to_is_named)
{
    cr_assert_eq(shell("touch plain; mkdir made; touch made/file"), 0);
    refuse(QUICK "--out plain", "plain");
    refuse(QUICK "--out plain/below", "cannot make the folder plain/below: Not a directory");
    refuse(QUICK "--out /proc/nothing", "cannot make the folder /proc/nothing");
    refuse(QUICK "--out /proc/self", "cannot write into /proc/self");
    refuse("compare --recipes fp32,amp " SMALL "--out /proc/self", "cannot write into /proc/self");
}

/* A training that is asked to end keeps its checkpoint, and ends with one line and status 2. */

static const char tiny[] = "--network darknet-tiny --classes airplane,dog --images 40 --batch 8 "
                           "--threads 1 --backend exact --epochs 6";

/* A line that starts the command; words are split at blanks, too. */
static const char *line_of(const char *command)
{
    static char line[1024];
    (void)snprintf(line, sizeof line, "IFS=' \n'; \"$hc\" %s %s", command, tiny);
    return line;
}

/* A line that starts the command, waits for the rows of its first steps, and asks it to end. */
static const char *stop_by(const char *signal, const char *command, const char *steps)
{
    static char line[1024];
    (void)snprintf(
        line, sizeof line,
        "IFS=' \n'; %s \"$hc\" %s %s & p=$!; until [ -s %s ] && [ $(wc -l <%s) -ge 3 ]; do "
        "sleep 0.01; done; kill -%s $p; wait $p",
        strcmp(signal, "nohup") == 0 ? "nohup 2>/dev/null" : "", command, tiny, steps, steps,
        strcmp(signal, "nohup") == 0 ? "HUP" : signal);
    return line;
}

static const char *stop(const char *command, const char *steps)
{
    return stop_by("TERM", command, steps);
}

Test(stopped, a_training_goes_on_to_the_same_bits, .init = enter_folder)
{
    expect_refusal(stop("train --recipe amp --out a", "a/steps.csv"), "stopped by signal 15");
    cr_expect_eq(run_shell("test -s a/checkpoint && ! test -e a/run.json")->status, 0);
    cr_expect_neq(run_shell(line_of("train --recipe amp --out a --resume"))->status, 2);
    cr_expect_neq(run_shell(line_of("train --recipe amp --out b"))->status, 2);
    cr_expect_eq(
        run_shell("cmp a/checkpoint b/checkpoint && cmp a/gradients.csv b/gradients.csv")->status,
        0);
}

/* A terminal that is closed asks, too, unless nohup has that ignored. */
Test(stopped, a_training_whose_terminal_is_closed_keeps_its_checkpoint, .init = enter_folder)
{
    expect_refusal(stop_by("HUP", "train --recipe amp --out a", "a/steps.csv"),
                   "stopped by signal 1");
    cr_expect_eq(run_shell("test -s a/checkpoint && ! test -e a/run.json")->status, 0);
    cr_expect_neq(run_shell(stop_by("nohup", "train --recipe amp --out b", "b/steps.csv"))->status,
                  2);
    cr_expect_eq(run_shell("test -s b/run.json")->status, 0);
}

Test(stopped, a_comparison_writes_no_record_and_goes_on, .init = enter_folder)
{
    expect_refusal(stop("compare --recipes fp32,amp --out c", "c/fp32-seed1/steps.csv"),
                   "stopped by signal 15");
    cr_expect_eq(run_shell("! test -e c/record.json && ! ls c/*.part c/*/*.part")->status, 0);
    cr_expect_neq(run_shell(line_of("compare --recipes fp32,amp --out c --resume"))->status, 2);
    cr_expect_eq(run_shell("test -s c/record.json")->status, 0);
}
