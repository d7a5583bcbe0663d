#include <stdio.h>

#include "bench.h"
#include "check/runner.h"
#include "check/timing_run.h"
#include "cli/command.h"
#include "hc_benches_list.h"

const struct hc_command hc_command_bench;

static const struct hc_bench_table *const tables[] = {HC_LIST};

struct sheet {
    int missed;
};

static void print_row(struct hc_bench_run *run, const struct hc_rate *rate)
{
    struct sheet *sheet = run->context;
    printf("%-28s %-16s %10.4g %-14s", run->bench->name, rate->what, rate->rate, rate->unit);
    if (rate->against)
        printf(" %8.3g x %s", rate->rate / rate->other, rate->against);
    if (rate->least > 0) {
        bool held = rate->rate / rate->other >= rate->least;
        printf(" (at least %.3g claimed%s)", rate->least, held ? "" : ": MISSED");
        sheet->missed += !held;
    }
    (void)putchar('\n');
    (void)fflush(stdout);
}

static void print_skipped(struct hc_bench_run *run, const char *why)
{
    printf("%-28s SKIPPED: %s\n", run->bench->name, why);
}

static int run(int argc, char **argv)
{
    const struct hc_option options[] = {{0}};
    int words;
    int status;
    if (!hc_read_options(&hc_command_bench, options, argc, argv, &words, &status))
        return status;
    struct sheet sheet = {0};
    for (size_t t = 0; tables[t]; t++)
        for (int b = 0; b < tables[t]->count; b++) {
            struct hc_bench_run one = {&tables[t]->benches[b], print_row, print_skipped, &sheet};
            if (hc_matches((const char *const *)argv + 1, words, one.bench->name))
                one.bench->run(&one);
        }
    return sheet.missed ? HC_CLAIM_FAILED : HC_AS_CLAIMED;
}

const struct hc_command hc_command_bench = {
    .name = "bench",
    .usage = "[PATTERN...] [options]",
    .summary = "measure rates and ratios",
    .run = run,
};
