/* A stack for the handlers of signals in the thread that calls this. Where a kernel has used up the
   thread's own, no handler could run there, and the program would end without a word. */
#ifndef HC_CHECK_HANDLER_STACK_H
#define HC_CHECK_HANDLER_STACK_H

/* NULL where the thread has one, or there is no memory. Free it in the same thread. */
void *hc_handler_stack_begin(void);
void hc_handler_stack_end(void *stack);

#endif
