/* Programs by their spelling, and the backend of each. */
#include "kernels/pipe/pipe.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/memory.h"
#include "kernels/pipe/process.h"
#include "kernels/pipe/queue.h"
#include "op/descriptor.h"

static double time_limit = HC_PIPE_TIME_LIMIT;
static struct hc_program *programs;
static pid_t owner; /* of their processes: this one, and none that it forks */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void hc_pipe_set_time_limit(double seconds)
{
    time_limit = seconds;
}

double hc_pipe_time_limit(void)
{
    return time_limit;
}

const char *hc_pipe_options(void)
{
    static _Thread_local char text[48];
    text[0] = '\0';
    if (time_limit != HC_PIPE_TIME_LIMIT)
        (void)snprintf(text, sizeof text, " --call-limit %.6g", time_limit);
    return text;
}

void hc_pipe_kill_all(void)
{
    hc_process_kill_all();
}

bool hc_pipe_is_spelled(const char *spelling)
{
    return strncmp(spelling, HC_PIPE_PREFIX, strlen(HC_PIPE_PREFIX)) == 0 ||
           strncmp(spelling, HC_PIPE_FD_PREFIX, strlen(HC_PIPE_FD_PREFIX)) == 0;
}

static struct hc_queue *take_idle(struct hc_program *p)
{
    (void)pthread_mutex_lock(&lock);
    struct hc_queue *q = p->idle;
    if (q)
        p->idle = q->next;
    (void)pthread_mutex_unlock(&lock);
    return q;
}

static void put_idle(struct hc_program *p, struct hc_queue *q)
{
    (void)pthread_mutex_lock(&lock);
    q->next = p->idle;
    p->idle = q;
    (void)pthread_mutex_unlock(&lock);
}

static enum hc_status pipe_open(const struct hc_backend *backend, struct hc_queue **queue,
                                int threads)
{
    struct hc_program *p = (struct hc_program *)backend->self;
    struct hc_greeting greeting;
    (void)threads;
    *queue = take_idle(p);
    if (*queue)
        return HC_OK;
    if (!p->command)
        return hc_fail(HC_DEVICE, "%s runs already, and has one queue", p->greeting.name);
    enum hc_status status = hc_pipe_start(p, queue, &greeting);
    if (status == HC_OK && !hc_greeting_same(&greeting, &p->greeting)) {
        hc_pipe_stop(*queue);
        *queue = NULL;
        status =
            hc_fail(HC_DEVICE, "%s, started again, greets otherwise than before", p->greeting.name);
    }
    return status;
}

/* A queue that is closed becomes idle. */
static void pipe_close(struct hc_queue *queue)
{
    put_idle((struct hc_program *)queue->program, queue);
}

static void pipe_describe(struct hc_queue *queue, hc_tell *tell, void *context)
{
    if (!queue)
        return;
    const struct hc_greeting *g = &queue->program->greeting;
    tell("command", queue->program->spelled, context);
    for (int i = 0; i < g->facts; i++)
        tell(g->fact[i].name, g->fact[i].fact, context);
}

/* Programs that nobody uses any more are told to end, and may do so in peace. */
static void stop_idle(void)
{
    struct hc_queue *q;
    for (struct hc_program *p = programs; p && owner == getpid(); p = p->next)
        while ((q = take_idle(p)) != NULL)
            hc_pipe_stop(q);
}

/* Whether the call states a 16-bit accumulator, and so each addition and its order. */
static bool states_its_sums(const struct hc_call *call)
{
    return hc_ops[call->op].class_ == HC_CLASS_REDUCTION &&
           call->params.reduce.accumulator != HC_FP32;
}

/* As it greeted, and whether it flushes by the factors' format: where a unit may sum. */
static struct hc_accumulator accumulates(const struct hc_backend *backend,
                                         const struct hc_call *call)
{
    const struct hc_program *p = backend->self;
    enum hc_format factors = hc_call_tf32(call) ? HC_TF32 : call->in[HC_FIRST].format;
    struct hc_accumulator a = backend->accumulator;
    a.flushes |= p->greeting.flushed[call->op] >> factors & 1;
    a.flushes &= !states_its_sums(call);
    return a;
}

