/* The table of sim backends, and a queue that has one of host's below it. */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/sim/sim.h"

extern const struct hc_backend hc_backend_host;

/* The units of one machine for fp8, summed in fp32. */
#define FP8(machine)                                                                               \
    machine "-e4m3-fp32", machine "-e4m3xe5m2-fp32", machine "-e5m2xe4m3-fp32", machine "-e5m2-fp32"

#define HC_MACHINE(id, title, ...)                                                                 \
    static const struct hc_sim_machine machine_##id = {"sim-" #id, title, {__VA_ARGS__}};
#include "kernels/sim/machines.def"
#undef HC_MACHINE

struct hc_queue {
    const struct hc_sim_machine *machine;
    struct hc_queue *host;
    int threads;
};

static enum hc_status open_queue(const struct hc_backend *backend, struct hc_queue **queue,
                                 int threads)
{
    struct hc_queue *q = malloc(sizeof *q);
    if (!q)
        return hc_fail(HC_NO_MEMORY, "no memory for a queue of %s", backend->name);
    *q = (struct hc_queue){.machine = backend->self,
                           .threads = threads > 0 ? threads : omp_get_num_procs()};
    enum hc_status status = hc_backend_host.open(&hc_backend_host, &q->host, threads);
    if (status != HC_OK) {
        free(q);
        return status;
    }
    *queue = q;
    return HC_OK;
}

static void close_queue(struct hc_queue *queue)
{
    hc_backend_host.close(queue->host);
    free(queue);
}

static void *allocate(struct hc_queue *queue, size_t bytes)
{
    return hc_backend_host.allocate(queue->host, bytes);
}

static void release(struct hc_queue *queue, void *memory)
{
    hc_backend_host.release(queue->host, memory);
}

static enum hc_status copy(struct hc_queue *queue, void *to, const void *from, size_t bytes)
{
    return hc_backend_host.upload(queue->host, to, from, bytes);
}

static size_t scratch(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_unit *u = hc_sim_unit_of(queue->machine, call);
    if (!u)
        return hc_backend_host.scratch(queue->host, call);
    if (call->op == HC_OP_gemm_q)
        return hc_sim_gemm_q_scratch(u, call, queue->threads);
    struct hc_sim_product p = hc_sim_product_of(u, call, queue->threads);
    return hc_sim_product_scratch(&p);
}

static enum hc_status run_as_machine(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_unit *u = hc_sim_unit_of(queue->machine, call);
    if (!u)
        return hc_backend_host.kernel[call->op](queue->host, call);
    if (call->op == HC_OP_gemm_q) {
        hc_sim_gemm_q(u, call, queue->threads);
        return HC_OK;
    }
    struct hc_sim_product p = hc_sim_product_of(u, call, queue->threads);
    hc_sim_product_run(&p, call->scratch);
    return HC_OK;
}

static struct hc_accumulator accumulates(const struct hc_backend *backend,
                                         const struct hc_call *call)
{
    const struct hc_unit *u = hc_sim_unit_of(backend->self, call);
    return u ? hc_sim_accumulator(u) : hc_backend_accumulator(&hc_backend_host, call);
}

/* Host's facts, for a machine that has a unit of its own for bf16 or fp16: host's does none of its
   products there. */
struct facts {
    hc_tell *tell;
    void *context;
    bool own_bf16;
    bool own_fp16;
};

static void tell_of_host(const char *name, const char *fact, void *context)
{
    const struct facts *facts = context;
    if ((!facts->own_bf16 || strcmp(name, "bf16 products") != 0) &&
        (!facts->own_fp16 || strcmp(name, "fp16 products") != 0))
        facts->tell(name, fact, facts->context);
}

/* "unit fp16", "h100wgmma-fp16-fp32: the published model (MMA-Sim 2.1.1), by avx512" */
static void describe(struct hc_queue *queue, hc_tell *tell, void *context)
{
    struct facts facts = {tell, context, false, false};
    if (!queue)
        return;
    for (const char *const *name = queue->machine->units; *name; name++) {
        const struct hc_unit *u = hc_unit_by_name(*name);
        facts.own_bf16 |= u->a == HC_OPERAND_BF16 && u->d == HC_OPERAND_FP32;
        facts.own_fp16 |= u->a == HC_OPERAND_FP16 && u->d == HC_OPERAND_FP32;
        char fact[48];
        bool scales = u->scale != HC_OPERAND_NONE;
        char text[256];
        (void)snprintf(fact, sizeof fact, "unit %s%s%s%s%s", hc_operands[u->a].name,
                       u->b == u->a ? "" : "x", u->b == u->a ? "" : hc_operands[u->b].name,
                       scales                    ? " by "
                       : u->d == HC_OPERAND_FP16 ? " into fp16"
                                                 : "",
                       scales ? hc_operands[u->scale].name : "");
        (void)snprintf(text, sizeof text, "%s, published model (%s), %s", u->name, u->source,
                       scales ? "portable" : hc_sim_engine_for(u)->name);
        tell(fact, text, context);
    }
    if (hc_backend_host.describe)
        hc_backend_host.describe(queue->host, tell_of_host, &facts);
}

