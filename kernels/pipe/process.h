/* A program that halfcheck has started, and the pipes to it. */
#ifndef HC_KERNELS_PIPE_PROCESS_H
#define HC_KERNELS_PIPE_PROCESS_H

#include <sys/types.h>

#include "op/status.h"

/* The number of the descriptor by which the program has the shared memory. */
enum { HC_PROCESS_SHARED = 3 };

struct hc_process {
    pid_t pid; /* also the number of its process group; 0: it was not started by us, or has ended */
    int in;    /* what it says is read here, */
    int out;   /* and what it hears is written here; neither of them waits. -1: closed */
};

/* What a command is. */
enum hc_command {
    HC_COMMAND_ABSENT, /* /bin/sh does not find its first word */
    HC_COMMAND_FILE,   /* a file and plain words, so that the shell need not stay */
    HC_COMMAND_OTHER
};

enum hc_command hc_process_find(const char *command);

/* Starts /bin/sh -c COMMAND as a process group of its own, and from then on ignores SIGPIPE. The
   program has descriptor `shared` as number 3, unless that is -1, and none of our others. HC_DEVICE
   with a line. */
enum hc_status hc_process_start(struct hc_process *process, const char *command, int shared);

/* Takes two descriptors that this program has inherited. HC_INVALID with a line if they are not
   such. */
enum hc_status hc_process_adopt(struct hc_process *process, int in, int out);

enum { HC_ENDED_TEXT = 64 };

/* Closes the pipes and waits this many seconds for the end; then the whole group gets SIGTERM, and
   soon SIGKILL. Nothing of the group is left. `how` says how it ended by itself, "died by signal
   11"; it is empty if it had to be ended. */
void hc_process_end(struct hc_process *process, double seconds, char how[HC_ENDED_TEXT]);

/* Kills the groups of all processes that run, at once. A signal handler may call it. */
void hc_process_kill_all(void);

#endif
