#include "cases/observed.h"

#include <stdlib.h>
#include <string.h>

/* Kernels know their queue and their call alone. */
static _Thread_local struct hc_observed *now;
static _Thread_local const struct hc_backend *sound;

/* Parameters and batches come into their formats by casts. */
static bool is_needed(enum hc_op op)
{
    return op == HC_OP_augment || op == HC_OP_cast || op == HC_OP_rates || op == HC_OP_step_log ||
           op == HC_OP_scaler_update;
}

static enum hc_status bring(struct hc_queue *queue, struct hc_tensor *copy,
                            const struct hc_tensor *there, int n)
{
    enum hc_status status = HC_OK;
    for (int i = 0; i < n; i++) {
        size_t bytes = hc_tensor_bytes(&there[i]);
        if (!there[i].data || status != HC_OK)
            continue;
        copy[i].data = malloc(bytes ? bytes : 1);
        status = copy[i].data ? sound->download(queue, copy[i].data, there[i].data, bytes)
                              : hc_fail(HC_NO_MEMORY, "no memory to look at a tensor");
    }
    return status;
}

static enum hc_status run_and_show(struct hc_queue *queue, const struct hc_call *there)
{
    const struct hc_op_info *op = &hc_ops[there->op];
    bool looks = now->looks[there->op];
    enum hc_status status = HC_OK;
    struct hc_call copy = *there;
    for (int i = 0; i < HC_MAX_IN; i++)
        copy.in[i].data = NULL;
    for (int i = 0; i < HC_MAX_OUT; i++)
        copy.out[i].data = NULL;
    if (looks)
        status = bring(queue, copy.in, there->in, op->inputs);
    if (status == HC_OK && (now->computes || is_needed(there->op)))
        status = sound->kernel[there->op](queue, there);
    if (status == HC_OK && looks)
        status = bring(queue, copy.out, there->out, op->outputs);
    if (status == HC_OK)
        now->see(now, there, &copy);
    for (int i = 0; i < op->inputs; i++)
        free(copy.in[i].data);
    for (int i = 0; i < op->outputs; i++)
        free(copy.out[i].data);
    return status;
}

/* Without graphs, whose replays would not be seen. */
static struct hc_backend transparent(const struct hc_observed *observed)
{
    struct hc_backend backend = *sound;
    backend.host_memory = sound->host_memory && !observed->away;
    backend.capture = NULL;
    backend.captured = NULL;
    backend.replay = NULL;
    backend.forget = NULL;
    for (int op = 0; op < HC_OP_COUNT; op++)
        if (sound->kernel[op])
            backend.kernel[op] = run_and_show;
    return backend;
}

bool hc_observe_training(struct hc_observed *observed, struct hc_train_options *options,
                         struct hc_train_result *result)
{
    struct hc_backend backend;
    now = observed;
    sound = hc_check_backend(observed->check);
    backend = transparent(observed);
    options->backend = &backend;
    options->threads = 1;
    return hc_check_ok(observed->check, hc_train(options, result));
}
