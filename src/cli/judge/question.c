#include "cli/judge/question.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/descriptor.h"
#include "op/params.h"
#include "settings.h"

const char *const hc_layout_names[] = {"nchw", "nhwc", NULL};

void *hc_question_memory(struct hc_question *q, size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (!memory) {
        (void)hc_fail(HC_NO_MEMORY, "no memory for %zu bytes", bytes);
        return NULL;
    }
    q->owned[q->owned_count++] = memory;
    return memset(memory, 0, bytes);
}

void hc_question_close(struct hc_question *q)
{
    for (int i = 0; i < q->files; i++)
        hc_tensor_file_close(&q->file[i]);
    for (int i = 0; i < q->owned_count; i++)
        free(q->owned[i]);
}

bool hc_question_turns(const struct hc_call *call, bool nchw, const struct hc_tensor *t)
{
    static const bool has_images[] = {
        [HC_CLASS_CONV] = true,    [HC_CLASS_POOL] = true,        [HC_CLASS_BATCH_NORM] = true,
        [HC_CLASS_CONTROL] = true, [HC_CLASS_COLLECTIVE] = false, [HC_CLASS_QUANT] = false};
    return nchw && t->rank == 4 && has_images[hc_ops[call->op].class_];
}

void hc_question_place(const struct hc_call *call, bool nchw, const struct hc_tensor *t,
                       int64_t index, int64_t at[HC_MAX_RANK])
{
    for (int d = t->rank - 1; d >= 0; d--) {
        at[d] = index % t->shape[d];
        index /= t->shape[d];
    }
    if (!hc_question_turns(call, nchw, t))
        return;
    int64_t channel = at[3];
    at[3] = at[2];
    at[2] = at[1];
    at[1] = channel;
}

/* Turns the images of files into halfcheck's layout. Batch norm of [N, C, L] is that of
   [N, C, L, 1]. */
static enum hc_status turn(struct hc_question *q)
{
    for (int s = 0; s < hc_slot_count(q->call.op); s++) {
        struct hc_tensor *t = hc_slot_tensor(&q->call, s);
        if (q->nchw && t->rank == 3 && hc_ops[q->call.op].class_ == HC_CLASS_BATCH_NORM)
            t->shape[t->rank++] = 1;
        if (!t->data || !hc_question_turns(&q->call, q->nchw, t))
            continue;
        const int64_t *n = t->shape;
        struct hc_tensor to = hc_tensor4(t->format, n[0], n[2], n[3], n[1], NULL);
        to.data = hc_question_memory(q, hc_tensor_bytes(&to));
        if (!to.data)
            return HC_NO_MEMORY;
        hc_tensor_to_nhwc(t, &to);
        *t = to;
    }
    return HC_OK;
}

/* The format of an output that was not given, and its shape where that needs no rule. */
static struct hc_tensor missing_output(const struct hc_call *call, const struct hc_slot *slot)
{
    const struct hc_tensor *first = &call->in[HC_FIRST];
    struct hc_tensor t = *first;
    t.data = NULL;
    if (slot->format == HC_ALLOW_LIKE)
        t.format = call->in[slot->like].format;
    else if (slot->in_place)
        t.format = call->in[slot->like].format;
    else if (slot->format == HC_ALLOW_WIDE)
        t.format = hc_call_fp64(call) ? HC_FP64 : HC_FP32;
    else if (slot->format == HC_ALLOW_FP32)
        t.format = HC_FP32;
    else if (slot->format == HC_ALLOW_I32)
        t.format = HC_I32;
    if (slot->size == HC_SIZE_FIXED)
        return hc_tensor1(t.format, slot->count, NULL);
    if (slot->size == HC_SIZE_CHANNELS && first->rank > 0)
        return hc_tensor1(t.format, first->shape[first->rank - 1], NULL);
    return t;
}

/* Gives memory to the outputs that were not given and that a kernel needs: `exact` writes them. An
   optional one stays absent, unless the call has the input that it belongs to. */
static enum hc_status add_outputs(struct hc_question *q, bool computed)
{
    const struct hc_op_info *op = &hc_ops[q->call.op];
    const struct hc_descriptor *d = hc_descriptor(q->call.op);
    bool any = computed;
    for (int o = 0; o < op->outputs; o++)
        any = any || q->given[o];
    if (!any)
        return hc_fail(HC_INVALID, "judge: no output is given; give --out %s=FILE",
                       d->out[HC_FIRST].name);
    for (int o = 0; o < op->outputs; o++) {
        struct hc_tensor *t = &q->call.out[o];
        bool needed = !d->out[o].optional || (d->out[o].in_place && d->out[o].like != HC_FIRST &&
                                              q->call.in[d->out[o].like].data);
        if (t->data || !needed)
            continue;
        if (d->out[o].size == HC_SIZE_RULE)
            return hc_fail(HC_INVALID, "judge: %s needs %s, whose shape says what is computed",
                           op->name, d->out[o].name);
        *t = missing_output(&q->call, &d->out[o]);
        t->data = hc_question_memory(q, hc_tensor_bytes(t));
        if (!t->data)
            return HC_NO_MEMORY;
    }
    return HC_OK;
}

