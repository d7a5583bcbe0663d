/* The judgement as JSON. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "check/record/json.h"
#include "cli/judge/answer.h"
#include "op/descriptor.h"
#include "op/output.h"

/* JSON has no infinities and no NaN. */
static json_t *number(double value)
{
    if (isnan(value))
        return json_string("nan");
    return isinf(value) ? json_string(value > 0 ? "inf" : "-inf") : json_real(value);
}

static void tell(const char *slot, const char *element, double value, void *context)
{
    json_t *inputs = context;
    if (!element) {
        (void)json_object_set_new(inputs, slot, number(value));
        return;
    }
    if (!json_object_get(inputs, slot))
        (void)json_object_set_new(inputs, slot, json_object());
    (void)json_object_set_new(json_object_get(inputs, slot), element, number(value));
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
    hc_answer_inputs(answer, o, e->index, tell, inputs);
    json_t *w =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "index",
                  place(answer, o, e->index), "want", number(e->want.hi), "right",
                  e->single ? number(hc_decode(t->format, e->want_bits)) : json_null(), "exact",
                  number(e->exact), "got", number(hc_decode(t->format, e->got_bits)), "error",
                  number(e->error), "bound", number(e->bound), "ratio", number(e->ratio), "ulps",
                  number(e->ulps), "implementation", number(e->implementation), "format",
                  number(e->format), "inputs", inputs);
    if (w && hc_judge_sum(&element, &sum))
        (void)json_object_set_new(w, "sum",
                                  json_pack("{s:I, s:[o,o], s:o}", "terms", (json_int_t)sum.terms,
                                            "largest", number(sum.largest.a), number(sum.largest.b),
                                            "magnitude", number(e->want.magnitude)));
    return w;
}

static json_t *output(const struct hc_answer *answer, int o)
{
    const struct hc_judged_output *r = &answer->output[o];
    const struct hc_call *call = answer->judge->call;
    json_t *edges = json_array();
    json_t *counts = json_array();
    for (int b = 0; b < HC_RATIO_BINS; b++) {
        (void)json_array_append_new(edges, number(hc_ratio_edges[b]));
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
        (json_int_t)r->as_exact, "where", r->where, "implementation", number(r->implementation),
        "format", number(r->format), "excess", number(hc_judged_excess(r)), "worst",
        r->judged ? worst(answer, o) : json_null(), "histogram", "edges", edges, "counts", counts);
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
        "params", hc_answer_parameters_json(call), "flushed", (json_int_t)answer->flushed,
        "numbers", answer->numbers, "outputs", outputs, "whose", hc_answer_whose(answer), "kept",
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
