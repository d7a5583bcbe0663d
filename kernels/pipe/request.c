#include "kernels/pipe/request.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "op/descriptor.h"
#include "op/layout.h"
#include "op/params.h"
#include "op/rule.h"

enum { ALIGNMENT = 64, LEAST_SHARED = 1 << 16 };

/* Ops that know channels from pixels. To all others a tensor of rank 4 is a row of elements. */
static bool has_images(enum hc_op op)
{
    enum hc_op_class class_ = hc_ops[op].class_;
    return class_ == HC_CLASS_CONV || class_ == HC_CLASS_BATCH_NORM || class_ == HC_CLASS_POOL ||
           op == HC_OP_augment;
}

_Static_assert(HC_MAX_IN + HC_MAX_OUT <= HC_REQUEST_PARTS, "a request has a part for each slot");

static void begin(struct hc_request *r, const char *what, const struct hc_tensor *x)
{
    char shape[HC_SHAPE_TEXT];
    (void)snprintf(r->name, sizeof r->name, "%s %s %s", what, hc_formats[x->format].name,
                   hc_shape_text(x, shape));
    r->count = 0;
    r->bytes = r->staged = 0;
}

static void add_tensor(struct hc_request *r, const char *slot, const struct hc_tensor *t,
                       bool output, bool images)
{
    struct hc_request_part *p = &r->part[r->count];
    *p = (struct hc_request_part){.slot = slot, .output = output, .own = *t, .sent = *t};
    p->permuted = images && t->rank == 4;
    if (p->permuted)
        p->sent = hc_tensor4(t->format, t->shape[0], t->shape[3], t->shape[1], t->shape[2], NULL);
    r->bytes += hc_tensor_bytes(t);
    r->count++;
}

