/* A program behind a pipe: how it is spelled, what it has greeted with, and its queues. */
#ifndef HC_KERNELS_PIPE_PROGRAM_H
#define HC_KERNELS_PIPE_PROGRAM_H

#include "backend.h"
#include "kernels/pipe/greeting.h"

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

/* Slots of the vtable. A queue that is closed becomes idle. */
enum hc_status hc_pipe_open(const struct hc_backend *backend, struct hc_queue **queue, int threads);
void hc_pipe_close(struct hc_queue *queue);
void hc_pipe_describe(struct hc_queue *queue, hc_tell *tell, void *context);
hc_kernel hc_pipe_call;
enum hc_status hc_pipe_defined(struct hc_queue *queue, const struct hc_defined_call *call);

#endif
