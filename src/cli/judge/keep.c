/* Keeping the smallest sub-problem that still fails. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/judge/answer.h"
#include "cli/lines.h"
#include "op/descriptor.h"
#include "op/params.h"
#include "op/text.h"

enum { MAX_TENSORS = HC_MAX_IN + HC_MAX_OUT, MAX_METADATA = 32 };

/* The texts of a kept case. */
struct texts {
    struct hc_metadata row[MAX_METADATA];
    int count;
    char key[MAX_METADATA][64];
    char value[MAX_METADATA][HC_PARAM_TEXT];
};

static void add_text(struct texts *texts, const char *before, const char *key, const char *value)
{
    int i = texts->count++;
    (void)snprintf(texts->key[i], sizeof texts->key[i], "%s%s", before, key);
    (void)snprintf(texts->value[i], sizeof texts->value[i], "%s", value);
    texts->row[i] = (struct hc_metadata){texts->key[i], texts->value[i]};
}

/* Numbers that fp32 does not hold, in hex. */
static void add_numbers(struct texts *texts, const struct hc_question *q)
{
    for (int i = 0; i < hc_ops[q->call.op].inputs; i++) {
        const struct hc_tensor *n = &q->numbers[i];
        const struct hc_slot *slot = hc_slot(q->call.op, i);
        for (int64_t e = 0; n->data && e < hc_tensor_count(n); e++) {
            char text[HC_PARAM_TEXT];
            (void)snprintf(text, sizeof text, "%a", hc_tensor_get(n, e));
            if (hc_tensor_get(n, e) != hc_tensor_get(&q->call.in[i], e))
                add_text(texts, HC_CASE_SET, slot->elements ? slot->elements[e] : slot->name, text);
        }
    }
}

/* Inputs are kept, the judged output, and outputs whose shape says what is computed. */
static bool is_kept(const struct hc_cut *cut, int slot)
{
    const struct hc_call *call = &cut->call;
    int out = slot - hc_ops[call->op].inputs;
    return hc_slot_tensor_const(call, slot)->data &&
           (out < 0 || out == cut->out || hc_slot(call->op, slot)->size == HC_SIZE_RULE);
}

/* Formats of less than 8 bits, which a file holds as bytes. */
static void add_formats(struct texts *texts, const struct hc_cut *cut)
{
    for (int s = 0; s < hc_slot_count(cut->call.op); s++) {
        const struct hc_format_info *f = &hc_formats[hc_slot_tensor_const(&cut->call, s)->format];
        if (is_kept(cut, s) && f->bytes == 1 && f->bits < 8)
            add_text(texts, HC_CASE_SET, hc_slot(cut->call.op, s)->name, f->name);
    }
}

static void add_texts(struct texts *texts, const struct hc_answer *answer, const struct hc_cut *cut)
{
    const struct hc_question *q = answer->question;
    const struct hc_call *call = &cut->call;
    const struct hc_tensor *t = &call->out[cut->out];
    char text[HC_PARAM_TEXT] = "";
    int64_t at[HC_MAX_RANK];
    add_text(texts, "", HC_CASE_OP, hc_ops[call->op].name);
    add_text(texts, "", HC_CASE_LAYOUT, hc_layout_names[q->nchw ? 0 : 1]);
    if (q->accumulator)
        add_text(texts, "", HC_CASE_ACCUMULATOR, q->accumulator);
    add_text(texts, "", HC_CASE_OUTPUT, hc_descriptor(call->op)->out[cut->out].name);
    hc_question_place(call, q->nchw, t, cut->index, at);
    for (int d = 0; d < t->rank; d++) {
        hc_append(text, sizeof text, "%s%lld", d ? "," : "", (long long)at[d]);
    }
    add_text(texts, "", HC_CASE_ELEMENT, text);
    for (const struct hc_param *p = hc_op_params(call->op); p->name; p++) {
        hc_param_text(p, &call->params, text);
        add_text(texts, HC_CASE_SET, p->name, text);
    }
    add_numbers(texts, q);
    add_formats(texts, cut);
}

/* The tensor in the files' layout; false if there is no memory. The caller frees *block. */
static bool in_layout(const struct hc_call *call, bool nchw, struct hc_tensor *t, void **block)
{
    const int64_t *n = t->shape;
    *block = NULL;
    if (!hc_question_turns(call, nchw, t))
        return true;
    struct hc_tensor to = hc_tensor4(t->format, n[0], n[3], n[1], n[2], NULL);
    to.data = *block = malloc(hc_tensor_bytes(&to) + 1);
    if (to.data)
        hc_tensor_to_nchw(t, &to);
    *t = to;
    return to.data != NULL;
}

static enum hc_status write_case(const struct hc_answer *answer, const struct hc_cut *cut,
                                 const char *path)
{
    struct hc_named_tensor tensors[MAX_TENSORS];
    void *blocks[MAX_TENSORS];
    int count = 0;
    bool good = true;
    for (int s = 0; s < hc_slot_count(cut->call.op); s++) {
        struct hc_named_tensor one = {.name = hc_slot(cut->call.op, s)->name,
                                      .tensor = *hc_slot_tensor_const(&cut->call, s)};
        if (!is_kept(cut, s))
            continue;
        good = in_layout(&cut->call, answer->question->nchw, &one.tensor, &blocks[count]) && good;
        tensors[count++] = one;
    }
    struct texts *texts = calloc(1, sizeof *texts);
    enum hc_status status = HC_NO_MEMORY;
    if (texts && good) {
        add_texts(texts, answer, cut);
        status = hc_safetensors_write(path, tensors, count, texts->row, texts->count);
    }
    free(texts);
    for (int i = 0; i < count; i++)
        free(blocks[i]);
    return status;
}

enum hc_status hc_answer_keep(struct hc_answer *answer, const char *path)
{
    struct hc_cut cut;
    char word[4096];
    int out = answer->worst;
    enum hc_status status = hc_cut_down(&cut, answer->judge, out, answer->output[out].worst.index);
    if (status == HC_OK)
        status = write_case(answer, &cut, path);
    answer->small = cut.call;
    if (status == HC_OK && hc_text_shell(word, sizeof word, path)) {
        answer->kept = path;
        /* Without the backend nothing flushes: then the line that was typed gives the verdict. */
        if (!answer->flushed)
            (void)snprintf(answer->repro, sizeof answer->repro, "halfcheck judge %s", word);
    }
    hc_cut_close(&cut);
    return status;
}
