/* hc_do: runs a call with tensors in host memory between guards (check/guarded.h), and most calls
   twice: a result that depends on what memory held before, or on the calls before, does not
   repeat. */
#include "check/run_call.h"

#include <stdbool.h>

#include "check/digest.h"
#include "check/free_order.h"
#include "check/omissions.h"
#include "check/check_inner.h"
#include "op/descriptor.h"
#include "op/digest.h"
#include "op/later.h"

static enum hc_status check_batch(const struct hc_call *call)
{
    const struct hc_tensor *order = &call->in[HC_AUGMENT_ORDER];
    int64_t images = call->in[HC_AUGMENT_PIXELS].shape[0];
    if (hc_tensor_get(&call->in[HC_AUGMENT_STEPS], 0) < 0)
        return hc_fail(HC_INVALID, "augment: a negative number of steps");
    for (int64_t i = 0; order->data && i < hc_tensor_count(order); i++) {
        double image = hc_tensor_get(order, i);
        if (image < 0 || image >= (double)images)
            return hc_fail(HC_INVALID, "augment: order %.0f is no image of 0 to %lld", image,
                           (long long)images - 1);
    }
    return HC_OK;
}

static enum hc_status check_labels(const struct hc_call *call)
{
    const struct hc_tensor *logits = &call->in[HC_XENT_LOGITS];
    for (int64_t i = 0; i < logits->shape[0]; i++) {
        double label = hc_tensor_get(&call->in[HC_XENT_LABELS], i);
        if (label < 0 || label >= (double)logits->shape[1])
            return hc_fail(HC_INVALID, "%s: label %.0f is not a class of 0 to %lld",
                           hc_ops[call->op].name, label, (long long)logits->shape[1] - 1);
    }
    return HC_OK;
}

static bool lacks_data(const struct hc_tensor *t, const struct hc_slot *slot)
{
    return !t->data && !slot->optional && hc_tensor_count(t) > 0;
}

/* What hc_call_check cannot see, since it does not look at data: that there is some, that labels
   are classes, that an order has images. */
static enum hc_status check_data(const struct hc_call *call)
{
    const char *op = hc_ops[call->op].name;
    const struct hc_descriptor *d = hc_descriptor(call->op);
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        if (lacks_data(&call->in[i], &d->in[i]))
            return hc_fail(HC_INVALID, "%s: %s has no data", op, d->in[i].name);
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        if (lacks_data(&call->out[o], &d->out[o]))
            return hc_fail(HC_INVALID, "%s: %s has no data", op, d->out[o].name);
    if (call->op == HC_OP_gemm && call->params.gemm.beta != 0 && !call->in[HC_GEMM_C].data &&
        hc_tensor_count(&call->out[HC_GEMM_OUT]) > 0)
        return hc_fail(HC_INVALID, "gemm: beta is not 0, and c has no data");
    if (hc_ops[call->op].class_ == HC_CLASS_LOSS)
        return check_labels(call);
    return call->op == HC_OP_augment ? check_batch(call) : HC_OK;
}

static enum hc_status run_kernel(const struct hc_backend *backend, struct hc_queue *queue,
                                 const void *call)
{
    const struct hc_call *guarded = call;
    return backend->kernel[guarded->op](queue, guarded);
}

/* The operands of a call, and of its copy that runs between guards. */
static void list_operands(const struct hc_call *call, struct hc_call *inside,
                          struct hc_guarded_operand *operand)
{
    const struct hc_descriptor *d = hc_descriptor(call->op);
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        *operand++ = (struct hc_guarded_operand){d->in[i].name, &call->in[i], &inside->in[i], -1};
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        *operand++ =
            (struct hc_guarded_operand){d->out[o].name, &call->out[o], &inside->out[o], -1};
}

/* Runs a valid call, and digests it unless `digest` is NULL. An output may overwrite an input, so
   the inputs are read before anything is written back. */
