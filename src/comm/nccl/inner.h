/* What the files of halfcheck-nccl.so share. */
#ifndef HC_COMM_NCCL_INNER_H
#define HC_COMM_NCCL_INNER_H

#include <stdbool.h>

#include <nccl.h>

#include "comm/device.h"

struct hc_device_comm {
    struct hc_comm *comm; /* the processes, over which the ranks have met */
    ncclComm_t nccl;      /* NULL: a call has failed, and it was given up */
};

/* HC_OK, or HC_DEVICE with a line of NCCL's words; the communicator is then given up, so that no
   rank waits for this one. */
enum hc_status hc_nccl_check(struct hc_device_comm *device, ncclResult_t result, const char *what);
enum hc_status hc_nccl_check_cuda(struct hc_device_comm *device, cudaError_t error,
                                  const char *what);

/* The slots of opening. */
void hc_nccl_title(char text[64]);
enum hc_status hc_nccl_open(struct hc_device_comm **device, struct hc_comm *comm);
void hc_nccl_close(struct hc_device_comm *device);

extern const struct hc_device_comm_kind hc_nccl;

#endif
