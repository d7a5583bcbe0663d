#include "cli/judge/question.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/lines.h"
#include "op/descriptor.h"
#include "op/params.h"
#include "op/rule.h"
#include "settings.h"

/* The slots of a call, filled from files and from numbers on the command line. */

enum hc_status hc_question_file(struct hc_question *q, const char *path,
                                const struct hc_tensor_file **file)
{
    for (int i = 0; i < q->files; i++)
        if (strcmp(q->path[i], path) == 0) {
            *file = &q->file[i];
            return HC_OK;
        }
    if (q->files == HC_QUESTION_FILES)
        return hc_fail(HC_INVALID, "judge: more than %d files", HC_QUESTION_FILES);
    q->path[q->files] = path;
    *file = &q->file[q->files];
    return hc_tensor_file_read(&q->file[q->files++], path);
}

/* Appends "a, b, c" of the names of the op's slots from first to end - 1. */
static const char *slot_names(enum hc_op op, int first, int end, char text[256])
{
    text[0] = '\0';
    for (int s = first; s < end; s++) {
        hc_append(text, 256, "%s%s", text[0] ? ", " : "", hc_slot(op, s)->name);
    }
    return text;
}

enum hc_status hc_question_tensor(const struct hc_tensor_file *file, const char *path,
                                  const char *name, const char *slot, struct hc_tensor *t)
{
    const struct hc_named_tensor *found = NULL;
    for (int i = 0; i < file->count; i++)
        if (strcmp(file->tensors[i].name, name[0] ? name : slot) == 0)
            found = &file->tensors[i];
    if (!found && !name[0] && file->count == 1)
        found = &file->tensors[0];
    if (!found && name[0])
        return hc_fail(HC_INVALID, "judge: %s has no tensor '%s'", path, name);
    if (!found)
        return hc_fail(HC_INVALID,
                       "judge: %s has %d tensors and none is called %s; name one: %s=%s:TENSOR",
                       path, file->count, slot, slot, path);
    if (found->unread)
        return hc_fail(HC_INVALID, "judge: tensor '%s' of %s cannot be read: %s", found->name, path,
                       found->unread);
    *t = found->tensor;
    if (t->rank == 0)
        *t = hc_tensor1(t->format, 1, t->data);
    return HC_OK;
}

void hc_question_part(char *text, const char **tensor)
{
    *tensor = "";
    if (access(text, F_OK) == 0)
        return;
    size_t length = strlen(text);
    for (size_t at = length; at > 0; at--) {
        if (text[at] != ':')
            continue;
        text[at] = '\0';
        if (access(text, F_OK) == 0) {
            *tensor = text + at + 1;
            return;
        }
        text[at] = ':';
    }
}

/* The slot that the text before '=' names, -1 if it names none. */
static int slot_of(enum hc_op op, int first, int end, const char *word)
{
    for (int s = first; s < end; s++) {
        size_t length = strlen(hc_slot(op, s)->name);
        if (strncmp(word, hc_slot(op, s)->name, length) == 0 && word[length] == '=')
            return s;
    }
    return -1;
}

static bool is_name(const char *word)
{
    size_t length = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return length > 0 && word[length] == '=';
}

/* Fills the slots from first to end - 1 by words of one option. */
static enum hc_status fill_tensor(struct hc_question *q, const struct hc_words *words, int first,
                                  int end)
{
    enum hc_op op = q->call.op;
    const char *option = first == 0 ? "--in" : "--out";
    int next = first;
    for (int i = 0; i < words->count; i++) {
        const char *word = words->word[i];
        const struct hc_tensor_file *file;
        const char *tensor;
        char names[256];
        int slot = slot_of(op, first, end, word);
        if (slot < 0 && is_name(word) && access(word, F_OK) != 0)
            return hc_fail(HC_INVALID, "judge: %s %s: the slots of %s are %s", option, word,
                           hc_ops[op].name, slot_names(op, first, end, names));
        bool named = slot >= 0;
        while (!named && next < end && hc_slot_tensor(&q->call, next)->data)
            next++;
        if (!named && next == end)
            return hc_fail(HC_INVALID, "judge: %s takes at most %d: %s", option, end - first,
                           slot_names(op, first, end, names));
        slot = named ? slot : next;
        const char *rest = named ? strchr(word, '=') + 1 : word;
        char *path = hc_question_memory(q, strlen(rest) + 1);
        if (!path)
            return HC_NO_MEMORY;
        memcpy(path, rest, strlen(rest) + 1);
        hc_question_part(path, &tensor);
        struct hc_tensor *t = hc_slot_tensor(&q->call, slot);
        if (t->data)
            return hc_fail(HC_INVALID, "judge: %s is given twice", hc_slot(op, slot)->name);
        enum hc_status status = hc_question_file(q, path, &file);
        if (status == HC_OK)
            status = hc_question_tensor(file, path, tensor, hc_slot(op, slot)->name, t);
        if (status != HC_OK)
            return status;
    }
    return HC_OK;
}

