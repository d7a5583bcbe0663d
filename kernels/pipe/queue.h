/* A queue of a pipe backend: one process of the program, the pipes to it, and memory that it has,
   too. */
#ifndef HC_KERNELS_PIPE_QUEUE_H
#define HC_KERNELS_PIPE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "backend.h"
#include "kernels/pipe/greeting.h"
#include "op/status.h"
#include "kernels/pipe/process.h"
#include "kernels/pipe/request.h"

enum { HC_LONGEST_LINE = 1 << 16 };

/* The outcome of an attempt to write or to read. */
enum hc_heard {
    HC_HEARD,
    HC_HEARD_END,  /* the program has closed its end */
    HC_HEARD_LATE, /* the time is over */
    HC_HEARD_LONG, /* a line of more than HC_LONGEST_LINE bytes */
    HC_HEARD_EARLY /* it speaks while it should listen, and does not listen */
};

/* What the program has sent, and nobody has taken yet, are the bytes from `begin` to `end`. */
struct hc_channel {
    int in;
    int out;
    size_t begin;
    size_t end;
    char buffer[HC_LONGEST_LINE];
};

/* Seconds of a clock that never goes back. */
double hc_channel_now(void);

/* `until` is a time of that clock. The parts are changed. */
enum hc_heard hc_channel_send(struct hc_channel *channel, struct iovec *parts, int count,
                              double until);

/* Takes the next line: *line ends with a zero in place of the newline, and lives until the next
   call. *length is without it; the line may hold zeros of its own. */
enum hc_heard hc_channel_line(struct hc_channel *channel, double until, char **line,
                              size_t *length);

/* Reads this many bytes, and sets *got to how many came. */
enum hc_heard hc_channel_bytes(struct hc_channel *channel, double until, void *to, size_t bytes,
                               size_t *got);

/* HC_HEARD if the program has sent nothing that was not asked for; HC_HEARD_EARLY if it has, or
   HC_HEARD_END. */
enum hc_heard hc_channel_quiet(const struct hc_channel *channel);

/* A program behind a pipe: how it is spelled, what it has greeted with, and its queues. */

struct hc_program {
    char *spelled;
    char *command; /* of the shell. NULL: it runs already, and these are its descriptors */
    int in;
    int out;
    struct hc_greeting greeting;
    struct hc_backend backend;
    struct hc_queue *idle; /* queues that nobody has open, with a process that runs */
    struct hc_program *next;
};

/* How long a program may take, in seconds. */
double hc_pipe_time_limit(void);

/* A queue with a process of its own, which has been started and has sent the greeting that is read
   into *greeting. HC_DEVICE, HC_INVALID or HC_NO_MEMORY with a line. */
enum hc_status hc_pipe_start(const struct hc_program *program, struct hc_queue **queue,
                             struct hc_greeting *greeting);

/* Ends the process, and frees the queue. */
void hc_pipe_stop(struct hc_queue *queue);

hc_kernel hc_pipe_call;
enum hc_status hc_pipe_defined(struct hc_queue *queue, const struct hc_defined_call *call);

/* Memory that the program has, too, for large tensors. It can only grow: a mapping of it stays
   valid whatever the program does to the file. */

struct hc_shared {
    int file; /* -1: there is none */
    unsigned char *memory;
    size_t bytes;
};

/* Opens shared memory; `shared` has no file if the system has no such memory. */
void hc_shared_open(struct hc_shared *shared);
void hc_shared_close(struct hc_shared *shared);

/* Makes it at least so large. HC_NO_MEMORY with a line. */
enum hc_status hc_shared_grow(struct hc_shared *shared, size_t bytes);

struct hc_queue {
    const struct hc_program *program;
    struct hc_queue *next; /* of the program's idle queues */
    struct hc_process process;
    struct hc_shared shared;
    bool runs;      /* there is a process, and it has greeted */
    int failures;   /* since the last good call */
    uint64_t calls; /* how many were made */
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
