/* hc_do: a call with tensors in host memory, run on a backend with memory of its own. */
#include <stdbool.h>
#include <string.h>

#include "check/do.h"
#include "check/tally.h"
#include "op/contract.h"

static enum hc_status to_device(const struct hc_backend *backend, struct hc_queue *queue,
                                struct hc_tensor *slots, int count)
{
    for (int i = 0; i < count; i++) {
        size_t bytes = hc_tensor_bytes(&slots[i]);
        const void *host = slots[i].data;
        if (!host)
            continue;
        slots[i].data = backend->allocate(queue, bytes ? bytes : 1);
        if (!slots[i].data)
            return hc_fail(HC_NO_MEMORY, "%s: no memory for %zu bytes", backend->name, bytes);
        enum hc_status status = backend->upload(queue, slots[i].data, host, bytes);
        if (status != HC_OK)
            return status;
    }
    return HC_OK;
}

/* What op/call.c cannot see, since it does not look at data: that there is some, and that labels are
   classes. */
static enum hc_status check_data(const struct hc_call *call)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    const char *formats = hc_contracts[call->op].formats;
    for (int i = 0; i < op->inputs + op->outputs; i++) {
        bool output = i >= op->inputs;
        const struct hc_tensor *t = output ? &call->out[i - op->inputs] : &call->in[i];
        bool optional = formats[i] == 'o' || formats[i] == 'b';
        if (!t->data && !optional && hc_tensor_count(t) > 0)
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
    return HC_OK;
}

enum hc_status hc_run_call(const struct hc_backend *backend, struct hc_queue *queue,
                           const struct hc_call *call)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    hc_kernel *kernel = backend->kernel[call->op];
    if (!kernel)
        return hc_fail(HC_UNSUPPORTED, "%s has no %s", backend->name, op->name);
    enum hc_status status = hc_call_check(call);
    if (status == HC_OK)
        status = check_data(call);
    if (status != HC_OK)
        return status;
    if (backend->host_memory && !(backend->scratch && backend->scratch(queue, call)))
        return kernel(queue, call);

    struct hc_call device = *call;
    void *in[HC_MAX_IN] = {0};
    void *out[HC_MAX_OUT] = {0};
    memset(&device.in, 0, sizeof device.in);
    memset(&device.out, 0, sizeof device.out);
    memcpy(device.in, call->in, sizeof device.in);
    memcpy(device.out, call->out, sizeof device.out);
    for (int i = 0; i < HC_MAX_IN; i++)
        in[i] = call->in[i].data;
    for (int i = 0; i < HC_MAX_OUT; i++)
        out[i] = call->out[i].data;

    status = to_device(backend, queue, device.in, op->inputs);
    if (status == HC_OK)
        status = to_device(backend, queue, device.out, op->outputs);
    size_t scratch = backend->scratch ? backend->scratch(queue, call) : 0;
    device.scratch = NULL;
    if (status == HC_OK && scratch) {
        device.scratch = backend->allocate(queue, scratch);
        if (!device.scratch)
            status = hc_fail(HC_NO_MEMORY, "%s: no memory for %zu bytes", backend->name, scratch);
    }
    if (status == HC_OK)
        status = kernel(queue, &device);
    for (int i = 0; i < op->outputs && status == HC_OK; i++)
        if (out[i])
            status = backend->download(queue, out[i], device.out[i].data,
                                       hc_tensor_bytes(&call->out[i]));

    for (int i = 0; i < op->inputs; i++)
        if (device.in[i].data && device.in[i].data != in[i])
            backend->release(queue, device.in[i].data);
    for (int i = 0; i < op->outputs; i++)
        if (device.out[i].data && device.out[i].data != out[i])
            backend->release(queue, device.out[i].data);
    if (device.scratch)
        backend->release(queue, device.scratch);
    return status;
}

enum hc_status hc_do(struct hc_check *check, const struct hc_call *call)
{
    enum hc_status status = hc_run_call(check->backend, check->queue, call);
    (void)hc_check_ok(check, status);
    return status;
}
