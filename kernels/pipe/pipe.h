/* A program as a backend: `--backend 'pipe:python3 mine.py'`.

   halfcheck starts the program by /bin/sh -c and speaks the protocol of docs/pipe.md with it,
   through its standard input and output. Once its greeting is read it is a backend as any other: a
   kernel sends the call, and copies what comes back into the call's outputs, so that nothing which
   the program sends can be written anywhere else. */
#ifndef HC_KERNELS_PIPE_PIPE_H
#define HC_KERNELS_PIPE_PIPE_H

#include "backend.h"

#define HC_PIPE_PREFIX    "pipe:"    /* pipe:COMMAND starts a program */
#define HC_PIPE_FD_PREFIX "pipe-fd:" /* pipe-fd:R,W: it runs already, and has the other ends */

/* How long a program may take for its greeting and for one call, from now on. */
void hc_pipe_set_time_limit(double seconds);

/* The option that sets this limit again, for the commands that repeat a result on a program:
   " --call-limit 5"; "" if it is HC_PIPE_TIME_LIMIT. The text lives until the next call. */
#define HC_PIPE_TIME_LIMIT 60
const char *hc_pipe_options(void);

/* Whether the spelling begins with one of the prefixes. */
bool hc_pipe_is_spelled(const char *spelling);

/* The backend behind `spelling`, which begins with one of the prefixes; the same one for the same
   spelling. It starts the program to read its greeting, and lives as long as this program. NULL,
   with a line, if the program cannot be started, or greets wrongly or not at all. */
const struct hc_backend *hc_pipe_backend(const char *spelling);

/* Kills all programs that run, with all that they have started. A signal handler that ends this
   program at once calls it. */
void hc_pipe_kill_all(void);

#endif
