/* What judge answers: a report of at most 76 columns, and a JSON document. */
#include "cli/judge/answer.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lines.h"
#include "check/record/json.h"
#include "num/ulp.h"
#include "op/descriptor.h"
#include "op/params.h"
#include "op/rule.h"
#include "op/text.h"
#include "op/wrap.h"

static void add_input(const char *slot, const char *element, double value, void *context);

/* The inputs of an element, and where it is. */

static const char *answer_place(const struct hc_answer *answer, int out, int64_t index,
                                char text[HC_PLACE_TEXT])
{
    const struct hc_call *call = answer->judge->call;
    int64_t at[HC_MAX_RANK];
    hc_question_place(call, answer->question->nchw, &call->out[out], index, at);
    (void)snprintf(text, HC_PLACE_TEXT, "%s[", hc_descriptor(call->op)->out[out].name);
    for (int d = 0; d < call->out[out].rank; d++)
        hc_append(text, HC_PLACE_TEXT, "%s%lld", d ? ", " : "", (long long)at[d]);
    hc_append(text, HC_PLACE_TEXT, "]");
    return text;
}

static void answer_inputs(const struct hc_answer *answer, int out, int64_t index,
                          hc_input_callback *tell, void *context)
{
    const struct hc_call *call = answer->judge->call;
    const struct hc_descriptor *d = hc_descriptor(call->op);
    const struct hc_tensor *first = &call->in[HC_FIRST];
    int64_t channels = first->rank ? first->shape[first->rank - 1] : 1;
    bool whole = d->out[out].size == HC_SIZE_FIRST && d->in[HC_FIRST].size == HC_SIZE_FIRST;
    bool channel = whole || d->out[out].size == HC_SIZE_CHANNELS;
    for (int i = 0; i < hc_ops[call->op].inputs; i++) {
        const struct hc_slot *slot = &d->in[i];
        const struct hc_tensor *numbers = answer->judge->numbers;
        const struct hc_tensor *t = numbers && numbers[i].data ? &numbers[i] : &call->in[i];
        if (!t->data)
            continue;
        if (slot->size == HC_SIZE_FIRST && whole)
            tell(slot->name, NULL, hc_tensor_get(t, index), context);
        if (slot->size == HC_SIZE_CHANNELS && channel)
            tell(slot->name, NULL, hc_tensor_get(t, index % channels), context);
        for (int e = 0; slot->size == HC_SIZE_FIXED && e < slot->count; e++)
            tell(slot->name, slot->elements ? slot->elements[e] : NULL, hc_tensor_get(t, e),
                 context);
    }
}

/* The parameters that a judgement was made with. A report that leaves them out reads alike for a
   rule that was asked for and for one that nobody named. */

/* Reals as people write them, and not in hex. */
static void value_text(const struct hc_param *p, const union hc_params *params,
                       char text[HC_PARAM_TEXT])
{
    hc_param_text(p, params, text);
    if (!p->count && (p->kind == HC_PARAM_REAL || p->kind == HC_PARAM_SINGLE))
        (void)hc_text_write(text, HC_PARAM_TEXT, "%.9g", strtod(text, NULL));
}

/* Words and formats choose what is computed, so they are told always; of the others those are that
   somebody has set. */
static void answer_parameters(const struct hc_call *call, char text[HC_PARAMETERS_TEXT])
{
    union hc_params usual;
    size_t used = 0;
    text[0] = '\0';
    hc_params_usual(call->op, &usual);
    for (const struct hc_param *p = hc_op_params(call->op); p->name; p++) {
        char value[HC_PARAM_TEXT], otherwise[HC_PARAM_TEXT];
        value_text(p, &call->params, value);
        value_text(p, &usual, otherwise);
        bool same = strcmp(value, otherwise) == 0;
        if (!same || p->kind == HC_PARAM_WORD || p->kind == HC_PARAM_FORMAT)
            used +=
                (size_t)hc_text_write(text + used, HC_PARAMETERS_TEXT - used, "%s%s=%s%s",
                                      used ? ", " : "", p->name, value, same ? " (default)" : "");
    }
}

/* All parameters of the call, by name. */
static json_t *answer_parameters_json(const struct hc_call *call)
{
    json_t *all = json_object();
    for (const struct hc_param *p = hc_op_params(call->op); p->name; p++) {
        char value[HC_PARAM_TEXT];
        hc_param_json(p, &call->params, value);
        (void)json_object_set_new(all, p->name, json_loads(value, JSON_DECODE_ANY, NULL));
    }
    return all;
}

