/* For tests: a stand-in for NCCL without devices, whose ranks are threads of one process. Work is
   queued on the emulated streams and done as late as it may be, so that a test sees whether
   somebody reads, writes or frees memory too early. It looks at more than NCCL does, and keeps the
   first thing that is wrong as a line: where NCCL would hang, compute something else or corrupt
   memory, a finding says which rank did what.

   HALFCHECK_STANDIN (standin.h) says what fails:
     ncclAllReduce:2=3   the second call of ncclAllReduce, by any rank, returns 3
     async=2             the second meeting of ranks fails after its calls have returned
     nccl1=21000         NCCL's version on device 1
     patience=300        milliseconds after which a rank that has not come will not come */
#ifndef HC_KERNELS_CUDA_STANDIN_NCCL_CLIQUE_H
#define HC_KERNELS_CUDA_STANDIN_NCCL_CLIQUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <nccl.h>

enum { HC_STANDIN_RANKS = 16, HC_STANDIN_GROUP = 256 };

/* The first finding since the last call of hc_standin_nccl_reset; empty: none. */
const char *hc_standin_nccl_finding(void);
void hc_standin_nccl_reset(void);

#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void hc_standin_nccl_find(const char *format, ...);

enum hc_standin_kind {
    HC_STANDIN_ALL_REDUCE,
    HC_STANDIN_BROADCAST,
    HC_STANDIN_SEND,
    HC_STANDIN_RECEIVE
};

/* One call of a rank. */
struct hc_standin_call {
    enum hc_standin_kind kind;
    const void *send;
    void *receive;
    size_t count;
    ncclDataType_t type;
    ncclRedOp_t op;
    int peer; /* the root of a broadcast; the other side of a send or receive */
    ncclComm_t comm;
    cudaStream_t stream;
    int64_t number; /* of the comm's all-reduces and broadcasts; or of those with this peer */
    int place;      /* in its group, of `group` calls */
    int group;
};

/* Where ranks meet over one call: at the number of a collective, or of a message from a to b. */
struct hc_standin_meeting {
    struct hc_standin_meeting *next;
    int64_t number;
    int from; /* -1: of all ranks */
    int to;
    int arrived;
    int left;
    bool done;
    struct hc_standin_call call[HC_STANDIN_RANKS];
};

/* The ranks with one id. */
struct hc_standin_clique {
    struct hc_standin_clique *next;
    ncclUniqueId id;
    int size;
    int joined;
    struct ncclComm *rank[HC_STANDIN_RANKS];
    struct hc_standin_meeting *meetings;
    int64_t held; /* meetings so far */
    ncclResult_t error;
};

struct ncclComm {
    struct hc_standin_clique *clique;
    int rank;
    int device;
    int64_t collectives;
    int64_t sent[HC_STANDIN_RANKS];
    int64_t received[HC_STANDIN_RANKS];
    cudaStream_t stream; /* of its last call */
    int queued;          /* calls that its stream has not reached */
    bool stuck;          /* its stream came to a call, which failed: it waits for ever */
};

/* One lock for all; `hc_standin_changed` is signalled where a meeting is joined or given up. */
extern pthread_mutex_t hc_standin_lock;
extern pthread_cond_t hc_standin_changed;

/* The time until which ranks are waited for. */
struct timespec hc_standin_nccl_patience(void);

/* Checks a call and queues it on its stream, or puts it into the group that is open. */
ncclResult_t hc_standin_nccl_call(struct hc_standin_call *call);

/* Ends work of the clique with an error. The lock is held. */
void hc_standin_nccl_fail(struct hc_standin_clique *clique, ncclResult_t error);

/* Takes away what the comm has queued. The lock is held. */
void hc_standin_nccl_cancel(const struct ncclComm *comm);

/* Whether freed memory is in use. The lock is held. */
void hc_standin_nccl_freed(const void *memory);

/* Does the calls of a group on a stream, together with the other ranks. The lock is held. */
void hc_standin_nccl_meet(struct hc_standin_call *calls, int n);

/* The result with which this call of the function is to fail. */
ncclResult_t hc_standin_nccl_planted(const char *function, int *calls);

/* Bytes of a number; 0: no such type. */
size_t hc_standin_nccl_bytes(ncclDataType_t type);

/* The sums of a meeting, into every rank's memory. */
void hc_standin_nccl_sum(const struct hc_standin_meeting *meeting, int size);

#endif
