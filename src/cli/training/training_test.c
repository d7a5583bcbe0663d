/* The built program: what a training leaves behind. */
#include <sys/stat.h>

#include "backend.h"
#include "cli/training/testing.h"
#include "cli/training/training_record.h"

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

/* Of the record too, whose repro line trains on as many ranks. */
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