/* What the unit reads of a factor: nothing of fp32, unless it may be taken as tf32. */
static enum hc_operand factor_of(const struct hc_call *call, int slot)
{
    enum hc_format format = call->in[slot].format;
    if (format == HC_FP32)
        return hc_call_tf32(call) ? HC_OPERAND_TF32 : HC_OPERAND_NONE;
    return hc_operand_of(format);
}

/* Whether the unit takes the call's scales as its own, and the call promotes between two
   instructions if at all. */
static bool takes_scales(const struct hc_unit *u, const struct hc_call *call)
{
    const struct hc_gemm_q *p = &call->params.gemm_q;
    return call->op == HC_OP_gemm_q && p->a_columns == u->block && p->b_columns == u->block &&
           hc_operand_of(call->in[HC_GEMM_Q_A_SCALES].format) == u->scale &&
           hc_operand_of(call->in[HC_GEMM_Q_B_SCALES].format) == u->scale && p->promote % u->k == 0;
}

const struct hc_unit *hc_sim_unit_of(const struct hc_sim_machine *machine,
                                     const struct hc_call *call)
{
    bool product = call->op == HC_OP_gemm || call->op == HC_OP_gemm_q || call->op == HC_OP_conv2d ||
                   call->op == HC_OP_conv2d_bwd_data || call->op == HC_OP_conv2d_bwd_filter ||
                   (call->op == HC_OP_dot && call->params.reduce.accumulator == HC_FP32);
    if (!product)
        return NULL;
    enum hc_operand a = factor_of(call, HC_FIRST);
    enum hc_operand b = factor_of(call, HC_FIRST + 1);
    bool half = call->op == HC_OP_gemm && call->params.gemm.half_accumulator;
    enum hc_operand sum = half ? HC_OPERAND_FP16 : HC_OPERAND_FP32;
    const struct hc_unit *plain = NULL;
    for (const char *const *name = machine->units; *name; name++) {
        const struct hc_unit *u = hc_unit_by_name(*name);
        if (u->a != a || u->b != b || u->d != sum)
            continue;
        if (u->scale != HC_OPERAND_NONE && takes_scales(u, call))
            return u;
        if (u->scale == HC_OPERAND_NONE && !plain)
            plain = u;
    }
    return plain;
}

static const struct hc_sim_machine *const machines[HC_SIM_MACHINES] = {
#define HC_MACHINE(id, title, ...) &machine_##id,
#include "kernels/sim/machines.def"
#undef HC_MACHINE
};

enum { TITLE = 96 };

static struct hc_backend backends[HC_SIM_MACHINES];
static const struct hc_backend *listed[HC_SIM_MACHINES];
static const struct hc_unit *units[HC_SIM_MACHINES][HC_SIM_MAX_UNITS];
static char titles[HC_SIM_MACHINES][TITLE];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make(void)
{
    for (int i = 0; i < HC_SIM_MACHINES; i++) {
        for (int n = 0; machines[i]->units[n]; n++)
            units[i][n] = hc_unit_by_name(machines[i]->units[n]);
        (void)snprintf(titles[i], TITLE, "products as the published model of %s has them",
                       machines[i]->title);
        backends[i] = hc_backend_host;
        backends[i].name = machines[i]->name;
        backends[i].title = titles[i];
        backends[i].default_cases = "units/*";
        backends[i].units = units[i];
        backends[i].self = machines[i];
        backends[i].accumulates = accumulates;
        backends[i].open = open_queue;
        backends[i].close = close_queue;
        backends[i].allocate = allocate;
        backends[i].release = release;
        backends[i].upload = copy;
        backends[i].download = copy;
        backends[i].scratch = scratch;
        backends[i].describe = describe;
        for (int op = 0; op < HC_OP_COUNT; op++)
            backends[i].kernel[op] = hc_backend_host.kernel[op] ? run_as_machine : NULL;
        listed[i] = &backends[i];
    }
}

const struct hc_backend *const *hc_sim_backends(void)
{
    (void)pthread_once(&made, make);
    return listed;
}
