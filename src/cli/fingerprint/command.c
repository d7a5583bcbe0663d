/* halfcheck fingerprint: how gemm sums on each backend, as text and as JSON. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "check/fingerprint/fingerprint.h"
#include "check/fingerprint/use.h"
#include "check/record/json.h"
#include "cli/backend_options.h"
#include "cli/command.h"
#include "cli/stop.h"
#include "op/output.h"
#include "op/text.h"
#include "op/typed.h"
#include "op/wrap.h"

static void add_fact(const char *name, const char *fact, void *context)
{
    (void)json_object_set_new(context, name, hc_json_text(fact));
}

static json_t *accumulator(const struct hc_fingerprint *f)
{
    struct hc_accumulator a;
    if (!hc_fingerprint_accumulator(f, &a))
        return json_null();
    return json_pack("{s:i, s:i, s:i, s:b, s:b, s:b}", "precision", a.precision, "block", a.block,
                     "extra_bits", a.extra_bits, "truncates", a.truncates, "flushes", a.flushes,
                     "aligns_subnormals", a.aligns_subnormals);
}

static json_t *nearest(const struct hc_fingerprint *f)
{
    const struct hc_nearest_model *n = &f->nearest;
    if (f->equal_count || hc_fingerprint_is_plain(f) || !n->unit)
        return json_null();
    json_t *terms = json_array();
    for (int i = 0; i < n->terms && i < 8; i++)
        (void)json_array_append_new(terms,
                                    json_pack("{s:i, s:o, s:o}", "index", n->index[i], "a",
                                              hc_json_real(n->a[i]), "b", hc_json_real(n->b[i])));
    json_t *o =
        json_pack("{s:s, s:i, s:i, s:o, s:o}", "model", n->unit->name, "different", n->different,
                  "products", n->terms, "terms", terms, "c", hc_json_real(n->c));
    (void)json_object_set_new(o, "want", json_sprintf("0x%08" PRIx32, n->want));
    (void)json_object_set_new(o, "got", json_sprintf("0x%08" PRIx32, n->got));
    return o;
}

/* {"backend", "format", "text", "findings": {name: value, ...}, "equals": [...], "sums",
   "follows", "nearest": null or {"model", "different", "want", "got"}, "accumulator": null or
   {...}, "calls"}. */
static json_t *fingerprint_document(const char *backend, const struct hc_fingerprint *f)
{
    char text[HC_FINGERPRINT_TEXT];
    json_t *findings = json_object();
    json_t *equals = json_array();
    hc_fingerprint_text(f, text);
    hc_fingerprint_tell(f, add_fact, findings);
    for (int i = 0; i < f->equal_count; i++)
        (void)json_array_append_new(equals, json_string(f->equals[i]->name));
    return json_pack("{s:o, s:s, s:o, s:o, s:o, s:i, s:b, s:o, s:o, s:I}", "backend",
                     hc_json_text(backend), "format", hc_formats[f->format].name, "text",
                     hc_json_text(text), "findings", findings, "equals", equals, "sums", f->sums,
                     "follows", f->in_words, "nearest", nearest(f), "accumulator", accumulator(f),
                     "calls", (json_int_t)f->calls);
}

const struct hc_command hc_command_fingerprint;

enum { INDENT = 17, FORMATS = 8, REASON = 512 };

static const char usual[] = "fp16,bf16,tf32,e4m3,e5m2,e4m3fnuz,e5m2fnuz";
static const enum hc_format taken[FORMATS] = {HC_FP16, HC_BF16,     HC_TF32,     HC_E4M3,
                                              HC_E5M2, HC_E4M3FNUZ, HC_E5M2FNUZ, HC_FP32};

struct work {
    struct hc_backend_options backends;
    const char *list;
    const char *json;
    enum hc_format formats[FORMATS];
    int format_count;
    json_t *document;
    FILE *out; /* for people: stderr if the document has stdout */
    int found;
    int status;
};

static void print_line(const char *name, const char *fact, void *context)
{
    FILE *out = context;
    int column = fprintf(out, "  %-*s", INDENT - 2, name);
    hc_print_wrapped(out, column, INDENT, fact);
}

