/* What the file of a kept case says of its call. */
#include <stdlib.h>
#include <string.h>

#include "cli/judge/question.h"
#include "op/descriptor.h"

/* Which element the file is about: its coordinates in the file's layout. */
enum hc_status hc_kept_element(struct hc_question *q, const struct hc_tensor_file *file)
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

enum hc_status hc_kept_layout(struct hc_question *q, const struct hc_tensor_file *file, int layout)
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
enum hc_status hc_kept_op(struct hc_question *q, const struct hc_tensor_file *file,
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
