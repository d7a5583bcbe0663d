/* Numbers on the command line: parameters, elements of small inputs, and accumulators. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/judge/question.h"
#include "op/descriptor.h"
#include "op/params.h"

/* Codes in files. No file has a type for codes of less than 8 bits, nor for ue4m3: they come as
   bytes (U8), or scales of NVFP4 as e4m3 without a sign, and `--set codes=e2m1` says what the bytes
   are. Formats of one byte that a file can name may be said in the same way. */

/* -1: none. */
static int question_slot(enum hc_op op, const char *name)
{
    for (int s = 0; s < hc_slot_count(op); s++)
        if (strcmp(hc_slot(op, s)->name, name) == 0)
            return s;
    return -1;
}

const char *hc_question_bytes(const struct hc_call *call)
{
    const unsigned takes = 1U << HC_E4M3 | 1U << HC_UE4M3;
    for (int s = 0; s < hc_slot_count(call->op); s++) {
        const struct hc_tensor *t = hc_slot_tensor_const(call, s);
        unsigned formats = hc_slot_formats(call->op, s, false);
        if (t->data && t->format == HC_U8 && !(formats >> HC_U8 & 1) && (formats & takes))
            return hc_slot(call->op, s)->name;
    }
    return NULL;
}

/* Bits beyond the format's would be read as another code. */
static enum hc_status check_bits(const char *name, const struct hc_tensor *t, enum hc_format format)
{
    const unsigned char *bytes = t->data;
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        if (bytes[i] >> hc_formats[format].bits != 0)
            return hc_fail(
                HC_INVALID, "judge: %s holds %02x at place %lld, and a code of %s has %d bits",
                name, bytes[i], (long long)i, hc_formats[format].name, hc_formats[format].bits);
    return HC_OK;
}

/* Says that the bytes of a slot are codes of the format that `value` names. HC_INVALID where they
   cannot be. */
static enum hc_status question_format(struct hc_question *q, int slot, const char *value)
{
    const char *name = hc_slot(q->call.op, slot)->name;
    struct hc_tensor *t = hc_slot_tensor(&q->call, slot);
    enum hc_format format = hc_format_by_name(value);
    if (format == HC_FORMAT_COUNT || hc_formats[format].bytes != 1 ||
        hc_is_integer(&hc_formats[format]))
        return hc_fail(HC_INVALID,
                       "judge: '%s' is no format of one byte, which --set %s takes; see: "
                       "halfcheck list formats",
                       value, name);
    if (!t->data)
        return hc_fail(HC_INVALID, "judge: %s is set to %s, but not given", name, value);
    if (t->format != HC_U8 && (t->format != HC_E4M3 || format != HC_UE4M3) && t->format != format)
        return hc_fail(HC_INVALID, "judge: %s is %s, and only bytes can be codes", name,
                       hc_formats[t->format].name);
    enum hc_status status = check_bits(name, t, format);
    t->format = status == HC_OK ? format : t->format;
    return status;
}

/* The small input, and its element, that has this name. */
static int small_input(enum hc_op op, const char *name, int *element)
{
    for (int s = 0; s < hc_ops[op].inputs; s++) {
        const struct hc_slot *slot = hc_slot(op, s);
        if (slot->size != HC_SIZE_FIXED)
            continue;
        *element = 0;
        if (slot->count == 1 && strcmp(slot->name, name) == 0)
            return s;
        for (int e = 0; slot->elements && e < slot->count; e++)
            if (strcmp(slot->elements[e], name) == 0) {
                *element = e;
                return s;
            }
    }
    return -1;
}

static enum hc_format format_of(const struct hc_call *call, int slot)
{
    bool fp64 = hc_call_fp64(call);
    unsigned formats = hc_slot_formats(call->op, slot, fp64);
    for (int f = 0; f < HC_FORMAT_COUNT; f++)
        if (formats >> f & 1)
            return (enum hc_format)f;
    return HC_FP32;
}