enum { COLUMNS = 77, LABEL = 12, BAR = 40 }; /* lines have fewer columns */

static void label(FILE *out, const char *name)
{
    (void)fprintf(out, "  %-*s", LABEL - 2, name);
}

/* "1.25e-05 = 3.4 ulp" */
static void distance(FILE *out, const char *name, double absolute, double ulps)
{
    label(out, name);
    if (isinf(absolute))
        hc_print(out, "infinite\n");
    else
        hc_print(out, "%.4g = %.3g ulp\n", absolute, ulps);
}

/* The inputs on lines of up to 80 columns. */
struct line {
    FILE *out;
    size_t column;
};

static void add_input_of(const char *slot, const char *element, double value, void *context)
{
    struct line *line = context;
    char text[96];
    (void)hc_text_write(text, sizeof text, "%s%s%s = %.9g", slot, element ? "." : "",
                        element ? element : "", value);
    size_t length = strlen(text);
    if (line->column == 0) {
        label(line->out, "inputs");
        line->column = LABEL;
    } else if (line->column + 2 + length >= COLUMNS) {
        (void)fprintf(line->out, ",\n%*s", LABEL, "");
        line->column = LABEL;
    } else {
        (void)fprintf(line->out, ", ");
        line->column += 2;
    }
    (void)fprintf(line->out, "%s", text);
    line->column += length;
}

/* "27 terms; the largest is 0.5 * 2 = 1; their magnitudes are 19 times the sum" */
static void print_sum(FILE *out, const struct hc_answer *answer, int o)
{
    const struct hc_judged_element *e = &answer->output[o].worst;
    const struct hc_element element = {answer->judge->call, o, e->index};
    struct hc_judged_sum sum;
    char text[256];
    if (!hc_judge_sum(&element, &sum))
        return;
    (void)hc_text_write(text, sizeof text, "%lld term%s, the largest %.9g * %.9g = %.9g",
                        (long long)sum.terms, sum.terms == 1 ? "" : "s", sum.largest.a,
                        sum.largest.b, sum.largest.a * sum.largest.b);
    if (e->want.hi != 0 && isfinite(e->want.hi))
        hc_append(text, sizeof text, "; their magnitudes add up to %.4g, %.3g times the result",
                  e->want.magnitude, e->want.magnitude / fabs(e->want.hi));
    label(out, "sum of");
    hc_print_narrow(out, COLUMNS, LABEL, LABEL, text);
}

static void print_worst(FILE *out, const struct hc_answer *answer, int o)
{
    const struct hc_judged_element *e = &answer->output[o].worst;
    const struct hc_tensor *t = &answer->judge->call->out[o];
    char place[HC_PLACE_TEXT];
    label(out, e->wrong ? "wrong" : "nearest");
    hc_print(out, "%s\n", answer_place(answer, o, e->index, place));
    label(out, "real");
    hc_print(out, "%.17g\n", e->want.hi);
    if (e->single) {
        label(out, "right");
        hc_print(out, "%.9g, the real value rounded; nothing else is right\n",
                 hc_decode(t->format, e->want_bits));
    }
    if (answer->judge->has_exact) {
        label(out, "exact");
        hc_print(out, "%.9g, by the contract in one right order\n", e->exact);
    }
    label(out, "got");
    hc_print(out, "%.9g\n", hc_decode(t->format, e->got_bits));
    distance(out, "error", e->error, e->ulps);
    if (isinf(e->bound))
        hc_print(out, "  %-*snone: the contract allows anything here\n", LABEL - 2, "bound");
    else
        distance(out, "bound", e->bound, e->bound / hc_ulp(t->format, e->want.hi));
    if (isfinite(e->ratio)) {
        label(out, "ratio");
        hc_print(out, "%.4g\n", e->ratio);
    }
    struct line line = {.out = out};
    answer_inputs(answer, o, e->index, add_input_of, &line);
    if (line.column)
        (void)putc('\n', out);
    print_sum(out, answer, o);
}

