#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "check/record/facts.h"
#include "op/output.h"
#include "check/record/invocation.h"
#include "check/record/record.h"
#include "check/runner.h"
#include "check/timing.h"
#include "cli/backend_options.h"
#include "cli/command.h"
#include "hc_benches_list.h"
#include "op/text.h"
#include "op/typed.h"
#include "op/wrap.h"

const struct hc_command hc_command_bench;

static const struct hc_bench_table *const tables[] = {HC_LIST};

struct sheet {
    json_t *rates;
    FILE *out; /* for people: stderr if the record goes to stdout */
    const struct hc_backend *backend;
    bool chosen;      /* by --backend: run only benches of any backend */
    int begun;        /* benches */
    const char *last; /* on a terminal: whose lines stand below its name */
    int rows;
    int missed;
};

static void keep(struct sheet *sheet, const struct hc_bench *bench, const struct hc_rate *rate)
{
    json_t *o = json_pack("{s:s, s:s, s:f, s:s}", "bench", bench->name, "what", rate->what, "rate",
                          rate->rate, "unit", rate->unit);
    if (bench->on_any)
        (void)json_object_set_new(o, "backend", json_string(sheet->backend->name));
    if (rate->against) {
        (void)json_object_set_new(o, "against", json_string(rate->against));
        (void)json_object_set_new(o, "other", json_real(rate->other));
        (void)json_object_set_new(o, "ratio", json_real(rate->rate / rate->other));
    }
    if (rate->least > 0)
        (void)json_object_set_new(o, "least", json_real(rate->least));
    (void)json_array_append_new(sheet->rates, o);
}

/* On a terminal the lines of a bench stand below its name, and what is claimed below the rate. */
static bool is_narrow(const struct sheet *sheet)
{
    return hc_terminal_columns(sheet->out, 0) > 0;
}

/* The heading, at once: the first rate takes seconds. */
static void begin(struct sheet *sheet)
{
    if (sheet->begun++ == 0 && is_narrow(sheet))
        hc_print(sheet->out, "bench\n  %-24s %10s %-14s %8s\n", "what", "rate", "unit", "ratio");
    else if (sheet->begun == 1)
        hc_print(sheet->out, "%-28s %-24s %12s %-14s %8s\n", "bench", "what", "rate", "unit",
                 "ratio");
    (void)fflush(sheet->out);
}

static void start_line(struct sheet *sheet, const char *name, const char *what)
{
    sheet->rows++;
    if (!is_narrow(sheet)) {
        hc_print(sheet->out, "%-28s %-24s", name, what);
        return;
    }
    if (!sheet->last || strcmp(sheet->last, name) != 0)
        hc_print(sheet->out, "%s\n", name);
    sheet->last = name;
    hc_print(sheet->out, "  %-24s", what);
}

static void show_rate(struct hc_bench_run *run, const struct hc_rate *rate)
{
    struct sheet *sheet = run->context;
    start_line(sheet, run->bench->name, rate->what);
    hc_print(sheet->out, " %*.4g %-14s", is_narrow(sheet) ? 10 : 12, rate->rate, rate->unit);
    if (rate->against)
        hc_print(sheet->out, " %8.3g of %s", rate->rate / rate->other, rate->against);
    if (rate->least > 0) {
        bool held = rate->rate / rate->other >= rate->least;
        hc_print(sheet->out, "%s at least %.3g claimed%s", is_narrow(sheet) ? "\n   " : ";",
                 rate->least, held ? "" : ": MISSED");
        sheet->missed += !held;
    }
    (void)fputc('\n', sheet->out);
    (void)fflush(sheet->out);
    keep(sheet, run->bench, rate);
}

static void show_skipped(struct hc_bench_run *run, const char *why)
{
    struct sheet *sheet = run->context;
    start_line(sheet, run->bench->name, "");
    hc_print(sheet->out, " SKIPPED: %s\n", why);
}