/* The hyperparameters that PyTorch has where nobody says them, at the first step. */
static void set_usual(struct hc_tensor *hyper, enum hc_op op)
{
    hc_tensor_set(hyper, HC_HYPER_LR, 1e-3);
    hc_tensor_set(hyper, HC_HYPER_BETA1, op == HC_OP_sgd ? 0 : 0.9);
    hc_tensor_set(hyper, HC_HYPER_STEP, 1);
}

/* Makes a small input and what it holds as it was given. */
static bool have_numbers(struct hc_question *q, int slot)
{
    struct hc_tensor *t = &q->call.in[slot];
    struct hc_tensor *n = &q->numbers[slot];
    bool usual = !t->data && hc_slot(q->call.op, slot)->values == HC_VALUES_HYPER;
    if (n->data)
        return true;
    if (!t->data) {
        *t = hc_tensor1(format_of(&q->call, slot), hc_slot(q->call.op, slot)->count, NULL);
        t->data = hc_question_memory(q, hc_tensor_bytes(t));
    }
    *n = hc_tensor1(HC_FP64, hc_tensor_count(t), NULL);
    n->data = hc_question_memory(q, hc_tensor_bytes(n));
    if (!t->data || !n->data)
        return false;
    for (int64_t e = 0; e < hc_tensor_count(t); e++)
        hc_tensor_set(n, e, hc_tensor_get(t, e));
    if (usual) {
        set_usual(t, q->call.op);
        set_usual(n, q->call.op);
    }
    return true;
}

enum hc_status hc_question_set(struct hc_question *q, const char *name, const char *value)
{
    int element;
    char *end;
    int slot = small_input(q->call.op, name, &element);
    bool parameter = false;
    for (const struct hc_param *p = hc_op_params(q->call.op); p->name; p++)
        parameter = parameter || strcmp(p->name, name) == 0;
    int codes = parameter || slot >= 0 ? -1 : question_slot(q->call.op, name);
    if (codes >= 0)
        return question_format(q, codes, value);
    if (parameter || slot < 0)
        return hc_param_read(q->call.op, &q->call.params, name, value);
    double number = strtod(value, &end);
    if (end == value || *end)
        return hc_fail(HC_INVALID, "judge: %s takes a number, not '%s'", name, value);
    if (!have_numbers(q, slot))
        return HC_NO_MEMORY;
    if (element >= hc_tensor_count(&q->call.in[slot]))
        return hc_fail(HC_INVALID, "judge: %s has too few elements to set %s",
                       hc_slot(q->call.op, slot)->name, name);
    hc_tensor_set(&q->call.in[slot], element, number);
    hc_tensor_set(&q->numbers[slot], element, number);
    return HC_OK;
}

enum hc_status hc_accumulator_read(const char *text, struct hc_call *call,
                                   struct hc_accumulator *accumulator)
{
    char cut[8] = "";
    struct hc_accumulator a = {.precision = 24, .block = 1};
    int length = 0;
    if (!text || strcmp(text, "fp32") == 0) {
        *accumulator = a;
        return HC_OK;
    }
    if (strcmp(text, "half") == 0) {
        enum hc_format format = call->in[HC_FIRST].format;
        *accumulator =
            (struct hc_accumulator){.precision = hc_formats[format].precision, .block = 1};
        enum hc_op_class class_ = hc_ops[call->op].class_;
        if (class_ == HC_CLASS_REDUCTION || class_ == HC_CLASS_GEMM ||
            class_ == HC_CLASS_COLLECTIVE)
            hc_call_compute_in(call, format);
        return hc_call_check(call);
    }
    int n = sscanf(text, "%d,%d%n,%d%n,%7[a-z]%n", &a.precision, &a.block, &length, &a.extra_bits,
                   &length, cut, &length);
    a.truncates = strcmp(cut, "cut") == 0;
    if (n < 2 || text[length] || (cut[0] && !a.truncates) || a.precision < 2 || a.precision > 53 ||
        a.block < 1 || a.block > 65536 || a.extra_bits < 0 || a.extra_bits > 60)
        return hc_fail(HC_INVALID,
                       "--accumulator takes fp32, half, or PRECISION,BLOCK[,EXTRA[,cut]], "
                       "not '%s'",
                       text);
    *accumulator = a;
    return HC_OK;
}