static void print_histogram(FILE *out, const struct hc_judged_output *r)
{
    int64_t most = 1;
    for (int b = 0; b < HC_RATIO_BINS; b++)
        most = r->count[b] > most ? r->count[b] : most;
    hc_print(out, "\n  error/bound      elements\n");
    for (int b = 0; b < HC_RATIO_BINS; b++) {
        char edge[32];
        int width = (int)(r->count[b] * BAR / most) + (r->count[b] > 0);
        if (isinf(hc_ratio_edges[b]))
            (void)snprintf(edge, sizeof edge, "above %g", hc_ratio_edges[b - 1]);
        else
            (void)snprintf(edge, sizeof edge, b ? "up to %g" : "%g", hc_ratio_edges[b]);
        hc_print(out, "  %-14s %10lld%s%.*s\n", edge, (long long)r->count[b], width ? "  " : "",
                 width, "#########################################");
    }
}

/* The second verdict, of sums whose errors are within the bound. */
static void print_improbable(FILE *out, const struct hc_judged_output *r)
{
    char text[256];
    double excess = hc_judged_excess(r);
    if (r->wrong || !(excess > 1))
        return;
    (void)hc_text_write(
        text, sizeof text,
        "the errors are %.3g times what independent roundings to nearest come to "
        "with a chance of one in a million: are factors or sums kept in fewer bits? "
        "(--strict makes it a FAIL)",
        excess);
    label(out, "warning");
    hc_print_narrow(out, COLUMNS, LABEL, LABEL, text);
}

static void print_output(FILE *out, const struct hc_answer *answer, int o)
{
    const struct hc_judged_output *r = &answer->output[o];
    const struct hc_tensor *t = &answer->judge->call->out[o];
    char shape[HC_SHAPE_TEXT];
    struct hc_tensor as_given = *t;
    if (hc_question_turns(answer->judge->call, answer->question->nchw, t)) {
        as_given.shape[1] = t->shape[3];
        as_given.shape[2] = t->shape[1];
        as_given.shape[3] = t->shape[2];
    }
    hc_print(out, "\n%s, %s %s: ", hc_descriptor(answer->judge->call->op)->out[o].name,
             hc_formats[t->format].name, hc_shape_text(&as_given, shape));
    if (r->judged == 0) {
        hc_print(out, "it is empty\n");
        return;
    }
    bool only = answer->question->only_out >= 0;
    if (only)
        hc_print(out, "one element is judged\n");
    else
        hc_print(out, "%lld of %lld elements %s wrong\n", (long long)r->wrong, (long long)r->judged,
                 r->wrong == 1 ? "is" : "are");
    if (r->judged < r->elements && !only)
        hc_print(out,
                 "  (MPFR judged those of %lld that differ most from exact, and others at\n"
                 "  even distances; --all judges every one)\n",
                 (long long)r->elements);
    if (r->where[0]) {
        label(out, "where");
        hc_print_narrow(out, COLUMNS, LABEL, LABEL, r->where);
    }
    print_worst(out, answer, o);
    print_improbable(out, r);
    if (r->judged > 1)
        print_histogram(out, r);
}

/* Whose the error is, in words. */
static const char *answer_whose(const struct hc_answer *answer)
{
    const struct hc_judged_output *r = &answer->output[answer->worst];
    const struct hc_judged_element *e = &r->worst;
    if (answer->verdict == HC_MISTRUSTED && r->judged == 0)
        return "The outputs have no elements, so nothing was judged.";
    if (answer->verdict == HC_MISTRUSTED && answer->all_flushed)
        return "Nobody's: the backend flushes subnormals, as it declares, no other factors are "
               "here, and nothing was shown.";
    if (answer->verdict == HC_MISTRUSTED)
        return "Nobody's: the contract allows anything for these inputs, and nothing was shown.";
    if (answer->improbable)
        return "The implementation's, most likely: no element is beyond its bound, and errors like "
               "these hardly are those of the roundings that the formats need.";
    if (e->wrong && isnan(e->implementation))
        return "The implementation's: no right one gives this result.";
    if (e->wrong)
        return "The implementation's: the same formats and inputs allow a result within the "
               "bound, and exact has one.";
    if (r->as_exact == r->judged)
        return "The format's alone: every element has the bits that exact gives, which sums in "
               "one right order.";
    if (isnan(r->implementation) || r->format >= r->implementation)
        return "The format's: exact, which follows the contract to the letter, is as far from "
               "the real values or farther.";
    return "Nobody's fault: this implementation rounds otherwise than exact, within the bound.";
}

