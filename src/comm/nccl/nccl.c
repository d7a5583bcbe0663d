/* The calls of NCCL that move gradients. What NCCL's documentation asks for is kept here: calls
   that must run at the same time stand in one group, each group is ended also where a call in it
   has failed, and nobody waits for a stream without asking for asynchronous errors. */
#include <sched.h>
#include <time.h>

#include "comm/nccl/inner.h"

static enum hc_status give_up(struct hc_device_comm *device)
{
    if (device->nccl)
        (void)ncclCommAbort(device->nccl);
    device->nccl = NULL;
    return HC_DEVICE;
}

enum hc_status hc_nccl_check(struct hc_device_comm *device, ncclResult_t result, const char *what)
{
    if (result == ncclSuccess)
        return HC_OK;
    const char *more = device->nccl ? ncclGetLastError(device->nccl) : "";
    (void)hc_fail(HC_DEVICE, "nccl: %s: %s%s%s", what, ncclGetErrorString(result),
                  more && *more ? ": " : "", more ? more : "");
    return give_up(device);
}

enum hc_status hc_nccl_check_cuda(struct hc_device_comm *device, cudaError_t error,
                                  const char *what)
{
    if (error == cudaSuccess)
        return HC_OK;
    (void)hc_fail(HC_DEVICE, "nccl: %s: %s", what, cudaGetErrorString(error));
    return give_up(device);
}

static bool type_of(enum hc_format format, ncclDataType_t *type)
{
    static const struct {
        enum hc_format format;
        ncclDataType_t type;
    } types[] = {{HC_FP16, ncclFloat16},
                 {HC_BF16, ncclBfloat16},
                 {HC_FP32, ncclFloat32},
                 {HC_FP64, ncclFloat64}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i].format == format) {
            *type = types[i].type;
            return true;
        }
    return false;
}

/* Ends the group also where a call in it has failed, whose error comes first. */
static enum hc_status end_group(struct hc_device_comm *device, ncclResult_t result,
                                const char *what)
{
    ncclResult_t ended = ncclGroupEnd();
    return hc_nccl_check(device, result != ncclSuccess ? result : ended, what);
}

static enum hc_status lost(void)
{
    return hc_fail(HC_DEVICE, "nccl: an earlier call has failed");
}

static enum hc_status sum(struct hc_device_comm *device, void *stream, enum hc_format format,
                          const struct hc_device_span *spans, int n)
{
    ncclDataType_t type;
    if (!device->nccl)
        return lost();
    if (!type_of(format, &type))
        return hc_fail(HC_UNSUPPORTED, "nccl: NCCL does not add %s", hc_formats[format].name);
    ncclResult_t result = ncclGroupStart();
    if (result != ncclSuccess)
        return hc_nccl_check(device, result, "beginning a group");
    for (int i = 0; i < n && result == ncclSuccess; i++)
        if (spans[i].count > 0)
            result = ncclAllReduce(spans[i].data, spans[i].data, (size_t)spans[i].count, type,
                                   ncclSum, device->nccl, stream);
    return end_group(device, result, "all-reduce");
}

static enum hc_status broadcast(struct hc_device_comm *device, void *stream, int root, void *data,
                                size_t bytes)
{
    if (!device->nccl)
        return lost();
    if (bytes == 0)
        return HC_OK;
    return hc_nccl_check(device,
                         ncclBroadcast(data, data, bytes, ncclUint8, root, device->nccl, stream),
                         "broadcast");
}

/* Outside a group each side would wait for the other to receive. */
static enum hc_status send_receive(struct hc_device_comm *device, void *stream, int to,
                                   const void *out, size_t out_bytes, int from, void *in,
                                   size_t in_bytes)
{
    if (!device->nccl)
        return lost();
    ncclResult_t result = ncclGroupStart();
    if (result != ncclSuccess)
        return hc_nccl_check(device, result, "beginning a group");
    if (to >= 0 && out_bytes > 0)
        result = ncclSend(out, out_bytes, ncclUint8, to, device->nccl, stream);
    if (result == ncclSuccess && from >= 0 && in_bytes > 0)
        result = ncclRecv(in, in_bytes, ncclUint8, from, device->nccl, stream);
    return end_group(device, result, "send and receive");
}

/* The first thousand times it only lets others run: what is queued is short, mostly. */
static void pause_between_polls(int64_t polls)
{
    static const struct timespec moment = {0, 50000};
    if (polls < 1000)
        (void)sched_yield();
    else
        (void)nanosleep(&moment, NULL);
}

/* cudaStreamSynchronize would not return where another rank is lost: the kernel on this device
   waits for its bytes. NCCL finds that out beside the stream. */
static enum hc_status wait(struct hc_device_comm *device, void *stream)
{
    cudaError_t error = cudaErrorNotReady;
    if (!device->nccl)
        return lost();
    for (int64_t polls = 0; error == cudaErrorNotReady; polls++) {
        ncclResult_t later = ncclSuccess;
        error = cudaStreamQuery(stream);
        ncclResult_t result = ncclCommGetAsyncError(device->nccl, &later);
        if (result != ncclSuccess || later != ncclSuccess)
            return hc_nccl_check(device, result != ncclSuccess ? result : later,
                                 "while ranks exchanged numbers");
        if (error == cudaErrorNotReady)
            pause_between_polls(polls);
    }
    return hc_nccl_check_cuda(device, error, "while ranks exchanged numbers");
}

const struct hc_device_comm_kind hc_nccl = {
    .abi = HC_DEVICE_COMM_ABI,
    .name = "nccl",
    .title = hc_nccl_title,
    .open = hc_nccl_open,
    .close = hc_nccl_close,
    .sum = sum,
    .broadcast = broadcast,
    .send_receive = send_receive,
    .wait = wait,
};
