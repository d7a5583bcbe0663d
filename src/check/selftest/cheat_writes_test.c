/* Backends that cheat in what they write: over inputs, beside outputs and scratch, too little, or
   although they refuse. */
#include "check/selftest/testing.h"

static bool is_also_output(const struct hc_call *call, int i)
{
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        if (call->out[o].data == call->in[i].data)
            return true;
    return false;
}

static enum hc_status inputs_in_bf16(struct hc_queue *queue, const struct hc_call *call)
{
    for (int i = 0; i < hc_ops[call->op].inputs; i++) {
        const struct hc_tensor *t = &call->in[i];
        int64_t n = t->data && !is_also_output(call, i) ? hc_tensor_count(t) : 0;
        for (int64_t k = 0; k < n && t->format != HC_I32; k++) {
            uint64_t was = hc_tensor_bits(t, k);
            hc_tensor_set(t, k, hc_round(HC_BF16, hc_tensor_get(t, k)));
            did |= hc_tensor_bits(t, k) != was;
        }
    }
    return right(queue, call);
}

static enum hc_status inputs_zeroed(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_status status = right(queue, call);
    for (int i = 0; i < hc_ops[call->op].inputs; i++) {
        unsigned char *bytes = call->in[i].data;
        size_t n = bytes && !is_also_output(call, i) ? hc_tensor_bytes(&call->in[i]) : 0;
        for (size_t k = 0; k < n; k++) {
            did |= bytes[k] != 0;
            bytes[k] = 0;
        }
    }
    return status;
}

/* Zero in the element before the first one, or behind the last one, of each output. */
static enum hc_status beside(struct hc_queue *queue, const struct hc_call *call, bool behind)
{
    enum hc_status status = right(queue, call);
    for (int o = 0; o < hc_ops[call->op].outputs; o++) {
        const struct hc_tensor *t = &call->out[o];
        if (!t->data)
            continue;
        hc_tensor_set_bits(t, behind ? hc_tensor_count(t) : -1, 0);
        did = true;
    }
    return status;
}

static enum hc_status one_behind(struct hc_queue *queue, const struct hc_call *call)
{
    return beside(queue, call, true);
}

static enum hc_status one_before(struct hc_queue *queue, const struct hc_call *call)
{
    return beside(queue, call, false);
}

/* The first so many of each output's elements. Those updated in place stay as they were. */
static enum hc_status part(struct hc_queue *queue, const struct hc_call *call, int of)
{
    struct hc_call aside = *call;
    const struct hc_op_info *op = &hc_ops[call->op];
    for (int o = 0; o < op->outputs; o++)
        if (aside.out[o].data)
            aside.out[o].data = malloc(hc_tensor_bytes(&aside.out[o]) + 1);
    enum hc_status status = right(queue, &aside);
    for (int o = 0; o < op->outputs; o++) {
        if (!aside.out[o].data)
            continue;
        int64_t n = hc_tensor_count(&aside.out[o]);
        int64_t some = of ? n / of : 0;
        size_t bytes = (size_t)(some * hc_formats[aside.out[o].format].bytes);
        size_t rest = hc_tensor_bytes(&aside.out[o]) - bytes;
        unsigned char *to = call->out[o].data;
        const unsigned char *from = aside.out[o].data;
        did |= memcmp(to + bytes, from + bytes, rest) != 0;
        memcpy(to, from, bytes);
        free(aside.out[o].data);
    }
    return status;
}

static enum hc_status nothing(struct hc_queue *queue, const struct hc_call *call)
{
    return part(queue, call, 0);
}

static enum hc_status first_half(struct hc_queue *queue, const struct hc_call *call)
{
    return part(queue, call, 2);
}

/* Computes for outputs that it has not seen, and thinks that the others have their results. */
static enum hc_status once_by_pointer(struct hc_queue *queue, const struct hc_call *call)
{
    static const void *seen;
    if (seen == call->out[HC_FIRST].data)
        return nothing(queue, call);
    seen = call->out[HC_FIRST].data;
    return right(queue, call);
}

static enum hc_status refuses_and_writes(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_tensor was = call->out[HC_FIRST];
    size_t bytes = hc_tensor_bytes(&was);
    was.data = malloc(bytes + 1);
    memcpy(was.data, call->out[HC_FIRST].data, bytes);
    (void)right(queue, call);
    did |= calls++ == 0 && memcmp(was.data, call->out[HC_FIRST].data, bytes) != 0;
    free(was.data);
    return hc_fail(HC_UNSUPPORTED, "%s is not for me", hc_ops[call->op].name);
}

static enum hc_status dirties_scratch(struct hc_queue *queue, const struct hc_call *call)
{
    unsigned char *scratch = call->scratch;
    enum hc_status status = right(queue, call);
    scratch[more_scratch(queue, call)] = 0;
    did = true;
    return status;
}

static const struct cheat cheats[] = {
    {"rounds its inputs to bf16 in place", inputs_in_bf16, NULL, "changed its input"},
    {"zeroes its inputs after a right result", inputs_zeroed, NULL, "changed its input"},
    {"writes one element behind", one_behind, NULL, "wrote behind out"},
    {"writes one element before", one_before, NULL, "wrote before out"},
    {"writes nothing", nothing, NULL, "unwritten"},
    {"writes the first half", first_half, NULL, "unwritten"},
    {"computes once by pointer", once_by_pointer, NULL, "unwritten"},
    {"refuses, and writes", refuses_and_writes, NULL, "is unsupported, and wrote"},
    {"writes behind its scratch", dirties_scratch, more_scratch, "wrote behind scratch"},
};

Test(cheat_writes, fails_every_case_in_which_it_happens)
{
    for (size_t i = 0; i < sizeof cheats / sizeof cheats[0]; i++)
        run(&cheats[i], false, HC_STANDARD);
}

Test(cheat_writes, fails_on_a_backend_with_memory_of_its_own)
{
    for (size_t i = 0; i < sizeof cheats / sizeof cheats[0]; i++)
        run(&cheats[i], true, HC_QUICK);
}
