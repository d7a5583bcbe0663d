/* Codes in files. No file has a type for codes of less than 8 bits, nor for ue4m3: they come as
   bytes (U8), or scales of NVFP4 as e4m3 without a sign, and `--set codes=e2m1` says what the bytes
   are. Formats of one byte that a file can name may be said in the same way. */
#include <string.h>

#include "cli/judge/question.h"
#include "op/descriptor.h"

int hc_question_slot(enum hc_op op, const char *name)
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

enum hc_status hc_question_format(struct hc_question *q, int slot, const char *value)
{
    const char *name = hc_slot(q->call.op, slot)->name;
    struct hc_tensor *t = hc_slot_tensor(&q->call, slot);
    enum hc_format format = hc_format_by_name(value);
    if (format == HC_FORMAT_COUNT || hc_formats[format].bytes != 1 ||
        hc_is_integer(&hc_formats[format]))
        return hc_fail(HC_INVALID,
                       "judge: '%s' is no format of one byte, of which %s may be said "
                       "to be; see: halfcheck list formats",
                       value, name);
    if (!t->data)
        return hc_fail(HC_INVALID, "judge: %s is set to %s, but not given", name, value);
    if (t->format != HC_U8 && (t->format != HC_E4M3 || format != HC_UE4M3) && t->format != format)
        return hc_fail(HC_INVALID, "judge: %s is %s, and only bytes can be said to be codes", name,
                       hc_formats[t->format].name);
    enum hc_status status = check_bits(name, t, format);
    t->format = status == HC_OK ? format : t->format;
    return status;
}
