/* hc_do: a call with tensors in host memory, run on a backend with memory of its own. */
#include <stdbool.h>

#include "check/do.h"
#include "check/tally.h"
#include "op/contract.h"

/* Memory of the backend that stands for host memory while a call runs. */
struct loan {
    void *host;
    void *device;
};

struct loans {
    const struct hc_backend *backend;
    struct hc_queue *queue;
    struct loan slot[HC_MAX_IN + HC_MAX_OUT];
    int count;
};

/* Puts device memory with the same bytes into the slot; what is one tensor on the host is one tensor
   there, so that a call in place stays one. */
static enum hc_status lend(struct loans *loans, struct hc_tensor *t)
{
    const struct hc_backend *backend = loans->backend;
    size_t bytes = hc_tensor_bytes(t);
    void *host = t->data;
    if (!host)
        return HC_OK;
    for (int i = 0; i < loans->count; i++)
        if (loans->slot[i].host == host && bytes) {
            t->data = loans->slot[i].device;
            return HC_OK;
        }
    t->data = backend->allocate(loans->queue, bytes ? bytes : 1);
    if (!t->data)
        return HC_NO_MEMORY;
    loans->slot[loans->count++] = (struct loan){host, t->data};
    return backend->upload(loans->queue, t->data, host, bytes);
}

static enum hc_status lend_all(struct loans *loans, struct hc_call *device)
{
    const struct hc_op_info *op = &hc_ops[device->op];
    enum hc_status status = HC_OK;
    for (int i = 0; i < op->inputs && status == HC_OK; i++)
        status = lend(loans, &device->in[i]);
    for (int i = 0; i < op->outputs && status == HC_OK; i++)
        status = lend(loans, &device->out[i]);
    return status;
}

static enum hc_status fetch(struct loans *loans, const struct hc_call *call,
                            const struct hc_call *device)
{
    enum hc_status status = HC_OK;
    for (int i = 0; i < hc_ops[call->op].outputs && status == HC_OK; i++)
        if (call->out[i].data)
            status = loans->backend->download(loans->queue, call->out[i].data, device->out[i].data,
                                              hc_tensor_bytes(&call->out[i]));
    return status;
}

static enum hc_status check_batch(const struct hc_call *call)
{
    const struct hc_tensor *order = &call->in[3];
    if (hc_tensor_get(&call->in[2], 0) < 0)
        return hc_fail(HC_INVALID, "augment: a negative number of steps");
    for (int64_t i = 0; order->data && i < hc_tensor_count(order); i++) {
        double image = hc_tensor_get(order, i);
        if (image < 0 || image >= (double)call->in[0].shape[0])
            return hc_fail(HC_INVALID, "augment: order %.0f is no image of 0 to %lld", image,
                           (long long)call->in[0].shape[0] - 1);
    }
    return HC_OK;
}

/* What op/call.c cannot see, since it does not look at data: that there is some, that labels are
   classes, that an order has images. */
static enum hc_status check_data(const struct hc_call *call)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    const char *formats = hc_contracts[call->op].formats;
    for (int i = 0; i < op->inputs + op->outputs; i++) {
        bool output = i >= op->inputs;
        const struct hc_tensor *t = output ? &call->out[i - op->inputs] : &call->in[i];
        if (!t->data && !hc_slot_optional(formats[i]) && hc_tensor_count(t) > 0)
            return hc_fail(HC_INVALID, "%s: %s%d has no data", op->name, output ? "out" : "in",
                           output ? i - op->inputs : i);
    }
    if (call->op == HC_OP_gemm && call->params.gemm.beta != 0 && !call->in[2].data &&
        hc_tensor_count(&call->out[0]) > 0)
        return hc_fail(HC_INVALID, "gemm: beta is not 0, and in2 has no data");
    for (int64_t i = 0; op->class_ == HC_CLASS_LOSS && i < call->in[0].shape[0]; i++) {
        double label = hc_tensor_get(&call->in[1], i);
        if (label < 0 || label >= (double)call->in[0].shape[1])
            return hc_fail(HC_INVALID, "%s: label %.0f is not a class of 0 to %lld", op->name,
                           label, (long long)call->in[0].shape[1] - 1);
    }
    return call->op == HC_OP_augment ? check_batch(call) : HC_OK;
}

enum hc_status hc_run_call(const struct hc_backend *backend, struct hc_queue *queue,
                           const struct hc_call *call)
{
    enum hc_status status = hc_backend_has(backend, call);
    if (status == HC_OK)
        status = hc_call_check(call);
    if (status == HC_OK)
        status = check_data(call);
    if (status != HC_OK)
        return status;

    struct loans loans = {.backend = backend, .queue = queue};
    struct hc_call device = *call;
    size_t scratch = backend->scratch ? backend->scratch(queue, call) : 0;
    device.scratch = scratch ? backend->allocate(queue, scratch) : NULL;
    if (scratch && !device.scratch)
        status = HC_NO_MEMORY;
    if (status == HC_OK && !backend->host_memory)
        status = lend_all(&loans, &device);
    if (status == HC_OK)
        status = backend->kernel[call->op](queue, &device);
    if (status == HC_OK && !backend->host_memory)
        status = fetch(&loans, call, &device);
    for (int i = 0; i < loans.count; i++)
        backend->release(queue, loans.slot[i].device);
    if (device.scratch)
        backend->release(queue, device.scratch);
    return status;
}

enum hc_status hc_do(struct hc_check *check, const struct hc_call *call)
{
    enum hc_status status = hc_run_call(check->backend, check->queue, call);
    check->lacks_fp64 |= !check->backend->fp64 && hc_call_fp64(call);
    (void)hc_check_ok(check, status);
    return status;
}
