#include "cli/run/run_command.h"

#include <math.h>
#include <string.h>

#include "cli/colour.h"
#include "cli/command.h"
#include "cli/lines.h"
#include "cli/run/table.h"
#include "op/text.h"
#include "op/wrap.h"

/* More than 16 terms lose that are cut to fp32's bits: 17 2^-23. */
static const double COARSE = 0x1p-16;

/* What people typed, as safe characters. */
static void add_typed(struct hc_lines *t, const char *typed)
{
    char character[5];
    while (hc_text_next(&typed, character) > 0)
        hc_lines_add(t, "%s", character);
}

static void describe_run(const struct hc_run_command *s, struct hc_lines *t)
{
    const struct hc_run_options *o = &s->options;
    hc_lines_add(t, "checking ");
    for (int i = 0; i < o->pattern_count; i++) {
        hc_lines_add(t, "%s", i ? ", " : "");
        add_typed(t, o->patterns[i]);
    }
    hc_lines_add(t, "%s on", o->pattern_count ? "" : "everything");
    for (int b = 0; b < o->backend_count; b++)
        hc_lines_add(t, "%s %s", b ? "," : "", o->backends[b]->name);
    hc_lines_add(t, ": up to %s, level %s, seed %llu", hc_count(s->length, "result").text,
                 hc_level_names[o->level], (unsigned long long)o->seed);
    if (o->shard)
        hc_lines_add(t, ", shard %d of %d", o->shard->index, o->shard->of);
    if (o->share)
        hc_lines_add(t, ", on %s", hc_count(o->share->of, "rank").text);
}

/* What an accumulator may lose in one step over a block, as a part of the sum (check/bound/sum.c):
   each term of a block loses up to 2^-extra_bits of an ulp, and the sum up to an ulp; half of that
   where they are rounded. */
static double step_of(const struct hc_accumulator *a)
{
    return ldexp(a->block * ldexp(1, -a->extra_bits) + 1, a->truncates - a->precision);
}

/* Who declares sums of less than fp32's bits, or blocks in which a step may lose more than COARSE,
   widens the bounds of what it is asked. */
static void add_coarse(const struct hc_run_command *s)
{
    const struct hc_run_options *o = &s->options;
    for (int b = 0; b < o->backend_count; b++) {
        const struct hc_accumulator *a = &o->backends[b]->accumulator;
        struct hc_lines t = {.used = 0};
        if (a->precision < hc_formats[HC_FP32].precision)
            hc_lines_add(&t, "%s declares that it sums products in %d bits, of which fp32 has %d",
                         o->backends[b]->name, a->precision, hc_formats[HC_FP32].precision);
        else if (a->block > 1 && step_of(a) > COARSE)
            hc_lines_add(&t, "%s declares blocks of %s, each of which may lose %.2g of a sum",
                         o->backends[b]->name, hc_count(a->block, "term").text, step_of(a));
        else
            continue;
        hc_lines_add(&t, ": its bounds are wider");
        hc_print_wrapped(s->out, 0, 2, t.text);
    }
}

void hc_run_begins(const struct hc_run_command *s)
{
    struct hc_lines t = {.used = 0};
    describe_run(s, &t);
    if (s->settings.tap) {
        hc_tap_begin(stdout, t.text);
        return;
    }
    hc_print_wrapped(s->out, 0, 2, t.text);
    add_coarse(s);
    (void)fflush(s->out);
}

/* Says what to run next, and why. */
static void suggest(FILE *out, const char *command, const char *why)
{
    enum { INDENT = 6 };
    (void)fprintf(out, "%snext: ", hc_colour_begin(out, HC_COLOUR_DIM));
    int column = hc_print_command(out, INDENT, INDENT, command);
    bool fits = column + 4 + (int)strlen(why) <= HC_COLUMNS;
    (void)fprintf(out, "%s # %s%s\n", fits ? " " : "\n     ", why,
                  hc_colour_end(out, HC_COLOUR_DIM));
}

/* The command that shows how a result comes about, unless a fault was planted: `explain` plants
   none. */
static void next_of(const struct hc_run_command *s, const struct hc_row *row, const char *why)
{
    static const char run[] = "halfcheck run ";
    struct hc_lines t = {.used = 0};
    size_t name = row ? strlen(row->name) : 0;
    if (!row || s->settings.fault || strncmp(row->repro, run, sizeof run - 1) != 0)
        return;
    const char *behind = row->repro + sizeof run - 1 + name;
    if (*behind == ' ' && behind[1] != '-')
        return; /* `explain` tells one case */
    hc_lines_add(&t, "halfcheck explain %s", row->repro + sizeof run - 1);
    suggest(s->out, t.text, why);
}

static void print_next(const struct hc_run_command *s, int status)
{
    const struct hc_rows *rows = &s->rows;
    struct hc_sums sums = {0};
    struct hc_lines t = {.used = 0};
    char record[HC_LINES_TEXT];
    for (int i = 0; i < rows->count; i++) {
        if (hc_verdict_is_bad(rows->row[i].verdict, s->settings.strict)) {
            next_of(s, &rows->row[i], "the first that is not as claimed");
            return;
        }
        hc_sums_add(&sums, &rows->row[i]);
    }
    if (status != HC_AS_CLAIMED)
        return;
    if (!s->settings.json || !hc_text_shell(record, sizeof record, s->settings.json)) {
        next_of(s, sums.nearest, "the nearest to its bound");
    } else if (strcmp(s->settings.json, "-") != 0) {
        hc_lines_add(&t, "halfcheck report %s --out page", record);
        suggest(s->out, t.text, "a page; or halfcheck gate");
    }
}