static void print_head(const struct work *w, const struct hc_backend *backend,
                       enum hc_format format)
{
    if (w->found > 0)
        (void)fputc('\n', w->out);
    hc_text_line(w->out, backend->name);
    (void)fprintf(w->out, ", %s\n", hc_formats[format].name);
}

/* A backend that gives the bits of units may compute other formats on ordinary kernels. */
static bool lacks_unit(const struct hc_backend *backend, enum hc_format format)
{
    for (int i = 0; backend->units && backend->units[i]; i++)
        if (backend->units[i]->a == hc_operand_of(format))
            return false;
    return backend->units;
}

static void print_fingerprint(struct work *w, const struct hc_backend *backend,
                              const struct hc_fingerprint *f)
{
    print_head(w, backend, f->format);
    if (lacks_unit(backend, f->format))
        print_line("unit", "none of the backend's takes this format; its other kernel was probed",
                   w->out);
    hc_fingerprint_tell(f, print_line, w->out);
    w->found++;
    (void)fflush(w->out);
    (void)json_array_append_new(w->document, fingerprint_document(backend->name, f));
}

/* One line, and a member of the document: what else was found is not lost. */
static void fail(struct work *w, const struct hc_backend *backend, enum hc_format format)
{
    (void)json_array_append_new(
        w->document, json_pack("{s:o, s:s, s:o}", "backend", hc_json_text(backend->name), "format",
                               hc_formats[format].name, "error", hc_json_text(hc_message())));
    w->status = hc_complain_message();
}

/* The formats that were asked for and that its gemm does not take, beside others that it takes. */
static void print_refused(struct work *w, const struct hc_backend *backend,
                          char why[FORMATS][REASON])
{
    for (int i = 0; i < w->format_count; i++)
        if (why[i][0] && w->list != usual) {
            print_head(w, backend, w->formats[i]);
            print_line("not taken", why[i], w->out);
            (void)json_array_append_new(
                w->document,
                json_pack("{s:o, s:s, s:o}", "backend", hc_json_text(backend->name), "format",
                          hc_formats[w->formats[i]].name, "not_taken", hc_json_text(why[i])));
        }
}

/* All formats of one backend. A kernel that does not take a format is nothing bad, unless there is
   no other format; nor does a failure in one say anything of the others. */
static void work_on(struct work *w, const struct hc_backend *backend, bool named)
{
    struct hc_queue *queue;
    bool any = false;
    char refused[FORMATS][REASON] = {""};
    const char *why = backend->unavailable ? backend->unavailable() : NULL;
    if (why || !backend->kernel[HC_OP_gemm]) {
        if (named)
            w->status = hc_complain("backend %s %s%s", backend->name,
                                    why ? "cannot run here: " : "has no gemm", why ? why : "");
        return;
    }
    if (hc_backend_open(backend, &queue, 0) != HC_OK) {
        w->status = hc_complain_message();
        return;
    }
    for (int i = 0; i < w->format_count && !hc_stop_signal(); i++) {
        struct hc_fingerprint f;
        if (w->list == usual && !hc_fingerprint_usual(backend, w->formats[i]))
            continue;
        enum hc_status status = hc_fingerprint(backend, queue, w->formats[i], &f);
        if (status == HC_OK)
            print_fingerprint(w, backend, &f);
        else if (status == HC_UNSUPPORTED)
            (void)hc_text_write(refused[i], REASON, "%s", hc_message());
        else
            fail(w, backend, w->formats[i]);
        any |= status != HC_UNSUPPORTED;
    }
    backend->close(queue);
    if (any)
        print_refused(w, backend, refused);
    else if (!hc_stop_signal())
        w->status = hc_complain("%s: no such gemm: %s", backend->name, hc_message());
}

