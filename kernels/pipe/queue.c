/* A queue is one process of a program. It is started, greets, answers calls, and is ended; what
   breaks the protocol ends it at once, and the next call starts it anew. */
#include "kernels/pipe/queue.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_STARTS = 20 }; /* without a good call in between */

static const double patience = 2; /* seconds for a program that was told to end */
static const double dying = 1;    /* and for one that has closed its end */

/* What became of a program that did not speak as it should. The process is ended. */
static void end(struct hc_queue *q, enum hc_heard heard, char what[HC_WHAT_TEXT])
{
    char how[HC_ENDED_TEXT];
    hc_process_end(&q->process, heard == HC_HEARD_END ? dying : 0, how);
    hc_shared_close(&q->shared);
    q->failures++;
    q->runs = false;
    switch (heard) {
    case HC_HEARD_END:
        (void)snprintf(what, HC_WHAT_TEXT, "%s", how[0] ? how : "closed its standard output");
        break;
    case HC_HEARD_LATE:
        (void)snprintf(what, HC_WHAT_TEXT, "was silent for %g s", hc_pipe_time_limit());
        break;
    case HC_HEARD_LONG:
        (void)snprintf(what, HC_WHAT_TEXT, "sent a line of more than %d bytes", HC_LONGEST_LINE);
        break;
    default:
        (void)snprintf(what, HC_WHAT_TEXT, "printed to its standard output");
    }
}

/* The first line: who speaks, and where shared memory is. */
static int write_hello(const struct hc_queue *q, char *line, size_t size)
{
    char shared[80] = "";
    if (q->shared.file >= 0 && q->program->command)
        (void)snprintf(shared, sizeof shared, ", \"shared\": %d", HC_PROCESS_SHARED);
    else if (q->shared.file >= 0)
        (void)snprintf(shared, sizeof shared, ", \"shared_path\": \"/proc/%ld/fd/%d\"",
                       (long)getpid(), q->shared.file);
    return snprintf(line, size, "{\"halfcheck\": \"%s\", \"pipe\": %d%s}\n", HC_PROGRAM_VERSION,
                    HC_PIPE_VERSION, shared);
}

/* Hears the greeting of a process that has just been started. */
static enum hc_status greet(struct hc_queue *q, struct hc_greeting *greeting)
{
    char hello[160];
    char what[HC_WHAT_TEXT];
    char *line = NULL;
    size_t length = 0;
    struct iovec part = {hello, (size_t)write_hello(q, hello, sizeof hello)};
    double until = hc_channel_now() + hc_pipe_time_limit();
    enum hc_heard heard = hc_channel_send(&q->channel, &part, 1, until);
    if (heard == HC_HEARD)
        heard = hc_channel_line(&q->channel, until, &line, &length);
    if (heard == HC_HEARD) {
        enum hc_status status = hc_greeting_read(greeting, q->program->spelled, line, length);
        if (status == HC_OK && !greeting->shared)
            hc_shared_close(&q->shared);
        return status;
    }
    end(q, heard, what);
    return hc_fail(HC_DEVICE, "%.200s %s before it greeted", q->program->spelled, what);
}

static enum hc_status start(struct hc_queue *q, struct hc_greeting *greeting)
{
    const struct hc_program *p = q->program;
    hc_shared_open(&q->shared);
    enum hc_status status = p->command ? hc_process_start(&q->process, p->command, q->shared.file)
                                       : hc_process_adopt(&q->process, p->in, p->out);
    q->channel.in = q->process.in;
    q->channel.out = q->process.out;
    q->channel.begin = q->channel.end = 0;
    q->runs = true;
    if (status == HC_OK)
        status = greet(q, greeting);
    if (status != HC_OK) {
        char why[512];
        char how[HC_ENDED_TEXT];
        (void)snprintf(why, sizeof why, "%s", hc_message());
        hc_process_end(&q->process, 0, how);
        hc_shared_close(&q->shared);
        q->runs = false;
        (void)hc_fail(status, "%s", why);
    }
    return status;
}

enum hc_status hc_pipe_start(const struct hc_program *program, struct hc_queue **queue,
                             struct hc_greeting *greeting)
{
    struct hc_queue *q = calloc(1, sizeof *q);
    *queue = NULL;
    if (!q)
        return hc_fail(HC_NO_MEMORY, "no memory for a queue");
    q->program = program;
    enum hc_status status = start(q, greeting);
    if (status == HC_OK)
        *queue = q;
    else
        free(q);
    return status;
}

void hc_pipe_stop(struct hc_queue *queue)
{
    char how[HC_ENDED_TEXT];
    if (queue->runs)
        hc_process_end(&queue->process, patience, how);
    hc_shared_close(&queue->shared);
    free(queue->staging);
    free(queue);
}

enum hc_status hc_queue_revive(struct hc_queue *q)
{
    struct hc_greeting greeting;
    const char *name = q->program->greeting.name;
    if (q->runs)
        return HC_OK;
    if (!q->program->command)
        return hc_fail(HC_DEVICE, "%s has ended, and was not started by halfcheck", name);
    if (q->failures > MAX_STARTS)
        return hc_fail(HC_DEVICE, "%s was started %d times without a good call, and is given up",
                       name, MAX_STARTS + 1);
    enum hc_status status = start(q, &greeting);
    if (status != HC_OK) {
        q->failures++;
        return status == HC_INVALID ? hc_fail(HC_DEVICE, "%.400s", hc_message()) : status;
    }
    if (hc_greeting_same(&greeting, &q->program->greeting))
        return HC_OK;
    char what[HC_WHAT_TEXT];
    end(q, HC_HEARD_EARLY, what);
    return hc_fail(HC_DEVICE, "%s, started anew, greets otherwise than before", name);
}

enum hc_status hc_queue_break(struct hc_queue *q, enum hc_heard heard, const char *format, ...)
{
    char what[HC_WHAT_TEXT];
    char more[128];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(more, sizeof more, format, arguments);
    va_end(arguments);
    end(q, heard, what);
    return hc_fail(HC_DEVICE, "%s %s%s call %" PRIu64 ", %s", q->program->greeting.name,
                   heard == HC_HEARD ? "" : what, more, q->calls, q->request.name);
}