/* Gives the parts their places in the staging memory. */
static void place(struct hc_request *r, bool may_share)
{
    r->shared = may_share && r->bytes >= LEAST_SHARED;
    for (struct hc_request_part *p = r->part; p < r->part + r->count; p++)
        if (r->shared || p->permuted) {
            p->at = r->staged;
            r->staged += (hc_tensor_bytes(&p->own) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        }
}

void hc_request_plan(struct hc_request *request, const struct hc_call *call, bool nchw,
                     bool may_share)
{
    bool images = nchw && has_images(call->op);
    begin(request, hc_ops[call->op].name, &call->in[HC_FIRST]);
    for (int i = 0; i < hc_slot_count(call->op); i++) {
        const struct hc_slot *slot = hc_slot(call->op, i);
        const struct hc_tensor *t = hc_slot_tensor_const(call, i);
        if (!slot->optional || t->data)
            add_tensor(request, slot->name, t, i >= hc_ops[call->op].inputs, images);
    }
    place(request, may_share);
}

void hc_request_plan_defined(struct hc_request *request, const struct hc_defined_call *call,
                             bool may_share)
{
    assert(call->inputs + call->outputs <= HC_REQUEST_PARTS);
    begin(request, call->name, &call->in[HC_FIRST].tensor);
    for (int i = 0; i < call->inputs; i++)
        add_tensor(request, call->in[i].name, &call->in[i].tensor, false, false);
    for (int i = 0; i < call->outputs; i++)
        add_tensor(request, call->out[i].name, &call->out[i].tensor, true, false);
    place(request, may_share);
}

void hc_request_stage(struct hc_request *request, unsigned char *memory)
{
    for (struct hc_request_part *p = request->part; p < request->part + request->count; p++) {
        if (!request->shared && !p->permuted)
            continue;
        p->sent.data = memory + p->at;
        if (!p->output && p->permuted)
            hc_tensor_to_nchw(&p->own, &p->sent);
        else if (!p->output && hc_tensor_bytes(&p->own))
            memcpy(p->sent.data, p->own.data, hc_tensor_bytes(&p->own));
    }
}

void hc_request_take(const struct hc_request *request)
{
    for (int i = 0; i < request->count; i++) {
        struct hc_request_part part = request->part[i];
        if (part.output && part.permuted)
            hc_tensor_to_nhwc(&part.sent, &part.own);
        else if (part.output && request->shared && hc_tensor_bytes(&part.own))
            memcpy(part.own.data, part.sent.data, hc_tensor_bytes(&part.own));
    }
}

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
say(struct hc_request *r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(r->line + r->length, sizeof r->line - r->length, format, arguments);
    va_end(arguments);
    assert(length >= 0 && (size_t)length < sizeof r->line - r->length);
    r->length += (size_t)length;
}

static void say_tensors(struct hc_request *r, const char *key, bool output)
{
    const char *between = "";
    say(r, ", \"%s\": {", key);
    for (const struct hc_request_part *p = r->part; p < r->part + r->count; p++) {
        if (p->output != output)
            continue;
        say(r, "%s\"%s\": {\"format\": \"%s\", \"shape\": [", between, p->slot,
            hc_formats[p->sent.format].name);
        for (int d = 0; d < p->sent.rank; d++)
            say(r, "%s%" PRId64, d ? ", " : "", p->sent.shape[d]);
        say(r, "], \"bytes\": %zu", hc_tensor_bytes(&p->sent));
        if (r->shared)
            say(r, ", \"at\": %zu", p->at);
        say(r, "}");
        between = ", ";
    }
    say(r, "}");
}

/* Kernels take the parameters of formulas as fp32, in fp64 calls, too (hc_parameter); optimizers
   and scalers take theirs in fp64. A program gets the numbers that are meant: one that works in
   fp64 would otherwise compute with other ones. */
static union hc_params as_taken(const struct hc_call *call)
{
    union hc_params params = call->params;
    enum hc_op_class class_ = hc_ops[call->op].class_;
    bool fp32 = class_ == HC_CLASS_ELEMENTWISE || class_ == HC_CLASS_GEMM ||
                class_ == HC_CLASS_BATCH_NORM || class_ == HC_CLASS_COLLECTIVE ||
                call->op == HC_OP_clip;
    for (const struct hc_param *p = hc_op_params(call->op); fp32 && p->name; p++) {
        double value;
        if (p->kind != HC_PARAM_REAL || p->count)
            continue;
        memcpy(&value, (const char *)&params + p->offset, sizeof value);
        value = (double)(float)value;
        memcpy((char *)&params + p->offset, &value, sizeof value);
    }
    return params;
}

void hc_request_write(struct hc_request *request, const struct hc_call *call, uint64_t number,
                      size_t memory)
{
    struct hc_request *r = request;
    const char *between = "";
    const union hc_params params = as_taken(call);
    r->length = 0;
    say(r, "{\"call\": %" PRIu64 ", \"op\": \"%s\"", number, hc_ops[call->op].name);
    if (r->shared)
        say(r, ", \"shared\": %zu", memory);
    say_tensors(r, "in", false);
    say_tensors(r, "out", true);
    say(r, ", \"params\": {");
    for (const struct hc_param *p = hc_op_params(call->op); p->name; p++) {
        char value[HC_PARAM_TEXT];
        hc_param_json(p, &params, value);
        say(r, "%s\"%s\": %s", between, p->name, value);
        between = ", ";
    }
    say(r, "}}\n");
}

/* A number of an option that is not finite, or is a hex float, is no number of JSON: all are
   texts, as the command line has them. */
void hc_request_write_defined(struct hc_request *request, const struct hc_defined_call *call,
                              uint64_t number, size_t memory)
{
    struct hc_request *r = request;
    r->length = 0;
    say(r, "{\"call\": %" PRIu64 ", \"define\": \"%s\", \"digest\": \"%s\"", number, call->name,
        call->digest);
    if (r->shared)
        say(r, ", \"shared\": %zu", memory);
    say(r, ", \"store\": \"%s\"", hc_formats[call->format].name);
    say_tensors(r, "in", false);
    say_tensors(r, "out", true);
    say(r, ", \"params\": {");
    for (int i = 0; i < call->settings; i++)
        say(r, "%s\"%s\": \"%s\"", i ? ", " : "", call->set[i].name, call->set[i].value);
    say(r, "}}\n");
}