/* Takes the tensors of one file that are named as slots. Others are left alone. */
static enum hc_status fill_by_name(struct hc_question *q, const struct hc_tensor_file *file,
                                   const char *path)
{
    enum hc_status status = HC_OK;
    for (int s = 0; s < hc_slot_count(q->call.op); s++) {
        const char *slot = hc_slot(q->call.op, s)->name;
        struct hc_tensor *to = hc_slot_tensor(&q->call, s);
        for (int i = 0; i < file->count && !to->data && status == HC_OK; i++)
            if (strcmp(file->tensors[i].name, slot) == 0)
                status = hc_question_tensor(file, path, slot, slot, to);
    }
    return status;
}

/* Gives an output memory of its own where the same tensor was given for another slot, too. */
static enum hc_status part_outputs(struct hc_question *q)
{
    int inputs = hc_ops[q->call.op].inputs;
    for (int o = inputs; o < hc_slot_count(q->call.op); o++) {
        struct hc_tensor *t = hc_slot_tensor(&q->call, o);
        bool shared = false;
        for (int s = 0; s < o && t->data; s++)
            shared = shared || hc_slot_tensor(&q->call, s)->data == t->data;
        void *own = shared ? hc_question_memory(q, hc_tensor_bytes(t)) : NULL;
        if (shared && !own)
            return HC_NO_MEMORY;
        if (shared)
            t->data = memcpy(own, t->data, hc_tensor_bytes(t));
    }
    return HC_OK;
}

/* Fills the slots from the words. */
static enum hc_status question_fill(struct hc_question *q, const struct hc_question_words *words)
{
    int inputs = hc_ops[q->call.op].inputs;
    int all = hc_slot_count(q->call.op);
    const struct hc_tensor_file *file;
    enum hc_status status = fill_tensor(q, &words->in, 0, inputs);
    if (status == HC_OK)
        status = fill_tensor(q, &words->out, inputs, all);
    if (status == HC_OK && words->tensors) {
        status = hc_question_file(q, words->tensors, &file);
        if (status == HC_OK)
            status = fill_by_name(q, file, words->tensors);
    }
    for (int o = 0; o < all - inputs; o++)
        q->given[o] = q->call.out[o].data != NULL;
    return status == HC_OK ? part_outputs(q) : status;
}

/* What the file of a kept case says of its call. */

/* Which element the file is about: its coordinates in the file's layout. */
static enum hc_status kept_element(struct hc_question *q, const struct hc_tensor_file *file)
{
    const char *slot = hc_tensor_file_metadata(file, HC_CASE_OUTPUT);
    const char *at = hc_tensor_file_metadata(file, HC_CASE_ELEMENT);
    int out = 0;
    if (!slot || !at)
        return HC_OK;
    while (out < hc_ops[q->call.op].outputs &&
           strcmp(hc_descriptor(q->call.op)->out[out].name, slot) != 0)
        out++;
    if (out == hc_ops[q->call.op].outputs)
        return hc_fail(HC_INVALID, "judge: %s has no output %s", hc_ops[q->call.op].name, slot);
    const struct hc_tensor *t = &q->call.out[out];
    bool turned = hc_question_turns(&q->call, q->nchw, t);
    static const int own[] = {0, 3, 1, 2}; /* where a file's dimension is in halfcheck's layout */
    int64_t place[HC_MAX_RANK] = {0};
    for (int d = 0; d < t->rank; d++) {
        char *end;
        int to = turned ? own[d] : d;
        place[to] = strtoll(at, &end, 10);
        if (end == at || place[to] < 0 || place[to] >= t->shape[to] ||
            *end != (d == t->rank - 1 ? '\0' : ','))
            return hc_fail(HC_INVALID, "judge: %s[%s] is no element", slot, at);
        at = end + 1;
    }
    q->only = 0;
    for (int d = 0; d < t->rank; d++)
        q->only = q->only * t->shape[d] + place[d];
    q->only_out = out;
    return HC_OK;
}

