/* What was found out about backends at the start of a run, by their names, since copies of a
   backend have its name. It is written before the first case runs, and only read then. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "backend.h"

enum { MAX_FOUND = 128 };

static struct found {
    char backend[64];
    enum hc_format format;
    struct hc_accumulator accumulator;
    char doubt[260];
} all[MAX_FOUND];
static int count;

static struct found *find(const char *backend, enum hc_format format)
{
    for (int i = 0; i < count; i++)
        if (all[i].format == format && strcmp(all[i].backend, backend) == 0)
            return &all[i];
    return NULL;
}

void hc_backend_found(const char *backend, enum hc_format format,
                      const struct hc_accumulator *accumulator, const char *doubt)
{
    struct found *f = find(backend, format);
    if (!f && (count == MAX_FOUND || strlen(backend) >= sizeof all[0].backend))
        return;
    if (!f)
        f = &all[count++];
    *f = (struct found){.format = format, .accumulator = *accumulator};
    (void)snprintf(f->backend, sizeof f->backend, "%s", backend);
    (void)snprintf(f->doubt, sizeof f->doubt, "%s", doubt ? doubt : "");
}

/* Sums of products in fp32 of factors that a matrix unit takes. */
static const struct found *of_call(const struct hc_backend *backend, const struct hc_call *call)
{
    enum hc_format format = call->in[HC_FIRST].format;
    enum hc_op_class class_ = hc_ops[call->op].class_;
    bool sums = class_ == HC_CLASS_CONV ||
                (call->op == HC_OP_gemm && !call->params.gemm.half_accumulator) ||
                (call->op == HC_OP_dot && call->params.reduce.accumulator == HC_FP32);
    if (count == 0 || !sums || format == HC_FP64 || call->in[HC_FIRST + 1].format != format)
        return NULL;
    return find(backend->name, hc_call_tf32(call) ? HC_TF32 : format);
}

const char *hc_backend_doubt(const struct hc_backend *backend, const struct hc_call *call)
{
    const struct found *f = of_call(backend, call);
    return f && f->doubt[0] ? f->doubt : NULL;
}

bool hc_backend_found_of(const struct hc_backend *backend, const struct hc_call *call,
                         struct hc_accumulator *found)
{
    const struct found *f = call->op == HC_OP_gemm ? of_call(backend, call) : NULL;
    if (!f || f->doubt[0])
        return false;
    *found = f->accumulator;
    return true;
}