static enum hc_status read_formats(struct work *w)
{
    const char *name;
    size_t length;
    for (const char *at = w->list; at;) {
        char copy[16] = "";
        enum hc_status status = hc_list_next("--formats", w->list, &at, &name, &length);
        if (status != HC_OK)
            return status;
        if (length < sizeof copy)
            memcpy(copy, name, length);
        enum hc_format format = hc_format_by_name(copy);
        int n = 0;
        while (n < FORMATS && taken[n] != format)
            n++;
        if (n == FORMATS)
            return hc_fail(HC_INVALID,
                           "--formats: '%.*s' is no format that gemm takes; there are: fp16, "
                           "bf16, tf32, e4m3, e5m2, e4m3fnuz, e5m2fnuz, fp32",
                           (int)length, name);
        for (int i = 0; i < w->format_count; i++)
            if (w->formats[i] == format)
                return hc_fail(HC_INVALID, "--formats names %s twice", copy);
        w->formats[w->format_count++] = format;
    }
    return HC_OK;
}

static int run_all(struct work *w)
{
    const struct hc_backend *chosen[HC_MAX_BACKENDS];
    int count;
    enum hc_status status = read_formats(w);
    if (status == HC_OK)
        status = hc_choose_backends(&w->backends, chosen, &count);
    if (status == HC_OK && w->json)
        status = hc_output_probe(w->json);
    if (status != HC_OK)
        return hc_complain_message();
    hc_stop_on_request();
    for (int b = 0; b < count && !hc_stop_signal(); b++)
        work_on(w, chosen[b], w->backends.named.count > 0);
    if (hc_stop_signal())
        return hc_complain("fingerprint: stopped by signal %d", hc_stop_signal());
    if (w->json && hc_json_write(w->json, w->document) != HC_OK)
        return hc_complain_message();
    return w->status;
}

static int run_fingerprint(int argc, char **argv)
{
    struct work w = {.list = usual, .status = HC_AS_CLAIMED};
    int words;
    int status;
    const struct hc_option options[] = {
        {.include = hc_backend_options(
             &w.backends, HC_SEVERAL_BACKENDS | HC_TAKES_FALLBACK,
             "probe these backends (default: all that can run here and have gemm), or a\n"
             "program behind a pipe: pipe:COMMAND")},
        {.name = "formats",
         .value = "LIST",
         .text = &w.list,
         .help = "the formats of the products' factors: fp16, bf16, tf32, e4m3, e5m2, e4m3fnuz,\n"
                 "e5m2fnuz, fp32; tf32 is fp32 that may be taken as such (default:\n"
                 "fp16,bf16,tf32, and fp8 of a backend that names a unit for it; e4m3,e5m2 of a\n"
                 "program or a plug-in, too)"},
        {.name = "json",
         .value = "FILE",
         .text = &w.json,
         .help = "also write JSON; with -, it goes to standard output and the text to\n"
                 "standard error"},
        {0},
    };
    if (!hc_read_options(&hc_command_fingerprint, options, argc, argv, &words, &status))
        return status;
    if (words > 0)
        return hc_complain("fingerprint takes no '%s'; see: halfcheck fingerprint --help", argv[1]);
    w.out = w.json && strcmp(w.json, "-") == 0 ? stderr : stdout;
    w.document = json_array();
    status = run_all(&w);
    json_decref(w.document);
    return status;
}

const struct hc_command hc_command_fingerprint = {
    .name = "fingerprint",
    .usage = "[options]",
    .summary = "find out how a backend's gemm sums products, and which matrix unit that equals",
    .text =
        "A matrix unit adds several products at once, and cuts or rounds what does not fit.\n"
        "No library says how it does so, but the bits of well-chosen sums show it: how many "
        "products\n"
        "are added at once and in which order, how many bits are kept, how the rest is rounded,\n"
        "where C is added, and what becomes of subnormals, NaNs and zeros. Each finding is\n"
        "printed; what the sums do not show is \"not determined\", with the reason.\n\n"
        "Some thousand sums are then compared with the published models of matrix units\n"
        "(src/unit). A model is named only if none of the sums differs; otherwise the nearest one\n"
        "is named, with a sum that differs. Calls of other sizes are compared with the first.\n\n"
        "The fingerprint holds for the calls that were made: a library may choose another kernel\n"
        "for another size. docs/fingerprint.md explains how it works, and how run uses it.",
    .run = run_fingerprint,
};
