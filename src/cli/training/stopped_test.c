/* A training that is asked to end keeps its checkpoint, and ends with one line and status 2. */
#include "cli/testing.h"

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
