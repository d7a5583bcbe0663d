/* The inputs of an element, and where it is. */
#include <stdio.h>
#include <string.h>

#include "cli/judge/answer.h"
#include "op/descriptor.h"

const char *hc_answer_place(const struct hc_answer *answer, int out, int64_t index,
                            char text[HC_PLACE_TEXT])
{
    const struct hc_call *call = answer->judge->call;
    int64_t at[HC_MAX_RANK];
    hc_question_place(call, answer->question->nchw, &call->out[out], index, at);
    int used = snprintf(text, HC_PLACE_TEXT, "%s[", hc_descriptor(call->op)->out[out].name);
    for (int d = 0; d < call->out[out].rank; d++)
        used += snprintf(text + used, HC_PLACE_TEXT - (size_t)used, "%s%lld", d ? ", " : "",
                         (long long)at[d]);
    (void)snprintf(text + used, HC_PLACE_TEXT - (size_t)used, "]");
    return text;
}

void hc_answer_inputs(const struct hc_answer *answer, int out, int64_t index, hc_tell_input *tell,
                      void *context)
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