static enum hc_status run_valid(const struct hc_backend *backend, struct hc_queue *queue,
                                const struct hc_call *call, struct hc_breach *breach,
                                uint64_t *digest)
{
    struct hc_call inside = *call;
    struct hc_guarded_operand operand[HC_MAX_IN + HC_MAX_OUT];
    struct hc_region region[HC_MAX_IN + HC_MAX_OUT + 1];
    struct hc_guarded g = {.backend = backend,
                           .queue = queue,
                           .name = hc_ops[call->op].name,
                           .inputs = hc_ops[call->op].inputs,
                           .outputs = hc_ops[call->op].outputs,
                           .operand = operand,
                           .region = region,
                           .scratch = &inside.scratch,
                           .scratch_bytes = backend->scratch ? backend->scratch(queue, call) : 0,
                           .run = run_kernel,
                           .call = &inside,
                           .built_in = hc_is_built_in(backend),
                           .repeats = !backend->nondeterministic || hc_op_settled(call->op)};
    list_operands(call, &inside, operand);
    breach->text[0] = '\0';
    enum hc_status status = hc_guarded_open(&g);
    if (status == HC_OK)
        status = hc_guarded_run(&g, breach);
    if (status == HC_OK) {
        uint64_t inputs = digest ? hc_digest_inputs(call) : 0;
        hc_guarded_write_back(&g);
        if (digest)
            *digest = hc_digest_outputs(inputs, call);
    }
    hc_guarded_close(&g);
    return status;
}

static enum hc_status run_call(const struct hc_backend *backend, struct hc_queue *queue,
                               const struct hc_call *call, struct hc_breach *breach,
                               uint64_t *digest)
{
    breach->text[0] = '\0';
    enum hc_status status = hc_backend_has(backend, call);
    if (status == HC_OK)
        status = hc_call_check(call);
    if (status == HC_OK)
        status = check_data(call);
    return status == HC_OK ? run_valid(backend, queue, call, breach, digest) : status;
}

enum hc_status hc_run_call(const struct hc_backend *backend, struct hc_queue *queue,
                           const struct hc_call *call, struct hc_breach *breach)
{
    return run_call(backend, queue, call, breach, NULL);
}

static enum hc_status note_breach(struct hc_check *check, const struct hc_backend *backend,
                                  enum hc_status status, const struct hc_breach *breach)
{
    if (breach->text[0]) {
#pragma omp critical(hc_breach)
        hc_check_breach(check, backend->name, breach->text);
    }
    return status;
}

enum hc_status hc_do_on(struct hc_check *check, const struct hc_backend *backend,
                        struct hc_queue *queue, const struct hc_call *call, uint64_t *digest)
{
    struct hc_breach breach;
    enum hc_status status = run_call(backend, queue, call, &breach, digest);
    return note_breach(check, backend, status, &breach);
}

enum hc_status hc_do_on_exact(struct hc_check *check, const struct hc_call *call)
{
    struct hc_breach breach = {""};
    if (check->bits_only)
        return HC_OK;
    enum hc_status status = hc_backend_has(check->exact, call);
    if (status == HC_OK)
        status = run_valid(check->exact, check->exact_queue, call, &breach, NULL);
    return note_breach(check, check->exact, status, &breach);
}

/* apex rounds beta2 to fp32 first, so that another order has another real value. */
static bool changes_with_its_order(const struct hc_call *call)
{
    return (call->op == HC_OP_adam || call->op == HC_OP_adamw) &&
           call->params.adam.order == HC_ORDER_APEX;
}

void hc_check_lacks(struct hc_check *check, const struct hc_call *call)
{
    const struct hc_backend *backend = check->backend;
    bool absent = hc_ops[call->op].class_ == HC_CLASS_DEFINED && !backend->kernel[call->op];
    check->lacks |= absent || (!backend->fp64 && hc_call_fp64(call));
}

enum hc_status hc_do(struct hc_check *check, const struct hc_call *call)
{
    enum hc_status status = HC_OK;
    if (changes_with_its_order(call))
        status = hc_order_stated(check, call);
    if (status == HC_OK) {
        hc_order_note(check, call);
        uint64_t digest = 0;
        bool digests = hc_check_digests(check, call);
        status = hc_do_on(check, check->backend, check->queue, call, digests ? &digest : NULL);
        hc_check_digest_add(check, digest);
    }
    bool kernel = status == HC_OK || (status == HC_UNSUPPORTED && !check->order_stated &&
                                      hc_backend_has(check->backend, call) == HC_OK);
    if (kernel && check->omissions && hc_omissions_counts_calls(check->backend))
        hc_omissions_call(check->omissions, check->backend->name, check->what, call,
                          status == HC_OK);
    check->refused |= kernel && status == HC_UNSUPPORTED;
    hc_check_lacks(check, call);
    (void)hc_check_ok(check, status);
    return status;
}
