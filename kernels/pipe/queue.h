/* A queue of a pipe backend: one process of the program. */
#ifndef HC_KERNELS_PIPE_QUEUE_H
#define HC_KERNELS_PIPE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/pipe/channel.h"
#include "kernels/pipe/process.h"
#include "kernels/pipe/program.h"
#include "kernels/pipe/request.h"
#include "kernels/pipe/shared.h"

struct hc_queue {
    const struct hc_program *program;
    struct hc_queue *next; /* of the program's idle queues */
    struct hc_process process;
    struct hc_shared shared;
    bool runs;      /* there is a process, and it has greeted */
    int failures;   /* since the last good call */
    uint64_t calls; /* so many were made */
    void *staging;  /* for tensors that are permuted and do not go by shared memory */
    size_t staging_bytes;
    struct hc_request request;
    struct hc_channel channel;
};

enum { HC_WHAT_TEXT = 96 };

/* Starts the process anew if it has been ended. HC_DEVICE with a line if that fails, or has failed
   too often. */
enum hc_status hc_queue_revive(struct hc_queue *queue);

/* Ends the process, which has broken the protocol in the call of queue->request, and returns
   HC_DEVICE with a line:
   "NAME died by signal 11 in call 17, adamw bf16 [37]". The format says what stands before "call";
   where `heard` is HC_HEARD it says everything. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
enum hc_status
hc_queue_break(struct hc_queue *queue, enum hc_heard heard, const char *format, ...);

#endif