static enum hc_status check_inputs(const struct hc_call *call)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    for (int i = 0; i < op->inputs; i++) {
        const struct hc_slot *slot = hc_slot(call->op, i);
        char formats[HC_FORMATS_TEXT];
        if (!call->in[i].data && !slot->optional)
            return hc_fail(
                HC_INVALID, "judge: %s needs its input %s%s%s: %s; give --in %s=FILE", op->name,
                slot->name, slot->shape ? ", " : "", slot->shape ? slot->shape : "",
                hc_formats_text(hc_slot_formats(call->op, i, hc_call_fp64(call)), formats),
                slot->name);
    }
    return HC_OK;
}

/* What the file says of the call, and then what the words say. */
static enum hc_status read_parameters(struct hc_question *q, const struct hc_tensor_file *file,
                                      const struct hc_words *set)
{
    enum hc_status status = HC_OK;
    hc_params_usual(q->call.op, &q->call.params);
    for (int i = 0; file && i < file->metadata_count && status == HC_OK; i++) {
        const char *key = file->metadata[i].key;
        if (strncmp(key, HC_CASE_SET, strlen(HC_CASE_SET)) == 0)
            status = hc_question_set(q, key + strlen(HC_CASE_SET), file->metadata[i].value);
    }
    for (int i = 0; i < set->count && status == HC_OK; i++) {
        char name[64];
        const char *equals = strchr(set->word[i], '=');
        if (hc_is_setting(set->word[i])) {
            status = hc_setting_take(set->word[i]);
            continue;
        }
        if (!equals || (size_t)(equals - set->word[i]) >= sizeof name)
            return hc_fail(HC_INVALID, "judge: --set takes NAME=VALUE, not '%s'", set->word[i]);
        (void)snprintf(name, sizeof name, "%.*s", (int)(equals - set->word[i]), set->word[i]);
        status = hc_question_set(q, name, equals + 1);
    }
    return status;
}

/* A call that the usual rule refuses, where nobody has named one. */
static bool lacks_rule(enum hc_op op, const struct hc_words *set, const struct hc_tensor_file *file)
{
    bool named = !hc_op_param(op, "rule") || file;
    for (int i = 0; i < set->count; i++)
        named = named || strncmp(set->word[i], "rule=", strlen("rule=")) == 0;
    return !named;
}

static enum hc_status refuse(const struct hc_question *q, const struct hc_words *set,
                             const struct hc_tensor_file *file)
{
    char line[256];
    char rule[128] = "";
    (void)snprintf(line, sizeof line, "%s", hc_message());
    const char *bytes = hc_question_bytes(&q->call);
    if (!bytes && lacks_rule(q->call.op, set, file))
        (void)snprintf(rule, sizeof rule, "; %s is the rule where none is named: --set rule=RULE",
                       hc_op_param(q->call.op, "rule")->usual);
    return hc_fail(HC_INVALID, "%s%s%s%s%s%s", line,
                   q->nchw && strchr(line, '[') ? " (with channels last)" : "",
                   bytes ? "; say what the bytes are: --set " : "", bytes ? bytes : "",
                   bytes ? "=FORMAT" : "", rule);
}

static enum hc_status ask(struct hc_question *q, const struct hc_question_words *words,
                          const struct hc_tensor_file *file, bool computed)
{
    enum hc_status status = hc_kept_layout(q, file, words->layout);
    if (status == HC_OK)
        status = hc_question_fill(q, words);
    if (status == HC_OK)
        status = read_parameters(q, file, &words->set);
    if (status == HC_OK)
        status = turn(q);
    if (status == HC_OK)
        status = check_inputs(&q->call);
    if (status == HC_OK)
        status = add_outputs(q, computed);
    if (status == HC_OK && hc_call_check(&q->call) != HC_OK)
        status = refuse(q, &words->set, file);
    return status == HC_OK && file ? hc_kept_element(q, file) : status;
}

enum hc_status hc_question_ask(struct hc_question *q, const struct hc_question_words *words,
                               bool computed)
{
    const struct hc_tensor_file *file = NULL;
    enum hc_status status = HC_OK;
    *q = (struct hc_question){.call.op = words->op, .only_out = -1, .only = -1};
    if (words->tensors)
        status = hc_question_file(q, words->tensors, &file);
    if (status == HC_OK && (int)q->call.op == HC_OP_COUNT)
        status = hc_kept_op(q, file, words->tensors);
    if (status == HC_OK)
        status = ask(q, words, file, computed);
    if (words->accumulator)
        q->accumulator = words->accumulator;
    else
        q->accumulator = file ? hc_tensor_file_metadata(file, HC_CASE_ACCUMULATOR) : NULL;
    return status;
}
