/* How ranks find each other. They first tell each other, over the comm of processes, what each has:
   NCCL itself would wait for a rank that cannot come, and names no rank in its errors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm/nccl/inner.h"

/* ncclGetLastError came with 2.13. */
enum { OLDEST = 21300 };

/* What a rank says of itself. */
struct ready {
    int version;   /* NCCL's code; 0: this rank cannot */
    char host[64]; /* for lines */
    char boot[40]; /* the machine, the same in all of its containers; empty: unknown */
    char gpu[32];  /* its PCI bus, which names it on its machine */
    char why[256]; /* this rank cannot */
};

static const char *version_text(int code, char text[32])
{
    (void)snprintf(text, 32, "%d.%d.%d", code / 10000, code / 100 % 100, code % 100);
    return text;
}

void hc_nccl_title(char text[64])
{
    char number[32];
    int code = 0;
    (void)ncclGetVersion(&code);
    (void)snprintf(text, 64, "NCCL %s", version_text(code, number));
}

static void read_boot(char boot[40])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file && !fgets(boot, 40, file))
        boot[0] = '\0';
    if (file)
        (void)fclose(file);
}

static void look(struct ready *mine, bool memory)
{
    char text[32];
    int code = 0;
    int gpu = 0;
    if (gethostname(mine->host, sizeof mine->host - 1) != 0)
        (void)snprintf(mine->host, sizeof mine->host, "unknown");
    read_boot(mine->boot);
    cudaError_t error = cudaGetDevice(&gpu);
    if (error == cudaSuccess)
        error = cudaDeviceGetPCIBusId(mine->gpu, sizeof mine->gpu, gpu);
    ncclResult_t result = ncclGetVersion(&code);
    if (result != ncclSuccess)
        (void)snprintf(mine->why, sizeof mine->why, "no version: %s", ncclGetErrorString(result));
    else if (code < OLDEST)
        (void)snprintf(mine->why, sizeof mine->why, "NCCL is %s, needed 2.13",
                       version_text(code, text));
    else if (error != cudaSuccess)
        (void)snprintf(mine->why, sizeof mine->why, "no GPU: %s", cudaGetErrorString(error));
    else if (!memory)
        (void)snprintf(mine->why, sizeof mine->why, "no memory");
    else
        mine->version = code;
}

static bool same_gpu(const struct ready *a, const struct ready *b)
{
    bool same_machine =
        a->boot[0] && b->boot[0] ? strcmp(a->boot, b->boot) == 0 : strcmp(a->host, b->host) == 0;
    return same_machine && strcmp(a->gpu, b->gpu) == 0;
}

/* The first reason, in the order of ranks, why these cannot work together: the same line on all. */
static enum hc_status judge(const struct ready *all, int size)
{
    char theirs[32];
    char ours[32];
    for (int r = 0; r < size; r++)
        if (all[r].version == 0)
            return hc_fail(HC_DEVICE, "nccl: rank %d on %s: %s", r, all[r].host, all[r].why);
    for (int r = 1; r < size; r++) {
        if (all[r].version != all[0].version)
            return hc_fail(HC_DEVICE, "nccl: rank %d on %s has NCCL %s, rank 0 has %s", r,
                           all[r].host, version_text(all[r].version, theirs),
                           version_text(all[0].version, ours));
        for (int other = 0; other < r; other++)
            if (same_gpu(&all[r], &all[other]))
                return hc_fail(HC_DEVICE,
                               "nccl: ranks %d and %d on %s share the GPU %s; NCCL needs one for "
                               "each rank",
                               other, r, all[r].host, all[r].gpu);
    }
    return HC_OK;
}

/* All ranks reach the same verdict, since all see the same table. */
static enum hc_status agree(struct hc_comm *comm, bool memory)
{
    struct ready mine = {0};
    struct ready *all = calloc((size_t)comm->size, sizeof *all);
    look(&mine, memory);
    if (!all)
        return hc_fail(HC_NO_MEMORY, "nccl: no memory for %d ranks", comm->size);
    enum hc_status status = comm->kind->all_gather(comm, &mine, sizeof mine, all);
    if (status == HC_OK)
        status = judge(all, comm->size);
    free(all);
    return status;
}

/* The id travels with rank 0's result: where it has none, nobody waits for it. */
static enum hc_status meet(struct hc_device_comm *device)
{
    struct {
        ncclResult_t result;
        ncclUniqueId id;
    } start = {ncclSuccess, {{0}}};
    struct hc_comm *comm = device->comm;
    if (comm->rank == 0)
        start.result = ncclGetUniqueId(&start.id);
    enum hc_status status = comm->kind->broadcast(comm, 0, &start, sizeof start);
    if (status == HC_OK)
        status = hc_nccl_check(device, start.result, "rank 0 makes an id");
    if (status != HC_OK)
        return status;
    return hc_nccl_check(device, ncclCommInitRank(&device->nccl, comm->size, start.id, comm->rank),
                         "meeting");
}

enum hc_status hc_nccl_open(struct hc_device_comm **device, struct hc_comm *comm)
{
    struct hc_device_comm *made = calloc(1, sizeof *made);
    *device = NULL;
    enum hc_status status = agree(comm, made);
    if (status == HC_OK && made) {
        made->comm = comm;
        status = meet(made);
    }
    if (status == HC_OK)
        *device = made;
    else
        hc_nccl_close(made);
    return status;
}

void hc_nccl_close(struct hc_device_comm *device)
{
    if (device && device->nccl)
        (void)ncclCommDestroy(device->nccl);
    free(device);
}