static void run_all(struct sheet *sheet, const char *const *patterns, int count)
{
    for (size_t t = 0; tables[t]; t++)
        for (int b = 0; b < tables[t]->count; b++) {
            struct hc_bench_run one = {&tables[t]->benches[b], sheet->backend, show_rate,
                                       show_skipped, sheet};
            if (hc_matches(patterns, count, one.bench->name) &&
                (one.bench->on_any || !sheet->chosen)) {
                begin(sheet);
                one.bench->run(&one);
            }
        }
}

static int refuse_bench(const char *pattern)
{
    struct hc_nearest nearest = hc_nearest_to(pattern, strlen(pattern));
    for (size_t t = 0; tables[t]; t++)
        for (int b = 0; b < tables[t]->count; b++) {
            const char *name = tables[t]->benches[b].name;
            if (hc_matches(&pattern, 1, name))
                return hc_complain("bench %s chooses its backends itself: leave out --backend",
                                   name);
            char group[HC_LONGEST_NAME + 1];
            (void)snprintf(group, sizeof group, "%.*s", (int)strcspn(name, "/"), name);
            hc_nearest_try(&nearest, group);
            hc_nearest_try(&nearest, name);
        }
    return hc_complain("no bench matches '%s'%s", pattern, hc_nearest_hint(&nearest));
}

static enum hc_status write_rates(const struct sheet *sheet, const struct hc_invocation *run,
                                  const char *path)
{
    int n;
    const struct hc_backend *const *backends = hc_backends(&n);
    json_t *record = hc_record_new();
    for (int b = 0; b < n; b++)
        if (!backends[b]->on_request)
            hc_record_describe(record, backends[b], NULL);
    hc_record_set_invocation(record, run);
    (void)json_object_set(record, "rates", sheet->rates);
    enum hc_status status = hc_record_write(record, path);
    json_decref(record);
    return status;
}

static int run_bench(int argc, char **argv)
{
    const char *json = NULL;
    struct hc_backend_options backends;
    const struct hc_option options[] = {
        {.include = hc_backend_options(
             &backends, HC_ONE_BACKEND,
             "measure this backend in the benches that can measure any (default: host,\n"
             "and the benches of one backend run, too)")},
        {.name = "json",
         .value = "FILE",
         .text = &json,
         .help = "also write a record of the rates; with -, it goes to standard output and\n"
                 "the table to standard error"},
        {0},
    };
    int words;
    int status;
    if (!hc_read_options(&hc_command_bench, options, argc, argv, &words, &status))
        return status;
    struct sheet sheet = {.out = json && strcmp(json, "-") == 0 ? stderr : stdout,
                          .chosen = backends.named.count > 0};
    if ((json && hc_output_probe(json) != HC_OK) ||
        hc_choose_backend("bench measures", &backends, "host", &sheet.backend) != HC_OK)
        return hc_complain_message();
    struct hc_invocation how = {.command = hc_command_line(),
                                .patterns = (const char *const *)argv + 1,
                                .pattern_count = words,
                                .backends = &sheet.backend,
                                .backend_count = 1};
    sheet.rates = json_array();
    run_all(&sheet, how.patterns, words);
    if (sheet.rows == 0)
        status = refuse_bench(words ? argv[1] : "*");
    else if (json && write_rates(&sheet, &how, json) != HC_OK)
        status = hc_complain_message();
    else
        status = sheet.missed ? HC_CLAIM_FAILED : HC_AS_CLAIMED;
    json_decref(sheet.rates);
    return status;
}

const struct hc_command hc_command_bench = {
    .name = "bench",
    .usage = "[PATTERN...] [--backend B] [--json FILE]",
    .summary = "measure speeds, and compare pairs of them within one run",
    .text =
        "PATTERN is a glob over the names of benches, or their beginning up to a slash. A rate\n"
        "alone depends on what else the machine is doing. A ratio compares two things that\n"
        "were measured in turns in the same run, by their fastest times. If a bench claims a\n"
        "least ratio and misses it (MISSED), the exit status is 1.",
    .run = run_bench,
};