static void add_name(char text[512], const char *name)
{
    size_t used = strlen(text);
    if (used < 400)
        (void)hc_text_write(text + used, 512 - used, "%s%s", used ? ", " : "", name);
}

/* "beta1 as given: 0.9", where fp32 does not hold it. */
static void print_reading(FILE *out, const struct hc_answer *answer)
{
    const struct hc_question *q = answer->question;
    struct hc_call call = q->call;
    bool reals = answer->numbers && hc_call_take_as_given(&call);
    char text[512] = "";
    for (int i = 0; answer->numbers && i < hc_ops[q->call.op].inputs; i++) {
        const struct hc_tensor *n = &q->numbers[i];
        const char *const *elements = hc_slot(q->call.op, i)->elements;
        for (int64_t e = 0; n->data && e < hc_tensor_count(n); e++)
            if (hc_tensor_get(n, e) != hc_tensor_get(&q->call.in[i], e))
                add_name(text, elements ? elements[e] : hc_slot(q->call.op, i)->name);
    }
    for (const struct hc_param *p = hc_op_params(q->call.op); reals && p->name; p++) {
        double value;
        memcpy(&value, (const char *)&q->call.params + p->offset, sizeof value);
        if (p->kind == HC_PARAM_REAL && hc_single(value, false) != value)
            add_name(text, p->name);
    }
    if (answer->numbers)
        hc_print(out, "\n%s %s%s\n", text, answer->numbers,
                 answer->verdict == HC_FAIL ? "; it fails under the other reading, too" : "");
}

void hc_answer_print(FILE *out, const struct hc_answer *answer)
{
    const struct hc_call *call = answer->judge->call;
    char text[HC_PARAMETERS_TEXT];
    hc_print(out, "%s  %s", hc_verdict_names[answer->verdict], hc_ops[call->op].name);
    if (answer->backend)
        hc_print(out, " on %s", answer->backend);
    (void)putc('\n', out);
    answer_parameters(call, text);
    if (text[0]) {
        label(out, "with");
        hc_print_narrow(out, COLUMNS, LABEL, LABEL, text);
    }
    if (answer->flushed)
        hc_print(out, "\n%lld subnormal factor%s as 0: the backend declares that it flushes\n",
                 (long long)answer->flushed, answer->flushed == 1 ? " counts" : "s count");
    print_reading(out, answer);
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        if (answer->judged[o])
            print_output(out, answer, o);
    (void)fprintf(out, "\nWhose error? ");
    hc_print_narrow(out, COLUMNS, LABEL + 1, 0, answer_whose(answer));
    if (answer->kept) {
        label(out, "kept");
        hc_text_line(out, answer->kept);
        (void)putc('\n', out);
    }
    if (answer->repro[0]) {
        label(out, "again");
        (void)hc_print_command(out, LABEL, LABEL, answer->repro);
        (void)putc('\n', out);
    }
}

/* The judgement as JSON. */

json_t *hc_answer_number(double value)
{
    if (isnan(value))
        return json_string("nan");
    return isinf(value) ? json_string(value > 0 ? "inf" : "-inf") : json_real(value);
}

static void add_input(const char *slot, const char *element, double value, void *context)
{
    json_t *inputs = context;
    if (!element) {
        (void)json_object_set_new(inputs, slot, hc_answer_number(value));
        return;
    }
    if (!json_object_get(inputs, slot))
        (void)json_object_set_new(inputs, slot, json_object());
    (void)json_object_set_new(json_object_get(inputs, slot), element, hc_answer_number(value));
}

/* What `index` is in the files. */
static json_t *place(const struct hc_answer *answer, int o, int64_t index)
{
    const struct hc_tensor *t = &answer->judge->call->out[o];
    int64_t at[HC_MAX_RANK];
    json_t *list = json_array();
    hc_question_place(answer->judge->call, answer->question->nchw, t, index, at);
    for (int d = 0; d < t->rank; d++)
        (void)json_array_append_new(list, json_integer(at[d]));
    return list;
}