static enum hc_status kept_layout(struct hc_question *q, const struct hc_tensor_file *file,
                                  int layout)
{
    const char *name = file ? hc_tensor_file_metadata(file, HC_CASE_LAYOUT) : NULL;
    if (layout >= 0)
        name = hc_layout_names[layout];
    q->nchw = !name || strcmp(name, hc_layout_names[0]) == 0;
    return !name || q->nchw || strcmp(name, hc_layout_names[1]) == 0
               ? HC_OK
               : hc_fail(HC_INVALID, "judge: a layout is nchw or nhwc, not '%s'", name);
}

/* The op that a kept call is about. */
static enum hc_status kept_op(struct hc_question *q, const struct hc_tensor_file *file,
                              const char *path)
{
    const char *name = hc_tensor_file_metadata(file, HC_CASE_OP);
    if (!name)
        return hc_fail(HC_INVALID,
                       "judge: %s does not say which op it is about (metadata " HC_CASE_OP
                       "); name one: halfcheck judge OP --tensors FILE",
                       path);
    q->call.op = hc_op_by_name(name);
    return (int)q->call.op < HC_OP_COUNT
               ? HC_OK
               : hc_fail(HC_INVALID, "judge: %s is about '%s', which is no op", path, name);
}

/* The question as a whole. */

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

/* Kernels of elementwise ops take any shape of so many elements. People do not: 3x2 for 2x3 is a
   transposed result. A list of numbers has no shape, and is taken as it comes. */
static enum hc_status check_shapes(const struct hc_call *call)
{
    const struct hc_tensor *first = &call->in[HC_FIRST];
    for (int s = 1; s < hc_slot_count(call->op); s++) {
        const struct hc_slot *slot = hc_slot(call->op, s);
        const struct hc_tensor *t = hc_slot_tensor((struct hc_call *)call, s);
        char want[HC_SHAPE_TEXT];
        char got[HC_SHAPE_TEXT];
        if (!t->data || slot->size != HC_SIZE_FIRST || t->rank < 2 || first->rank < 2)
            continue;
        if (t->rank != first->rank ||
            memcmp(t->shape, first->shape, (size_t)t->rank * sizeof t->shape[0]) != 0)
            return hc_fail(HC_INVALID, "%s: %s has shape %s, not %s as %s", hc_ops[call->op].name,
                           slot->name, hc_shape_text(t, got), hc_shape_text(first, want),
                           hc_slot(call->op, HC_FIRST)->name);
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

static enum hc_status refuse_tensor(const struct hc_question *q, const struct hc_words *set,
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
    enum hc_status status = kept_layout(q, file, words->layout);
    if (status == HC_OK)
        status = question_fill(q, words);
    if (status == HC_OK)
        status = read_parameters(q, file, &words->set);
    if (status == HC_OK)
        status = turn(q);
    if (status == HC_OK)
        status = check_inputs(&q->call);
    if (status == HC_OK)
        status = add_outputs(q, computed);
    if (status == HC_OK)
        status = check_shapes(&q->call);
    if (status == HC_OK && hc_call_check(&q->call) != HC_OK)
        status = refuse_tensor(q, &words->set, file);
    return status == HC_OK && file ? kept_element(q, file) : status;
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
        status = kept_op(q, file, words->tensors);
    if (status == HC_OK)
        status = ask(q, words, file, computed);
    if (words->accumulator)
        q->accumulator = words->accumulator;
    else
        q->accumulator = file ? hc_tensor_file_metadata(file, HC_CASE_ACCUMULATOR) : NULL;
    return status;
}
