/* Calls that reached somebody's own kernels: a program behind a pipe, or the first of the two
   backends that hc_fallback combines. A case that passes without one says nothing about them, so
   whoever reports a pass has to know. */
#ifndef HC_KERNELS_OWN_CALLS_H
#define HC_KERNELS_OWN_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "backend.h"

/* Whether the backend's own calls are counted. */
bool hc_own_calls_counted(const struct hc_backend *backend);

/* How many this thread has made so far, on all such backends. */
int64_t hc_own_calls(void);

/* Counts `calls` more for this thread: those that it has just made, or those of threads that have
   worked for it. */
void hc_own_calls_add(int64_t calls);

#endif