static void make_backend(struct hc_program *p)
{
    const struct hc_greeting *g = &p->greeting;
    struct hc_backend *b = &p->backend;
    *b = (struct hc_backend){
        .abi = HC_BACKEND_ABI,
        .name = g->name,
        .title = g->title[0] ? g->title : p->spelled,
        .accumulator = g->accumulator,
        .accumulates = accumulates,
        .borders = g->borders[0].size ? g->borders : NULL,
        .partial = true,
        .concurrent = g->parallel && p->command,
        .canonical_nan = g->canonical_nan,
        .host_memory = true,
        .nondeterministic = g->nondeterministic,
        .free_order = true,
        .spelled = p->spelled,
        .self = p,
        .open = pipe_open,
        .close = pipe_close,
        .allocate = hc_memory_allocate,
        .release = hc_memory_release,
        .upload = hc_memory_copy,
        .download = hc_memory_copy,
        .describe = pipe_describe,
        .defined = g->defines ? hc_pipe_defined : NULL,
    };
    for (int op = 0; op < HC_OP_COUNT; op++) {
        b->fp64 |= g->formats[op] >> HC_FP64 & 1 && hc_descriptor((enum hc_op)op)->fp64;
        b->kernel[op] = g->has[op] ? hc_pipe_call : NULL;
    }
}

static enum hc_status name_is_free(const struct hc_program *p)
{
    int n;
    const char *name = p->greeting.name;
    const struct hc_backend *const *others = hc_backends(&n);
    bool taken = false;
    for (int i = 0; i < n; i++)
        taken |= strcmp(others[i]->name, name) == 0;
    for (const struct hc_program *other = programs; other; other = other->next)
        taken |= strcmp(other->greeting.name, name) == 0;
    if (taken)
        return hc_fail(HC_INVALID, "%.200s calls itself %s, as another backend does", p->spelled,
                       name);
    return HC_OK;
}

/* Reads the spelling into the program: a command, or two descriptors. */
static enum hc_status read_spelling(struct hc_program *p)
{
    const char *command = p->spelled + strlen(HC_PIPE_PREFIX);
    char rest;
    if (strncmp(p->spelled, HC_PIPE_PREFIX, strlen(HC_PIPE_PREFIX)) != 0) {
        command = p->spelled + strlen(HC_PIPE_FD_PREFIX);
        if (sscanf(command, "%9d,%9d%c", &p->in, &p->out, &rest) == 2)
            return HC_OK;
        return hc_fail(HC_INVALID, "pipe-fd: takes two descriptors R,W, not '%.100s'", command);
    }
    if (!command[strspn(command, " \t\n")])
        return hc_fail(HC_INVALID, "pipe: needs the command of a program");
    enum hc_command kind = hc_process_find(command);
    if (kind == HC_COMMAND_ABSENT)
        return hc_fail(HC_INVALID, "%.200s: there is no such program", p->spelled);
    size_t size = strlen(command) + sizeof "exec ";
    p->command = malloc(size);
    if (!p->command)
        return hc_fail(HC_NO_MEMORY, "no memory for a program");
    (void)snprintf(p->command, size, "%s%s", kind == HC_COMMAND_FILE ? "exec " : "", command);
    return HC_OK;
}

static enum hc_status begin(struct hc_program *p)
{
    struct hc_queue *q;
    enum hc_status status = read_spelling(p);
    if (status == HC_OK)
        status = hc_pipe_start(p, &q, &p->greeting);
    if (status != HC_OK)
        return status;
    if (!owner)
        (void)atexit(stop_idle);
    owner = getpid();
    status = name_is_free(p);
    if (status != HC_OK) {
        hc_pipe_stop(q);
        return status;
    }
    make_backend(p);
    put_idle(p, q);
    p->next = programs;
    programs = p;
    return HC_OK;
}

const struct hc_backend *hc_pipe_backend(const char *spelling)
{
    for (const struct hc_program *p = programs; p; p = p->next)
        if (strcmp(p->spelled, spelling) == 0)
            return &p->backend;
    struct hc_program *p = calloc(1, sizeof *p);
    if (p)
        p->spelled = strdup(spelling);
    if (p && p->spelled && begin(p) == HC_OK)
        return &p->backend;
    if (!p || !p->spelled)
        (void)hc_fail(HC_NO_MEMORY, "no memory for a program");
    if (p) {
        free(p->spelled);
        free(p->command);
    }
    free(p);
    return NULL;
}
