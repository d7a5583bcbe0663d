/* Collectives on the memory of GPUs, queued on the stream of a backend's queue.

   They stand on a comm of processes (comm.h), over which the ranks find each other: NCCL itself
   starts nothing. halfcheck-nccl.so has them, a plug-in that is linked with the machine's libnccl
   and is loaded when somebody asks for them; without it, vectors pass through host memory.

   Every call is collective, in the same order on all ranks, from the thread that opened it. What a
   call queues is done later: until `wait` has returned, nobody but the same stream may touch or
   free the memory, and nothing is known of failures. */
#ifndef HC_COMM_DEVICE_H
#define HC_COMM_DEVICE_H

#include "comm/comm.h"

/* Grows with every change of this header. A plug-in of another version is refused. */
#define HC_DEVICE_COMM_ABI 1u

struct hc_device_comm;

/* `count` numbers in the device's memory. */
struct hc_device_span {
    void *data;
    int64_t count;
};

/* A stream is a cudaStream_t. Statuses are HC_OK, HC_UNSUPPORTED, HC_NO_MEMORY or HC_DEVICE, with a
   line. After HC_DEVICE only `close` may be called. */
struct hc_device_comm_kind {
    unsigned abi;
    const char *name;             /* nccl */
    void (*title)(char text[64]); /* "NCCL 2.28.9": for doctor and records */

    /* The GPU is the one that is current in this thread: open the backend's queue before. The comm
       stays open until `close`. All ranks fail if one does, each with a line. */
    enum hc_status (*open)(struct hc_device_comm **device, struct hc_comm *comm);

    /* The streams must have been waited for, unless a call has failed. NULL is allowed. */
    void (*close)(struct hc_device_comm *device);

    /* Each span becomes the sum over ranks, in place, in the library's own order. HC_UNSUPPORTED,
       on all ranks, for formats that it does not add. */
    enum hc_status (*sum)(struct hc_device_comm *device, void *stream, enum hc_format format,
                          const struct hc_device_span *spans, int n);

    /* The bytes of rank `root` to everybody. */
    enum hc_status (*broadcast)(struct hc_device_comm *device, void *stream, int root, void *data,
                                size_t bytes);

    /* Does what the slot of struct hc_comm_kind does. `out` and `in` do not overlap. */
    enum hc_status (*send_receive)(struct hc_device_comm *device, void *stream, int to,
                                   const void *out, size_t out_bytes, int from, void *in,
                                   size_t in_bytes);

    /* Returns when all that was queued on the stream is done, or has failed: a rank or a link that
       is lost is an error here, not a hang. */
    enum hc_status (*wait)(struct hc_device_comm *device, void *stream);
};

/* What a plug-in exports under the name hc_device_comm_plugin. `fail` is the program's hc_fail, so
   that its lines arrive there. */
typedef enum hc_status hc_comm_fail(enum hc_status status, const char *format, ...);
typedef const struct hc_device_comm_kind *hc_device_comm_entry(hc_comm_fail *fail);

/* The plug-in of the file that the environment variable HALFCHECK_NCCL_PLUGIN names; or else of
   halfcheck-nccl.so in ../lib/halfcheck, seen from the program's folder, or in that folder. It is
   looked for once. HC_UNSUPPORTED, with a line, if there is none that loads. */
enum hc_status hc_device_comm_load(const struct hc_device_comm_kind **kind);

#endif