/* What did not pass, and what made no result: a PASS is worth only what has run. */
static void count_others(const struct hc_rows *rows, struct hc_lines *t)
{
    static const enum hc_verdict others[] = {HC_SKIPPED, HC_UNIMPLEMENTED, HC_MISTRUSTED};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        int count = hc_rows_count(rows, others[i]);
        if (count)
            hc_lines_add(t, "; %d %s", count, hc_verdict_names[others[i]]);
    }
    int left_out = hc_omissions_count(&rows->omissions, NULL);
    if (left_out)
        hc_lines_add(t, "; %s left out", hc_count(left_out, "case").text);
}

static void give_reason(const struct hc_run_command *s, int status, bool kept, struct hc_lines *t)
{
    const struct hc_rows *rows = &s->rows;
    int bad = 0;
    for (int i = 0; i < rows->count; i++)
        bad += hc_verdict_is_bad(rows->row[i].verdict, s->settings.strict);
    if (status == HC_AS_CLAIMED && rows->count == 0)
        hc_lines_add(t, "nothing belongs to this shard");
    else if (status == HC_AS_CLAIMED && s->options.bits_only)
        hc_lines_add(t, "%s %s bits, which gate compares; nothing was claimed",
                     hc_count(rows->count, "result").text, rows->count == 1 ? "has" : "have");
    else if (status == HC_AS_CLAIMED) {
        hc_lines_add(t, "%d of %s %s as claimed", hc_rows_count(rows, HC_PASS),
                     hc_count(rows->count, "result").text,
                     hc_rows_count(rows, HC_PASS) == 1 ? "is" : "are");
        count_others(rows, t);
    } else if (!kept)
        hc_lines_add(t, "the results could not be written");
    else if (status == HC_CLAIM_FAILED && bad)
        hc_lines_add(t, "%d of %s %s not as claimed", bad, hc_count(rows->count, "result").text,
                     bad == 1 ? "is" : "are");
    else if (status == HC_CLAIM_FAILED)
        hc_lines_add(t, "a kernel refused what it takes elsewhere");
    else if (hc_run_command_cut(s))
        hc_lines_add(t, "stopped before the end");
    else if (bad)
        hc_lines_add(t, "%d of %s ended with an error", bad, hc_count(rows->count, "result").text);
    else
        hc_lines_add(t, "nothing was checked");
}

/* Whether an op sums products of matrices, which is most of a training's arithmetic. */
static bool multiplies(int op)
{
    return hc_ops[op].class_ == HC_CLASS_GEMM || hc_ops[op].class_ == HC_CLASS_CONV;
}

/* The largest call of each op that was judged on any backend; the number of such ops. */
static int find_largest(const struct hc_run_command *s, const struct hc_largest *of[HC_OP_ROOM])
{
    int count = 0;
    for (int i = 0; i < s->rows.count; i++) {
        const struct hc_row *row = &s->rows.row[i];
        size_t length = strcspn(row->largest.call, " ");
        for (int op = 0; op < HC_OP_COUNT && length && row->verdict == HC_PASS; op++)
            if (strlen(hc_ops[op].name) == length &&
                memcmp(hc_ops[op].name, row->largest.call, length) == 0 &&
                (!of[op] || row->largest.work > of[op]->work)) {
                count += !of[op];
                of[op] = &row->largest;
            }
    }
    return count;
}

/* Prints the largest calls, since the run says nothing about larger ones. Unless more is asked for,
   or there are only a few ops, these are the call of most products and the one of most elements. A
   few cases say it by their names. */
static void print_largest(const struct hc_run_command *s)
{
    enum { FEW_CASES = 100, FEW_OPS = 4 };
    const struct hc_largest *of[HC_OP_ROOM] = {NULL};
    const struct hc_largest *most[2] = {NULL, NULL};
    struct hc_lines t = {.used = 0};
    bool all = find_largest(s, of) <= FEW_OPS || s->settings.verbose;
    for (int op = 0; op < HC_OP_COUNT; op++) {
        const struct hc_largest **one = &most[multiplies(op) ? 0 : 1];
        if (of[op] && all)
            hc_lines_add(&t, "%s %s", t.used ? "," : "judged up to:", of[op]->call);
        if (of[op] && (!*one || of[op]->work > (*one)->work))
            *one = of[op];
    }
    for (int i = 0; i < 2 && !all; i++)
        if (most[i])
            hc_lines_add(&t, "%s %s", t.used ? "," : "judged up to:", most[i]->call);
    if (!all)
        hc_lines_add(&t, "; --verbose has all ops");
    if (t.used && (s->options.pattern_count == 0 || s->rows.count > FEW_CASES))
        hc_print_wrapped(s->out, 0, 2, t.text);
}

void hc_run_ends(const struct hc_run_command *s, int status, bool kept)
{
    static const struct {
        const char *word;
        enum hc_colour colour;
    } words[] = {[HC_AS_CLAIMED] = {"PASS", HC_COLOUR_PASS},
                 [HC_CLAIM_FAILED] = {"FAIL", HC_COLOUR_FAIL},
                 [HC_WRONG] = {"ERROR", HC_COLOUR_FAIL}};
    struct hc_lines reason = {.used = 0};
    if (s->settings.tap)
        return;
    print_largest(s);
    print_next(s, status);
    give_reason(s, status, kept, &reason);
    hc_colour_print(s->out, words[status].colour, "%s", words[status].word);
    hc_print(s->out, ": %s\n", reason.text);
}
