/* What keeps a run able to speak after a kernel has spoilt the process: a stack for the handlers of
   signals, and the limit of what it may write into one file. */
#ifndef HC_CHECK_LAST_WORD_H
#define HC_CHECK_LAST_WORD_H

#include <stddef.h>

/* A stack for the handlers of signals in the thread that calls this. Where a kernel has used up the
   thread's own, no handler could run there, and the program would end without a word. NULL where
   the thread has one, or there is no memory. Free it in the same thread. */
void *hc_handler_stack_begin(void);
void hc_handler_stack_end(void *stack);

/* Remembers what the process may write into one file. A kernel that lowers it takes the record and
   the last word of the run with it, so it is looked at after each guarded call. Call this once,
   before the first kernel. */
void hc_file_limit_begin(void);

/* Sets the limit back, and ignores its signal again. Returns whether it was another one, which
   `text` says then; a hard limit stays lower. */
int hc_file_limit_reset(char *text, size_t size);

#endif
