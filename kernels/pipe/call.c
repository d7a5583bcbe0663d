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

/* Puts the inputs of the request that is planned where the program gets them from. */
static enum hc_status stage(struct hc_queue *q)
{
    struct hc_request *r = &q->request;
    enum hc_status status = r->shared ? hc_shared_grow(&q->shared, r->staged) : HC_OK;
    if (!r->shared && r->staged > q->staging_bytes) {
        free(q->staging);
        q->staging = aligned_alloc(64, r->staged);
        q->staging_bytes = q->staging ? r->staged : 0;
        if (!q->staging)
            status = hc_fail(HC_NO_MEMORY, "no memory for %zu bytes", r->staged);
    }
    if (status == HC_OK)
        hc_request_stage(r, r->shared ? q->shared.memory : q->staging);
    return status;
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

static enum hc_status take_outputs(struct hc_queue *q, double until)
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
            return hc_queue_break(q, heard, " after %zu of the %zu bytes of %s in", got, bytes,
                                  p->slot);
    }
    if (q->channel.begin != q->channel.end)
        return hc_queue_break(q, HC_HEARD, "sent more than the outputs in");
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

static enum hc_status listen(struct hc_queue *q, double until)
{
    const char *name = q->program->greeting.name;
    const char *why;
    char *line = NULL;
    size_t length = 0;
    enum hc_heard heard = hc_channel_line(&q->channel, until, &line, &length);
    if (heard != HC_HEARD)
        return hc_queue_break(q, heard, " in");
    if (strcmp(line, "ok") == 0 && length == 2)
        return take_outputs(q, until);
    bool no = begins(line, "no", &why);
    if (!no && !begins(line, "error", &why))
        return hc_queue_break(q, HC_HEARD, "answers '%.40s' instead of ok, no or error in", line);
    q->failures = 0;
    if (no)
        return hc_fail(HC_UNSUPPORTED, "%s: no %.300s", name, why);
    return hc_fail(HC_DEVICE, "%s: %.250s (call %" PRIu64 ", %s)", name, why, q->calls,
                   q->request.name);
}

/* The next call begins, whose request is planned: the program, which runs, is quiet. */
static enum hc_status begin(struct hc_queue *q)
{
    q->calls++;
    enum hc_heard heard = hc_channel_quiet(&q->channel);
    return heard == HC_HEARD ? stage(q) : hc_queue_break(q, heard, " before");
}

/* Sends the request, whose line is written, and hears the answer. */
static enum hc_status converse(struct hc_queue *q)
{
    double until = hc_channel_now() + hc_pipe_time_limit();
    enum hc_heard heard = send(q, until);
    if (heard != HC_HEARD)
        return hc_queue_break(q, heard, " instead of reading");
    enum hc_status status = listen(q, until);
    hc_own_calls_add(status != HC_UNSUPPORTED);
    return status;
}

enum hc_status hc_pipe_call(struct hc_queue *queue, const struct hc_call *call)
{
    enum hc_status status = takes(queue->program, call);
    if (status == HC_OK)
        status = hc_queue_revive(queue);
    if (status != HC_OK)
        return status;
    hc_request_plan(&queue->request, call, queue->program->greeting.nchw, queue->shared.file >= 0);
    status = begin(queue);
    if (status != HC_OK)
        return status;
    hc_request_write(&queue->request, call, queue->calls, queue->shared.bytes);
    return converse(queue);
}

/* Whether the greeting names the digest, or names none and so wants to be asked. */
static bool knows(const struct hc_greeting *g, const char *digest)
{
    int i = 0;
    while (i < g->digests && strcmp(g->digest[i], digest) != 0)
        i++;
    return g->digests == 0 || i < g->digests;
}

enum hc_status hc_pipe_defined(struct hc_queue *queue, const struct hc_defined_call *call)
{
    const struct hc_greeting *g = &queue->program->greeting;
    if (!knows(g, call->digest))
        return hc_fail(HC_UNSUPPORTED, "%s does not know %s, definition %s", g->name, call->name,
                       call->digest);
    enum hc_status status = hc_queue_revive(queue);
    if (status != HC_OK)
        return status;
    hc_request_plan_defined(&queue->request, call, queue->shared.file >= 0);
    status = begin(queue);
    if (status != HC_OK)
        return status;
    hc_request_write_defined(&queue->request, call, queue->calls, queue->shared.bytes);
    return converse(queue);
}
