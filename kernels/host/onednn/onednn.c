/* oneDNN's engine and streams, the memory that it needs, and its gemm. */
#include <dnnl.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "kernels/host/onednn/inner.h"

/* More than oneDNN takes for the code that it generates and the matrices that it copies. Each of
   the open queues may take it. */
static const size_t needed = (size_t)64 << 20;
static atomic_size_t queues;

/* oneDNN ends the program if it gets no memory for code, so it must not be called then. Only a
   limit on the address space (ulimit -v) matters here; it is tested by an allocation that touches
   no page. */
enum hc_status hc_onednn_check_memory(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY)
        return HC_OK;
    size_t bytes = needed * atomic_load(&queues);
    void *volatile buffer = malloc(bytes); /* volatile, so that the compiler keeps it */
    if (!buffer)
        return hc_fail(HC_NO_MEMORY, "host: no memory: oneDNN wants %zu MiB", bytes >> 20);
    free(buffer);
    return HC_OK;
}

enum hc_status hc_onednn_open(struct hc_onednn **onednn, int threads)
{
    struct hc_onednn *o = calloc(1, sizeof *o + (size_t)threads * sizeof o->streams[0]);
    *onednn = o;
    if (!o)
        return hc_fail(HC_NO_MEMORY, "host: no memory for a queue");
    o->threads = threads;
    atomic_init(&o->failed, dnnl_success);
    atomic_fetch_add(&queues, 1);
    if (hc_onednn_check_memory() != HC_OK) {
        hc_onednn_close(o);
        *onednn = NULL;
        return HC_NO_MEMORY;
    }
    bool made = dnnl_engine_create(&o->engine, dnnl_cpu, 0) == dnnl_success;
    for (int i = 0; made && i < threads; i++)
        made = dnnl_stream_create(&o->streams[i], o->engine, dnnl_stream_default_flags) ==
               dnnl_success;
    if (made)
        return HC_OK;
    hc_onednn_close(o);
    *onednn = NULL;
    return hc_fail(HC_DEVICE, "host: oneDNN does not start");
}

void hc_onednn_close(struct hc_onednn *onednn)
{
    atomic_fetch_sub(&queues, 1);
    while (onednn->plans) {
        struct hc_onednn_plan *plan = onednn->plans;
        onednn->plans = plan->next;
        hc_onednn_plan_free(plan);
    }
    for (int i = 0; i < onednn->threads; i++)
        if (onednn->streams[i])
            dnnl_stream_destroy(onednn->streams[i]);
    if (onednn->engine)
        dnnl_engine_destroy(onednn->engine);
    free(onednn);
}

int hc_onednn_single_thread(void)
{
    int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    return threads;
}

void hc_onednn_restore_threads(int threads)
{
    omp_set_num_threads(threads);
}

void hc_onednn_sgemm(struct hc_onednn *onednn, const struct hc_sgemm *g)
{
    if (g->k == 0 && g->beta == 0)
        for (int64_t i = 0; i < g->m; i++)
            memset(g->c + i * g->ldc, 0, (size_t)g->n * sizeof(float));
    if (g->k == 0 || g->m == 0 || g->n == 0)
        return;
    dnnl_status_t status =
        dnnl_sgemm(g->transpose_a ? 'T' : 'N', g->transpose_b ? 'T' : 'N', g->m, g->n, g->k, 1,
                   g->a, g->lda, g->b, g->ldb, g->beta, g->c, g->ldc);
    if (status != dnnl_success)
        atomic_store(&onednn->failed, (int)status);
}

enum hc_status hc_onednn_error(struct hc_onednn *onednn)
{
    int failed = atomic_exchange(&onednn->failed, dnnl_success);
    if (failed == dnnl_success)
        return HC_OK;
    return hc_fail(failed == dnnl_out_of_memory ? HC_NO_MEMORY : HC_DEVICE, "host: oneDNN: gemm %d",
                   failed);
}
