#include "cli/run/outside.h"

#include <string.h>

#include "cli/lines.h"
#include "fallback.h"
#include "op/text.h"
#include "op/wrap.h"

enum { INDENT = 13 };

static void print_backend(FILE *out, const char *label, const struct hc_lines *t)
{
    int column = fprintf(out, "  %-*s", INDENT - 2, label);
    hc_print_wrapped(out, column, INDENT, t->text);
}

static bool is_outside(const struct hc_backend *backend)
{
    struct hc_fallback_counts counts;
    return backend->free_order || hc_fallback_count(backend, &counts);
}

bool hc_all_outside(const struct hc_run_options *options)
{
    for (int b = 0; b < options->backend_count; b++)
        if (!is_outside(options->backends[b]))
            return false;
    return options->backend_count > 0;
}

static int rows_of(const struct hc_rows *rows, const char *backend, enum hc_verdict verdict)
{
    int count = 0;
    for (int i = 0; i < rows->count; i++)
        count += rows->row[i].verdict == verdict && strcmp(rows->row[i].backend, backend) == 0;
    return count;
}

static void print_verdicts(FILE *out, const struct hc_rows *rows, const char *backend,
                           const char *order)
{
    struct hc_lines t = {.used = 0};
    int all = 0;
    for (int v = 0; v < HC_VERDICT_COUNT; v++)
        all += rows_of(rows, backend, (enum hc_verdict)v);
    hc_lines_add(&t, "%d of %s", rows_of(rows, backend, HC_PASS), hc_count(all, "result").text);
    for (int v = HC_FAIL; v < HC_VERDICT_COUNT; v++) {
        int count = rows_of(rows, backend, (enum hc_verdict)v);
        if (count)
            hc_lines_add(&t, ", %d %s", count, hc_verdict_names[v]);
    }
    print_backend(out, "passed", &t);
    t = (struct hc_lines){.used = 0};
    hc_lines_add(
        &t, "within bounds that hold for any order of evaluation; the same bits where one result "
            "alone is right");
    if (order)
        hc_lines_add(&t, ", and where a call states the order %s", order);
    print_backend(out, "held to", &t);
}

/* The cases of one kind, and the first reason. */
static int omitted(const struct hc_omissions *all, const char *backend, enum hc_omitted kind,
                   const char **why)
{
    int count = 0;
    for (int i = 0; i < all->count; i++) {
        const struct hc_omission *o = &all->row[i];
        if (strcmp(o->backend, backend) != 0 || !o->count[kind])
            continue;
        if (!count)
            *why = o->why[kind];
        count += o->count[kind];
    }
    return count;
}

static void print_lacking(FILE *out, const struct hc_backend *backend, int cases, const char *why)
{
    struct hc_lines t = {.used = 0};
    int lacking = 0;
    for (int op = 0; op < HC_OP_COUNT; op++)
        lacking += !backend->kernel[op];
    /* One that is there for definitions need have no op. */
    bool none = lacking == HC_OP_COUNT && backend->defined;
    if ((!lacking || none) && !cases)
        return;
    /* Most programs have few ops: it is shorter to say which. */
    bool few = lacking > HC_OP_COUNT / 2;
    hc_lines_add(&t, "%d of %d ops%s", lacking, (int)HC_OP_COUNT,
                 lacking == HC_OP_COUNT ? ""
                 : few                  ? ", all but"
                 : lacking              ? ":"
                                        : "");
    bool first = true;
    for (int op = 0; op < HC_OP_COUNT; op++)
        if (!backend->kernel[op] != few) {
            hc_lines_add(&t, "%s %s", first ? "" : ",", hc_ops[op].name);
            first = false;
        }
    if (cases)
        hc_lines_add(&t, "; cases left out: %d", cases);
    if (cases && !lacking)
        hc_lines_add(&t, ": %s", why);
    print_backend(out, "lacks", &t);
}

static void print_refused(FILE *out, int cases, const char *why)
{
    struct hc_lines t = {.used = 0};
    if (!cases)
        return;
    hc_lines_add(&t, "cases left out: %d; the first: %s", cases, why);
    print_backend(out, "refused", &t);
}

static void print_order(FILE *out, int cases, const char *order, const char *why)
{
    struct hc_lines t = {.used = 0};
    if (!cases)
        return;
    if (order)
        hc_lines_add(&t, "cases left out, which state another order than %s: %d", order, cases);
    else {
        hc_lines_add(
            &t,
            "cases left out, which state an order of roundings: %d; --order NAME holds it to "
            "one:",
            cases);
        for (int i = 0; i < HC_ORDER_COUNT; i++)
            hc_lines_add(&t, "%s %s", i ? "," : "", hc_adam_order_names[i]);
    }
    hc_lines_add(&t, ". The first: %s", why);
    print_backend(out, "order", &t);
}

static void print_unasked(FILE *out, int cases)
{
    struct hc_lines t = {.used = 0};
    if (!cases)
        return;
    hc_lines_add(&t, "cases left out, which hold but made no call that reached it: %d", cases);
    print_backend(out, "no call", &t);
}

void hc_print_fallback(FILE *out, const struct hc_backend *backend)
{
    struct hc_fallback_counts counts;
    struct hc_lines t = {.used = 0};
    long long own = 0;
    bool any = false;
    if (!hc_fallback_count(backend, &counts))
        return;
    for (int op = 0; op < HC_OP_COUNT; op++)
        own += counts.on_subject[op];
    /* The whole name is NAME+OTHER. */
    hc_lines_add(&t, "%.*s: %s ran on its own; on %s:",
                 (int)(strlen(backend->name) - strlen(counts.other) - 1), backend->name,
                 hc_count(own, "call").text, counts.other);
    for (int op = 0; op < HC_OP_COUNT; op++)
        if (counts.on_other[op]) {
            hc_lines_add(&t, "%s %s %lld", any ? "," : "", hc_ops[op].name,
                         (long long)counts.on_other[op]);
            any = true;
        }
    hc_lines_add(&t, "%s", any ? "" : " none");
    print_backend(out, "fallback", &t);
}

void hc_print_outside(FILE *out, const struct hc_rows *rows, const struct hc_run_options *options)
{
    for (int b = 0; b < options->backend_count; b++) {
        const struct hc_backend *backend = options->backends[b];
        const char *why[HC_OMITTED_KINDS] = {"", "", "", ""};
        int cases[HC_OMITTED_KINDS];
        if (!is_outside(backend))
            continue;
        for (int kind = 0; kind < HC_OMITTED_KINDS; kind++)
            cases[kind] =
                omitted(&rows->omissions, backend->name, (enum hc_omitted)kind, &why[kind]);
        hc_print(out, "\n%s%s", backend->name, backend->spelled ? ", which is " : "");
        hc_text_line(out, backend->spelled ? backend->spelled : "");
        (void)fputc('\n', out);
        print_verdicts(out, rows, backend->name, backend->free_order ? options->order : "ours");
        print_lacking(out, backend, cases[HC_OMITTED_ABSENT], why[HC_OMITTED_ABSENT]);
        print_refused(out, cases[HC_OMITTED_REFUSED], why[HC_OMITTED_REFUSED]);
        print_order(out, cases[HC_OMITTED_ORDER], options->order, why[HC_OMITTED_ORDER]);
        print_unasked(out, cases[HC_OMITTED_UNASKED]);
        hc_print_fallback(out, backend);
    }
}
