/* A program behind a pipe: how often a second a small call goes there and back, and how many bytes
   of a large one. The program is a fork of this one, which answers at once. */
#define _GNU_SOURCE /* pipe2 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"
#include "pipe.h"

enum { CALLS = 2000, SMALL = 37, LARGE = 1 << 22 };

/* Both ends of two pipes, and who holds the other ends. */
struct other {
    int read;
    int write;
    pid_t pid;
};

static bool fork_off(struct other *other, void (*answer)(FILE *in, FILE *out))
{
    int to[2] = {-1, -1};
    int from[2] = {-1, -1};
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
        return false;
    other->pid = fork();
    if (other->pid == 0) {
        (void)close(to[1]);
        (void)close(from[0]);
        answer(fdopen(to[0], "r"), fdopen(from[1], "w"));
        _exit(0);
    }
    (void)close(to[0]);
    (void)close(from[1]);
    other->read = from[0];
    other->write = to[1];
    return other->pid > 0;
}

static void give_back(FILE *in, FILE *out)
{
    for (int c; (c = getc(in)) != EOF;) {
        (void)putc(c, out);
        (void)fflush(out);
    }
}

static size_t number(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    return at ? strtoul(at + strlen(key), NULL, 10) : 0;
}

/* Answers calls of cast from fp32 to fp32, for which it copies. */
static void answer_calls(FILE *in, FILE *out)
{
    static char line[1 << 14];
    static char bytes[1 << 16];
    unsigned char *memory = NULL;
    size_t mapped = 0;
    int file = -1;
    const char *path = fgets(line, sizeof line, in) ? strstr(line, "/proc/") : NULL;
    if (path)
        file = open(strtok(line + (path - line), "\""), O_RDWR | O_CLOEXEC);
    (void)fprintf(out,
                  "{\"pipe\": 1, \"name\": \"bench\", \"ops\": {\"cast\": {}}, \"shared\": %s}\n",
                  file >= 0 ? "true" : "false");
    (void)fflush(out);
    while (fgets(line, sizeof line, in)) {
        size_t shared = number(line, "\"shared\": ");
        size_t n = number(line, "\"bytes\": ");
        if (shared > mapped) {
            memory = mmap(NULL, shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            mapped = shared;
        }
        if (shared)
            memcpy(memory + number(strstr(line, "\"out\": {"), "\"at\": "),
                   memory + number(line, "\"at\": "), n);
        if (!shared && n > sizeof bytes)
            return;
        if (!shared && fread(bytes, 1, n, in) < n)
            return;
        (void)fputs("ok\n", out);
        (void)fwrite(bytes, 1, shared ? 0 : n, out);
        (void)fflush(out);
    }
}

struct race {
    struct other echo;
    const struct hc_backend *backend;
    struct hc_queue *queue;
    struct hc_call call;
    float *memory[4]; /* LARGE elements each: the input, the output, and two that bytes pass */
    enum hc_status status;
};

static void call_program(void *context)
{
    struct race *r = context;
    int times = r->call.in[HC_X].shape[0] == SMALL ? CALLS : 1;
    for (int i = 0; i < times && r->status == HC_OK; i++)
        r->status = r->backend->kernel[HC_OP_cast](r->queue, &r->call);
}

/* The least that a call can cost: a byte there, and a byte back. */
static void turn_around(void *context)
{
    const struct race *r = context;
    char byte = 0;
    for (int i = 0; i < CALLS; i++)
        if (write(r->echo.write, &byte, 1) != 1 || read(r->echo.read, &byte, 1) != 1)
            return;
}

/* What a call must copy: its input there, and its output there and back. */
static void copy(void *context)
{
    const struct race *r = context;
    memcpy(r->memory[2], r->memory[0], LARGE * sizeof(float));
    memcpy(r->memory[3], r->memory[2], LARGE * sizeof(float));
    memcpy(r->memory[1], r->memory[3], LARGE * sizeof(float));
}

static void race(struct hc_bench_run *run, struct race *r)
{
    void (*const small[])(void *) = {call_program, turn_around};
    void (*const large[])(void *) = {call_program, copy};
    double seconds[2];
    r->call = (struct hc_call){.op = HC_OP_cast,
                               .in = {[HC_X] = hc_tensor1(HC_FP32, SMALL, r->memory[0])},
                               .out = {[HC_OUT] = hc_tensor1(HC_FP32, SMALL, r->memory[1])}};
    hc_bench_time(small, 2, r, 3, 0.3, seconds);
    if (r->status == HC_OK)
        hc_bench_rate(run, &(struct hc_rate){.what = "small",
                                             .rate = CALLS / seconds[0],
                                             .unit = "calls/s",
                                             .against = "a byte there and back",
                                             .other = CALLS / seconds[1]});
    r->call.in[HC_X].shape[0] = r->call.out[HC_OUT].shape[0] = LARGE;
    hc_bench_time(large, 2, r, 3, 0.3, seconds);
    if (r->status == HC_OK)
        hc_bench_rate(run, &(struct hc_rate){.what = "16 MiB",
                                             .rate = 2 * LARGE * sizeof(float) / seconds[0],
                                             .unit = "bytes/s",
                                             .against = "memcpy of the same three times",
                                             .other = 2 * LARGE * sizeof(float) / seconds[1]});
}

static void calls(struct hc_bench_run *run)
{
    static struct race r; /* the backend stays until the end, and can be had once */
    char spelled[64];
    struct other program = {0};
    if (!r.backend && fork_off(&program, answer_calls) && fork_off(&r.echo, give_back)) {
        (void)snprintf(spelled, sizeof spelled, "pipe-fd:%d,%d", program.read, program.write);
        r.backend = hc_pipe_backend(spelled);
    }
    if (r.backend)
        r.status = hc_backend_open(r.backend, &r.queue, 1);
    if (!r.backend || r.status != HC_OK) {
        hc_bench_skip(run, hc_message());
        return;
    }
    bool enough = true;
    for (int i = 0; i < 4; i++) {
        r.memory[i] = calloc(LARGE, sizeof(float));
        enough = enough && r.memory[i];
    }
    if (enough)
        race(run, &r);
    else
        hc_bench_skip(run, "no memory for large calls");
    for (int i = 0; i < 4; i++)
        free(r.memory[i]);
    if (r.status != HC_OK)
        hc_bench_skip(run, hc_message());
    r.backend->close(r.queue);
}

static const struct hc_bench benches[] = {
    {"pipe/calls", "calls of a program behind a pipe, small and large, against the least they need",
     calls, false},
};

const struct hc_bench_table hc_benches_pipe = {benches, sizeof benches / sizeof benches[0]};
