#include "check/sweep/threads.h"

#include <omp.h>
#include <stdarg.h>
#include <stdio.h>

#include "check/run_call.h"
#include "check/check_inner.h"
#include "check/digest.h"
#include "op/digest.h"
#include "op/text.h"
#include "own_calls.h"

enum {
    MAX_THREADS = 64,
    /* One call in host memory of so many runs between guards. It takes twenty times as long as the
       others, and a sweep over all inputs makes a million calls and more. */
    GUARDED_OF = 64,
    GUARDED_OF_ALL = 1024,
};

void hc_miss_note(struct hc_miss *miss, uint64_t where, uint64_t want, uint64_t got)
{
    if (miss->wrong == 0 || where < miss->where) {
        miss->where = where;
        miss->want = want;
        miss->got = got;
    }
    miss->wrong++;
}

void hc_miss_add(struct hc_miss *total, const struct hc_miss *part)
{
    total->checked += part->checked;
    total->digest += part->digest;
    if (part->wrong == 0)
        return;
    hc_miss_note(total, part->where, part->want, part->got);
    total->wrong += part->wrong - 1;
}

uint64_t hc_sweep_digest(struct hc_check *check, const struct hc_call *call)
{
    struct hc_call bare = *call;
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        bare.in[i].data = NULL;
    (void)hc_check_digests(check, call);
    return hc_digest_inputs(&bare);
}

void hc_miss_digest(struct hc_miss *miss, uint64_t sweep, uint64_t where, int64_t wrong,
                    const struct hc_call *call)
{
    uint64_t state = hc_digest_bytes(sweep, &where, sizeof where);
    miss->digest += wrong ? hc_digest_outputs(state, call) : state;
}

void hc_miss_claim(struct hc_check *check, const struct hc_miss *miss, const char *format, ...)
{
    struct hc_comparisons all = {.what = "results as the definition gives them",
                                 .checked = miss->checked,
                                 .wrong = miss->wrong};
    va_list arguments;
    va_start(arguments, format);
    (void)hc_text_format(all.first, sizeof all.first, format, arguments);
    va_end(arguments);
    hc_check_digest_add(check, miss->digest);
    hc_claim_comparisons(check, &all);
}

struct threads {
    struct hc_queue *queue[MAX_THREADS];
    void *memory[MAX_THREADS];
    int count;
};

/* Each thread has its own hc_message(): the line is carried over to the thread that reports. */
struct failure {
    enum hc_status status;
    char why[256];
    int64_t own_calls; /* of all threads but the caller's */
};

static enum hc_status open_threads(struct hc_check *check, size_t bytes, struct threads *threads)
{
    const struct hc_backend *backend = check->backend;
    int wanted = backend->host_memory ? omp_get_max_threads() : 1;
    enum hc_status status = HC_OK;
    while (status == HC_OK && threads->count < wanted && threads->count < MAX_THREADS) {
        threads->memory[threads->count] = hc_check_memory(check, bytes);
        threads->queue[threads->count] = check->queue;
        if (wanted > 1)
            status = hc_backend_open(backend, &threads->queue[threads->count], 1);
        if (status == HC_OK)
            threads->count++;
    }
    return status;
}

static void close_threads(const struct hc_check *check, const struct threads *threads)
{
    for (int i = 0; i < threads->count; i++)
        if (threads->queue[i] != check->queue)
            check->backend->close(threads->queue[i]);
}

/* One thread's share of the units; after a failure no thread begins another one. */
static void run_thread(struct hc_check *check, const struct threads *threads, int64_t units,
                       hc_sweep_work *work, const void *context, struct hc_miss *total,
                       struct failure *failure)
{
    int thread = omp_get_thread_num();
    struct hc_miss mine = {0};
    int64_t own_calls = hc_own_calls();
#pragma omp for schedule(dynamic)
    for (int64_t unit = 0; unit < units; unit++) {
        enum hc_status status;
#pragma omp atomic read
        status = failure->status;
        if (status != HC_OK)
            continue;
        status = work(check, threads->queue[thread], unit, threads->memory[thread], &mine, context);
        if (status == HC_OK)
            continue;
#pragma omp critical
        (void)snprintf(failure->why, sizeof failure->why, "%s", hc_message());
#pragma omp atomic write
        failure->status = status;
    }
#pragma omp critical
    {
        hc_miss_add(total, &mine);
        failure->own_calls += thread ? hc_own_calls() - own_calls : 0;
    }
}

bool hc_sweep_run(struct hc_check *check, int64_t units, size_t thread_bytes, hc_sweep_work *work,
                  const void *context, struct hc_miss *total)
{
    struct threads threads = {.count = 0};
    struct failure failure = {.status = HC_OK};
    enum hc_status status = open_threads(check, thread_bytes, &threads);
    if (status == HC_OK) {
#pragma omp parallel num_threads(threads.count)
        run_thread(check, &threads, units, work, context, total, &failure);
        hc_own_calls_add(failure.own_calls);
        if (failure.status != HC_OK)
            status = hc_fail(failure.status, "%s", failure.why);
    }
    close_threads(check, &threads);
    return hc_check_ok(check, status);
}

enum hc_status hc_sweep_call(struct hc_check *check, struct hc_queue *queue,
                             const struct hc_call *call)
{
    static _Thread_local unsigned calls;
    hc_kernel *kernel = check->backend->kernel[call->op];
    unsigned guarded_of = check->level == HC_EXHAUSTIVE ? GUARDED_OF_ALL : GUARDED_OF;
    enum hc_status status = hc_backend_has(check->backend, call);
    if (status != HC_OK)
        return status;
    if (check->backend->host_memory && calls++ % guarded_of)
        status = kernel(queue, call);
    else
        status = hc_do_on(check, check->backend, queue, call, NULL);
    if (status == HC_UNSUPPORTED) {
#pragma omp atomic write
        check->refused = true;
    }
    return status;
}
