/* Ranks that are threads, each with a device and a stream of the stand-in. */
#ifndef HC_COMM_NCCL_TESTING_H
#define HC_COMM_NCCL_TESTING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "comm/device.h"
#include "kernels/cuda/standin/nccl/clique.h"

enum { NUMBERS = 100 };

/* What a rank has. */
struct bench_rank {
    struct hc_comm *comm;
    const struct hc_device_comm_kind *kind;
    struct hc_device_comm *device;
    cudaStream_t stream;
    char *data; /* 8 NUMBERS bytes of the device */
    char *more; /* as many */
};

static inline void use_standin(const char *settings)
{
    char text[256];
    const char *patience = getenv("HALFCHECK_PATIENCE"); /* of the script mutants */
    (void)snprintf(text, sizeof text, "devices=8%s%s,patience=%s", settings ? "," : "",
                   settings ? settings : "", patience ? patience : "5000");
    (void)setenv("HALFCHECK_STANDIN", text, 1);
    (void)setenv("HALFCHECK_NCCL_PLUGIN", HC_NCCL_PLUGIN, 0);
    hc_standin_nccl_reset();
}

/* Takes device `number`, and memory and a stream there. */
static inline enum hc_status take(struct bench_rank *r, struct hc_comm *comm, int number)
{
    *r = (struct bench_rank){.comm = comm};
    bool taken = cudaSetDevice(number) == cudaSuccess &&
                 cudaStreamCreateWithFlags(&r->stream, cudaStreamNonBlocking) == cudaSuccess &&
                 cudaMalloc((void **)&r->data, 8 * NUMBERS) == cudaSuccess &&
                 cudaMalloc((void **)&r->more, 8 * NUMBERS) == cudaSuccess;
    return taken ? hc_device_comm_load(&r->kind) : hc_fail(HC_DEVICE, "no device");
}

static inline enum hc_status take_and_open(struct bench_rank *r, struct hc_comm *comm, int number)
{
    enum hc_status status = take(r, comm, number);
    return status == HC_OK ? r->kind->open(&r->device, comm) : status;
}

/* Releases things in the order in which a backend does. */
static inline void give_back(struct bench_rank *r)
{
    if (r->kind)
        r->kind->close(r->device);
    (void)cudaStreamSynchronize(r->stream);
    (void)cudaFree(r->data);
    (void)cudaFree(r->more);
    (void)cudaStreamDestroy(r->stream);
}

#endif
