#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/scaler_trace.h"

const struct hc_command hc_command_verify;

enum { LINE = 256 };

/* One line of an implementation's output. */
struct answer {
    long long step;
    long long steps;
    bool found;
    bool raises;
    double scale;
};

/* What has been read and promised so far. */
struct reading {
    const char *name;
    struct hc_promise promise;
    long long line;
    long long steps; /* that the lines announce */
    long long growths;
    long long overflows;
    int lowest;
    int highest;
};

static int bad_line(const struct reading *r, const char *what, const char *line)
{
    return hc_complain("verify: standard input:%lld: %s: '%.*s'", r->line, what,
                       (int)strcspn(line, "\n"), line);
}

/* STEP STEPS FOUND SCALE, and nothing behind it. What is wrong, or NULL. */
static const char *parse(const char *line, struct answer *a)
{
    int found;
    int at = 0;
    char word[64];
    char *end;
    if (sscanf(line, "%lld %lld %d %63s %n", &a->step, &a->steps, &found, word, &at) != 4)
        return "not STEP STEPS FOUND SCALE";
    if (line[at] != '\0')
        return "more than STEP STEPS FOUND SCALE";
    if (found != 0 && found != 1)
        return "FOUND is neither 0 nor 1";
    a->found = found != 0;
    a->raises = strcmp(word, "raises") == 0;
    a->scale = a->raises ? 0 : strtod(word, &end);
    if (!a->raises && *end != '\0')
        return "SCALE is neither a number nor 'raises'";
    return NULL;
}

/* Whether the line is the next of one whole trace. */
static const char *misplaced(const struct reading *r, const struct answer *a)
{
    if (r->promise.gave_up)
        return "a step after the one that gave up";
    if (a->step != r->promise.steps + 1)
        return "steps do not follow each other";
    if (a->steps < a->step || (r->steps && a->steps != r->steps))
        return "STEPS changes or is less than STEP";
    return NULL;
}

static void print_scale(const char *what, double scale, bool raises)
{
    if (raises)
        printf("%s raises", what);
    else
        printf("%s %.17g (%a)", what, scale, scale);
}

/* The step against the promise; false where they part. */
static bool as_promised(struct reading *r, const struct answer *a)
{
    int before = hc_promise_log2(&r->promise);
    int64_t clean = r->promise.run;
    int log2 = hc_promise_step(&r->promise, a->found);
    double want = hc_promise_scale(&r->promise);
    r->overflows += a->found;
    r->growths += log2 > before;
    r->lowest = log2 < r->lowest ? log2 : r->lowest;
    r->highest = log2 > r->highest ? log2 : r->highest;
    if (a->raises == r->promise.gave_up && (a->raises || a->scale == want))
        return true;
    printf("FAIL %s: step %lld of %lld:", r->name, a->step, a->steps);
    print_scale(" want", want, r->promise.gave_up);
    print_scale(", got", a->scale, a->raises);
    printf("\n     %s after %lld clean step%s, at scale 2^%d\n",
           a->found ? "an overflow" : "one more clean step", (long long)clean,
           clean == 1 ? "" : "s", before);
    return false;
}

static void drain(void)
{
    char rest[4096];
    while (fgets(rest, sizeof rest, stdin)) {
    }
}

/* Reads to the end or to the first step that is not as promised. */
static int read_all(struct reading *r, bool *promised)
{
    char line[LINE];
    struct answer a;
    *promised = true;
    while (*promised && fgets(line, sizeof line, stdin)) {
        r->line++;
        if (strlen(line) == LINE - 1)
            return bad_line(r, "a line of more than 254 characters", line);
        if (line[strspn(line, " \t\r\n")] == '\0' || line[0] == '#')
            continue;
        const char *wrong = parse(line, &a);
        if (!wrong)
            wrong = misplaced(r, &a);
        if (wrong)
            return bad_line(r, wrong, line);
        r->steps = a.steps;
        *promised = as_promised(r, &a);
    }
    if (ferror(stdin))
        return hc_complain("verify: standard input: %s", strerror(errno));
    if (*promised && r->steps == 0)
        return hc_complain("verify: standard input holds no step");
    if (*promised && r->promise.steps < r->steps)
        return hc_complain("verify: standard input ends after step %lld of %lld",
                           (long long)r->promise.steps, r->steps);
    return HC_AS_CLAIMED;
}

/* A trace that never grew or never overflowed has shown little of a rule that does both. */
static int conclude(const struct reading *r, bool strict)
{
    bool moves = r->promise.interval > 0;
    const char *little = moves && r->growths == 0     ? "the scale never grew"
                         : moves && r->overflows == 0 ? "nothing was ever found"
                                                      : NULL;
    printf("%s %s: %lld steps as the rule says; %lld overflows, %lld growths, scale ",
           little ? "MISTRUSTED" : "PASS", r->name, r->steps, r->overflows, r->growths);
    if (r->lowest == HC_LOG2_ZERO)
        printf("0 to ");
    else if (r->lowest != r->highest)
        printf("2^%d to ", r->lowest);
    if (r->highest == HC_LOG2_INFINITE)
        printf("infinity\n");
    else
        printf("2^%d\n", r->highest);
    if (little)
        printf("     %s: take more steps\n", little);
    return little && strict ? HC_CLAIM_FAILED : HC_AS_CLAIMED;
}

static int run(int argc, char **argv)
{
    int interval = 0;
    double initial = 0;
    bool strict = false;
    const struct hc_option options[] = {
        {.name = "interval",
         .value = "N",
         .count = &interval,
         .least = 1,
         .most = 4 * 1000 * 1000,
         .help = "clean steps before growth (default the rule's)"},
        {.name = "initial",
         .value = "X",
         .real = &initial,
         .least = 0x1p-1074,
         .most = 0x1p1023,
         .help = "the first scale, a power of two (default the rule's)"},
        {.name = "strict", .flag = &strict, .help = "MISTRUSTED fails"},
        {0},
    };
    struct hc_scaler_choice choice;
    int words;
    int status;
    bool promised;
    if (!hc_read_options(&hc_command_verify, options, argc, argv, &words, &status))
        return status;
    if (words > 1)
        return hc_complain("verify: one subject, not also '%s'", argv[2]);
    status = hc_scaler_choose("verify", words ? argv[1] : NULL, initial, interval, &choice);
    if (status != HC_AS_CLAIMED)
        return status;
    struct reading r = {.name = argv[1], .promise = hc_scaler_promise(&choice)};
    r.lowest = r.highest = hc_promise_log2(&r.promise);
    status = read_all(&r, &promised);
    drain();
    if (status != HC_AS_CLAIMED)
        return status;
    return promised ? conclude(&r, strict) : HC_CLAIM_FAILED;
}

const struct hc_command hc_command_verify = {
    .name = "verify",
    .usage = "scaler/RULE [options]",
    .summary = "judge the output of an implementation of your own (see gen)",
    .text = "Reads from standard input, one step a line:\n\n"
            "  STEP STEPS FOUND SCALE\n\n"
            "the lines of halfcheck gen with the scale after each step behind them: decimal with\n"
            "all its digits, or as a hex float (Python's float.hex). Where the rule raises an\n"
            "error (deepspeed, at its floor) the word 'raises' stands for the scale. Blank lines\n"
            "and lines that begin with # are passed over.\n\n"
            "The first step that is not as the rule's text says is named with what was wanted and\n"
            "what came; status 1. Lines that cannot be read or are missing: status 2. A trace in\n"
            "which the scale never grew, or nothing was found, is MISTRUSTED.\n\n"
            "torch's scale is an fp32 number, those of the other rules are Python floats.",
    .run = run,
};
