/* The command compare --protocol, on a protocol of seconds. */
#include "cli/testing.h"

static const char protocol[] =
    "question Does it cost accuracy?\ndata synthetic 16\nclasses dog,ship\n"
    "network darknet-tiny\nepochs 1\nbatch 16\nlr 0.003\nbackend exact\nseed 1\n"
    "margin 50\nlevel 0.05\npower 0.8\nspread 5\nlooks 2 3\nbase fp32\n"
    "arm dynamic amp equivalent - dynamic loss scaling\nthen\narm bf16 amp-bf16 open 1 bf16\n";

static const char run_it[] = "IFS=' \n'; \"$hc\" compare --protocol p --out s ";

static void enter(void)
{
    enter_folder();
    write_text("p", protocol);
}

TestSuite(study, .init = enter);

/* What the runs end with, whichever process made them. */
static const char facts[] = "cat s/*/predictions.csv s/pairs.csv; cut -d, -f1-9 s/runs.csv; "
                            "cut -d, -f1-5 s/*/epochs.csv";

Test(study, a_study_trains_to_its_answer_and_concludes_the_same_from_what_it_left)
{
    const struct ran *ran = run_shell(run_it);
    cr_assert_neq(ran->status, 2, "%s", ran->err);
    cr_assert_not_null(strstr(ran->out, "question  Does it cost accuracy?"), "%s", ran->out);
    cr_assert_not_null(strstr(ran->out, "Dynamic loss scaling "), "%s", ran->out);
    cr_assert_eq(run_shell("ls s/*/checkpoint")->status, 2);
    cr_assert_eq(run_shell("test -s s/record.json && test -s s/curves.csv")->status, 0);
    cr_assert_eq(run_shell("cp s/table.txt was && cp -r s t")->status, 0);
    cr_assert_neq(run_shell("IFS=' \n'; \"$hc\" compare --protocol p --out t --conclude")->status,
                  2);
    cr_assert_eq(run_shell("cmp t/table.txt was && cmp s/pairs.csv t/pairs.csv")->status, 0);
    ran = run_shell(run_it);
    cr_assert_null(strstr(ran->out, "epoch 1/1"), "%s", ran->out);
}

Test(study, two_processes_share_the_runs_and_a_killed_one_is_taken_up)
{
    char line[512];
    cr_assert_neq(run_shell(run_it)->status, 2);
    char *alone = strdup(run_shell(facts)->out);
    cr_assert_eq(run_shell("mv s alone")->status, 0);
    (void)snprintf(
        line, sizeof line,
        "%s & p=$!; until ls s/*/steps.csv; do sleep 0.01; done; kill -KILL $p; wait $p; "
        "%s & p=$!; %s; wait $p",
        run_it, run_it, run_it);
    cr_assert_neq(run_shell(line)->status, 2);
    const struct ran *ran = run_shell(facts);
    cr_assert_str_eq(ran->out, alone);
    free(alone);
}

Test(study, shards_make_all_pairs_and_their_folders_together_one_study)
{
    char line[512];
    (void)snprintf(line, sizeof line, "%s --shard 1/2; mv s one; %s --shard 2/2; cp -r one/* s/",
                   run_it, run_it);
    cr_assert_eq(run_shell(line)->status, 0);
    cr_assert_eq(run_shell("ls -d s/fp32-seed1 s/fp32-seed2 s/fp32-seed3 s/amp-seed3")->status, 0);
    const struct ran *ran = run_shell("IFS=' \n'; \"$hc\" compare --protocol p --out s --conclude");
    cr_assert_neq(ran->status, 2, "%s", ran->err);
    cr_assert_null(strstr(ran->out, "not decided yet"), "%s", ran->out);
}

Test(study, what_contradicts_the_protocol_is_refused)
{
    static const char *const options[] = {
        "--epochs 2", "--lr 1e-4",          "--batch 8",      "--set eps=1e-4",
        "--seeds 3",  "--recipes fp32,amp", "--backend host", "--data /nowhere",
        "--seed 2",   "--margin 2",         "--drift",        "--network darknet-tiny"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        char line[256];
        char name[32];
        (void)snprintf(line, sizeof line, "%s%s", run_it, options[i]);
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(options[i], " "), options[i]);
        expect_refusal(line, name);
    }
    expect_refusal("IFS=' \n'; \"$hc\" compare --recipes fp32,amp --conclude", "--protocol");
    expect_refusal("IFS=' \n'; \"$hc\" compare --protocol nowhere", "nowhere: No such file");
    write_text("q", "question x\n");
    expect_refusal("IFS=' \n'; \"$hc\" compare --protocol q", "is missing");
    cr_assert_eq(run_shell("sed 's/amp equ/amp9 equ/' p >q")->status, 0);
    expect_refusal("IFS=' \n'; \"$hc\" compare --protocol q", "amp9");
    cr_assert_eq(run_shell("sed 's/synthetic 16/cifar10/' p >q")->status, 0);
    expect_refusal("IFS=' \n'; \"$hc\" compare --protocol q", "--data DIR");
    cr_assert_eq(run_shell("sed 's/darknet-tiny/darknet-tny/' p >q")->status, 0);
    expect_refusal("IFS=' \n'; \"$hc\" compare --protocol q", "did you mean 'darknet-tiny'");
}

Test(study, a_run_of_another_protocol_or_a_damaged_one_is_refused)
{
    cr_assert_neq(run_shell(run_it)->status, 2);
    cr_assert_eq(run_shell("sed -i 's/lr 0.003/lr 0.004/' p")->status, 0);
    expect_refusal(run_it, "other settings");
    cr_assert_eq(
        run_shell("sed -i 's/lr 0.004/lr 0.003/' p; truncate -s 100 s/fp32-seed1/run.json")->status,
        0);
    expect_refusal(run_it, "fp32-seed1/run.json");
}

/* Clouds call several kinds of processor by one name. */
Test(study, runs_on_processors_with_other_instructions_make_no_pair)
{
    cr_assert_neq(run_shell(run_it)->status, 2);
    cr_assert_eq(run_shell("sed -i 's/\"cpu_flags\": \"/&other /' s/amp-seed2/run.json")->status,
                 0);
    const struct ran *ran = run_shell("IFS=' \n'; \"$hc\" compare --protocol p --out s --conclude");
    cr_assert_not_null(strstr(ran->out, "1 pair was made on two kinds of processor"), "%s",
                       ran->out);
}

Test(study, a_pair_that_was_begun_on_another_processor_waits_and_another_seed_takes_its_turn)
{
    cr_assert_eq(
        run_shell("mkdir -p s/fp32-seed1 && echo 'some other CPU' >s/fp32-seed1/cpu")->status, 0);
    cr_assert_neq(run_shell(run_it)->status, 2);
    cr_assert_eq(run_shell("test -s s/amp-seed2/run.json && test -s s/amp-seed3/run.json && "
                           "! test -e s/amp-seed1 && ! test -e s/fp32-seed1/run.json")
                     ->status,
                 0);
}