static json_t *worst(const struct hc_answer *answer, int o)
{
    const struct hc_judged_element *e = &answer->output[o].worst;
    const struct hc_tensor *t = &answer->judge->call->out[o];
    const struct hc_element element = {answer->judge->call, o, e->index};
    struct hc_judged_sum sum;
    json_t *inputs = json_object();
    answer_inputs(answer, o, e->index, add_input, inputs);
    json_t *w = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "index",
        place(answer, o, e->index), "want", hc_answer_number(e->want.hi), "right",
        e->single ? hc_answer_number(hc_decode(t->format, e->want_bits)) : json_null(), "exact",
        hc_answer_number(e->exact), "got", hc_answer_number(hc_decode(t->format, e->got_bits)),
        "error", hc_answer_number(e->error), "bound", hc_answer_number(e->bound), "ratio",
        hc_answer_number(e->ratio), "ulps", hc_answer_number(e->ulps), "implementation",
        hc_answer_number(e->implementation), "format", hc_answer_number(e->format), "inputs",
        inputs);
    if (w && hc_judge_sum(&element, &sum))
        (void)json_object_set_new(w, "sum",
                                  json_pack("{s:I, s:[o,o], s:o}", "terms", (json_int_t)sum.terms,
                                            "largest", hc_answer_number(sum.largest.a),
                                            hc_answer_number(sum.largest.b), "magnitude",
                                            hc_answer_number(e->want.magnitude)));
    return w;
}

static json_t *output(const struct hc_answer *answer, int o)
{
    const struct hc_judged_output *r = &answer->output[o];
    const struct hc_call *call = answer->judge->call;
    json_t *edges = json_array();
    json_t *counts = json_array();
    for (int b = 0; b < HC_RATIO_BINS; b++) {
        (void)json_array_append_new(edges, hc_answer_number(hc_ratio_edges[b]));
        (void)json_array_append_new(counts, json_integer(r->count[b]));
    }
    json_t *shape = json_array();
    const struct hc_tensor *t = &call->out[o];
    static const int turned[] = {0, 3, 1, 2};
    for (int d = 0; d < t->rank; d++)
        (void)json_array_append_new(
            shape,
            json_integer(
                t->shape[hc_question_turns(call, answer->question->nchw, t) ? turned[d] : d]));
    return json_pack(
        "{s:s, s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:s, s:o, s:o, s:o, s:o, s:{s:o, s:o}}", "slot",
        hc_descriptor(call->op)->out[o].name, "dtype", hc_formats[t->format].name, "shape", shape,
        "elements", (json_int_t)r->elements, "judged", (json_int_t)r->judged, "wrong",
        (json_int_t)r->wrong, "unbounded", (json_int_t)r->unbounded, "as_exact",
        (json_int_t)r->as_exact, "where", r->where, "implementation",
        hc_answer_number(r->implementation), "format", hc_answer_number(r->format), "excess",
        hc_answer_number(hc_judged_excess(r)), "worst", r->judged ? worst(answer, o) : json_null(),
        "histogram", "edges", edges, "counts", counts);
}

enum hc_status hc_answer_write(const char *path, const struct hc_answer *answer)
{
    const struct hc_call *call = answer->judge->call;
    const struct hc_question *q = answer->question;
    const char *sums = q->accumulator ? q->accumulator : answer->backend ? "the backend's" : "fp32";
    hc_json_watch(malloc);
    json_t *outputs = json_array();
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        if (answer->judged[o])
            (void)json_array_append_new(outputs, output(answer, o));
    json_t *document = json_pack(
        "{s:s, s:s, s:s, s:o, s:s, s:o, s:I, s:s?, s:o, s:s, s:o, s:o}", "op",
        hc_ops[call->op].name, "verdict", hc_verdict_names[answer->verdict], "layout",
        hc_layout_names[q->nchw ? 0 : 1], "backend",
        answer->backend ? hc_json_text(answer->backend) : json_null(), "accumulator", sums,
        "params", answer_parameters_json(call), "flushed", (json_int_t)answer->flushed, "numbers",
        answer->numbers, "outputs", outputs, "whose", answer_whose(answer), "kept",
        answer->kept ? hc_json_text(answer->kept) : json_null(), "repro",
        hc_json_text(answer->repro));
    enum hc_status status = hc_json_status();
    if (status == HC_OK && !document)
        status = hc_fail(HC_INVALID, "judge: --json: a text is no UTF-8");
    if (status == HC_OK)
        status = hc_json_write(path, document);
    json_decref(document);
    return status;
}
