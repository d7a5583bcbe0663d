#include "backend.h"

#include <pthread.h>
#include <string.h>

#include "hc_backend_list.h"
#include "kernels/pipe/pipe.h"
#include "kernels/plugin/added.h"
#include "kernels/plugin/cuda.h"
#include "kernels/plugin/load.h"
#include "kernels/sim/sim.h"
#include "num/float_state.h"

/* Those with a file backend.c of their own. The matrix units' come behind them. */
static const struct hc_backend *const files[] = {HC_LIST};

enum { FILES = sizeof files / sizeof files[0] - 1, BUILT_IN = FILES + HC_SIM_MACHINES };

const struct hc_backend *const *hc_backends(int *n)
{
    static const struct hc_backend *all[BUILT_IN + HC_MAX_PLUGIN + HC_MAX_ADDED];
    int added;
    const struct hc_backend *const *others = hc_backends_added(&added);
    const struct hc_plugin *cuda = hc_plugin_cuda();
    int built;
    memcpy(all, hc_backends_built_in(&built), BUILT_IN * sizeof all[0]);
    for (int i = 0; i < cuda->count; i++)
        all[BUILT_IN + i] = cuda->backends[i];
    *n = BUILT_IN + cuda->count;
    for (int i = 0; i < added; i++)
        all[(*n)++] = others[i];
    return all;
}

static const struct hc_backend *own_list[BUILT_IN];

static void list_built_in(void)
{
    memcpy(own_list, files, FILES * sizeof own_list[0]);
    memcpy(own_list + FILES, hc_sim_backends(), HC_SIM_MACHINES * sizeof own_list[0]);
}

/* Ranks that are threads ask at the same time. */
const struct hc_backend *const *hc_backends_built_in(int *n)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, list_built_in);
    *n = BUILT_IN;
    return own_list;
}

const struct hc_backend *hc_backend_among(const struct hc_backend *const *backends, int n,
                                          const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(backends[i]->name, name) == 0)
            return backends[i];
    return NULL;
}

/* halfcheck-cuda.so is loaded only if no other backend has the name. */
const struct hc_backend *hc_backend_by_name(const char *name)
{
    int added;
    if (hc_pipe_is_spelled(name))
        return hc_pipe_backend(name);
    const struct hc_backend *const *others = hc_backends_added(&added);
    int count;
    const struct hc_backend *const *built_in = hc_backends_built_in(&count);
    const struct hc_backend *built = hc_backend_among(built_in, count, name);
    const struct hc_backend *own = built ? built : hc_backend_among(others, added, name);
    if (own)
        return own;
    const struct hc_plugin *cuda = hc_plugin_cuda();
    return hc_backend_among(cuda->backends, cuda->count, name);
}

enum hc_status hc_backend_open(const struct hc_backend *backend, struct hc_queue **queue,
                               int threads)
{
    enum hc_status status = backend->open(backend, queue, threads);
    hc_float_state_undo(backend->name, "opened");
    return status;
}

/* The widest known accumulator has 64 bits. */
bool hc_accumulator_possible(const struct hc_accumulator *a)
{
    return a->precision >= 8 && a->precision <= 64 && a->block >= 1 && a->block <= 1 << 16 &&
           a->extra_bits >= 0 && a->extra_bits <= 64;
}

bool hc_accumulator_same(const struct hc_accumulator *a, const struct hc_accumulator *b)
{
    return a->precision == b->precision && a->block == b->block && a->extra_bits == b->extra_bits &&
           a->truncates == b->truncates && a->flushes == b->flushes &&
           a->aligns_subnormals == b->aligns_subnormals && a->takes_scales == b->takes_scales;
}

struct hc_accumulator hc_backend_accumulator(const struct hc_backend *backend,
                                             const struct hc_call *call)
{
    struct hc_accumulator found;
    if (hc_backend_found_of(backend, call, &found))
        return found;
    if (!backend->accumulates)
        return backend->accumulator;
    struct hc_accumulator of_call = backend->accumulates(backend, call);
    return hc_accumulator_possible(&of_call) ? of_call : backend->accumulator;
}

enum hc_status hc_backend_has(const struct hc_backend *backend, const struct hc_call *call)
{
    const char *op = hc_ops[call->op].name;
    if (!backend->kernel[call->op])
        return hc_fail(HC_UNSUPPORTED, "%s has no %s", backend->name, op);
    if (!backend->fp64 && hc_call_fp64(call))
        return hc_fail(HC_UNSUPPORTED, "%s has no %s in fp64", backend->name, op);
    return HC_OK;
}
