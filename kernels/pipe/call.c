/* One call of a program: the line and the inputs go out, the answer and the outputs come back. What
   it sends is copied, as many bytes as the call has, and never interpreted but for the first word
   of its line. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/own_calls.h"
#include "kernels/pipe/queue.h"
#include "op/params.h"

/* What the greeting has left out needs no question. */
static enum hc_status takes(const struct hc_program *program, const struct hc_call *call)
{
    const struct hc_greeting *g = &program->greeting;
    const char *op = hc_ops[call->op].name;
    enum hc_format format = call->in[HC_FIRST].format;
    const struct hc_param *order = hc_op_param(call->op, "order");
    if (!(g->formats[call->op] >> format & 1))
        return hc_fail(HC_UNSUPPORTED, "%s takes no %s in %s", g->name, hc_formats[format].name,
                       op);
    if (order && call->params.adam.order != HC_ORDER_OURS &&
        !(g->orders[call->op] >> call->params.adam.order & 1))
        return hc_fail(HC_UNSUPPORTED, "%s does not say that it has %s in the order %s", g->name,
                       op, hc_adam_order_names[call->params.adam.order]);
    return HC_OK;
}

/* Makes the request, with its inputs where the program gets them from. */
static enum hc_status prepare(struct hc_queue *q, const struct hc_call *call)
{
    struct hc_request *r = &q->request;
    hc_request_plan(r, call, q->program->greeting.nchw, q->shared.file >= 0);
    enum hc_status status = r->shared ? hc_shared_grow(&q->shared, r->staged) : HC_OK;
    if (!r->shared && r->staged > q->staging_bytes) {
        free(q->staging);
        q->staging = aligned_alloc(64, r->staged);
        q->staging_bytes = q->staging ? r->staged : 0;
        if (!q->staging)
            status = hc_fail(HC_NO_MEMORY, "no memory for %zu bytes", r->staged);
    }
    if (status != HC_OK)
        return status;
    hc_request_stage(r, r->shared ? q->shared.memory : q->staging);
    hc_request_write(r, call, q->calls, q->shared.bytes);
    return HC_OK;
}

static enum hc_heard send(struct hc_queue *q, double until)
{
    struct hc_request *r = &q->request;
    struct iovec parts[1 + HC_REQUEST_PARTS] = {{r->line, r->length}};
    int count = 1;
    for (int i = 0; i < r->count && !r->shared; i++) {
        const struct hc_request_part *p = &r->part[i];
        size_t bytes = hc_tensor_bytes(&p->sent);
        if (!p->output && bytes)
            parts[count++] = (struct iovec){p->sent.data, bytes};
    }
    return hc_channel_send(&q->channel, parts, count, until);
}

static enum hc_status take_outputs(struct hc_queue *q, const struct hc_call *call, double until)
{
    struct hc_request *r = &q->request;
    for (int i = 0; i < r->count && !r->shared; i++) {
        const struct hc_request_part *p = &r->part[i];
        size_t bytes = hc_tensor_bytes(&p->sent);
        size_t got = 0;
        if (!p->output || !bytes)
            continue;
        enum hc_heard heard = hc_channel_bytes(&q->channel, until, p->sent.data, bytes, &got);
        if (heard != HC_HEARD)
            return hc_queue_break(q, call, heard, " after %zu of the %zu bytes of %s in", got,
                                  bytes, p->slot);
    }
    if (q->channel.begin != q->channel.end)
        return hc_queue_break(q, call, HC_HEARD, "sent more than the outputs in");
    hc_request_take(r);
    q->failures = 0;
    return HC_OK;
}

/* Whether the line is this word, or begins with it and a blank; *rest is what follows. */
static bool begins(const char *line, const char *word, const char **rest)
{
    size_t length = strlen(word);
    if (strncmp(line, word, length) != 0 || (line[length] && line[length] != ' '))
        return false;
    *rest = line + length + (line[length] == ' ');
    return true;
}

static enum hc_status listen(struct hc_queue *q, const struct hc_call *call, double until)
{
    const char *name = q->program->greeting.name;
    const char *why;
    char call_name[160];
    char *line = NULL;
    size_t length = 0;
    enum hc_heard heard = hc_channel_line(&q->channel, until, &line, &length);
    if (heard != HC_HEARD)
        return hc_queue_break(q, call, heard, " in");
    if (strcmp(line, "ok") == 0 && length == 2)
        return take_outputs(q, call, until);
    bool no = begins(line, "no", &why);
    if (!no && !begins(line, "error", &why))
        return hc_queue_break(q, call, HC_HEARD, "answers '%.40s' instead of ok, no or error in",
                              line);
    q->failures = 0;
    if (no)
        return hc_fail(HC_UNSUPPORTED, "%s: no %.300s", name, why);
    hc_request_name(call, call_name, sizeof call_name);
    return hc_fail(HC_DEVICE, "%s: %.250s (call %" PRIu64 ", %s)", name, why, q->calls, call_name);
}

enum hc_status hc_pipe_call(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_status status = takes(queue->program, call);
    if (status == HC_OK)
        status = hc_queue_revive(queue);
    if (status != HC_OK)
        return status;
    queue->calls++;
    enum hc_heard heard = hc_channel_quiet(&queue->channel);
    if (heard != HC_HEARD)
        return hc_queue_break(queue, call, heard, " before");
    status = prepare(queue, call);
    if (status != HC_OK)
        return status;
    double until = hc_channel_now() + hc_pipe_time_limit();
    heard = send(queue, until);
    if (heard != HC_HEARD)
        return hc_queue_break(queue, call, heard, " instead of reading");
    status = listen(queue, call, until);
    hc_own_calls_add(status != HC_UNSUPPORTED);
    return status;
}
