/* The memory of numbers. */
#ifndef HC_REFERENCE_MEMORY_H
#define HC_REFERENCE_MEMORY_H

#include <stddef.h>

/* Never NULL: see hc_reference_watch. free releases it. */
void *hc_reference_memory(size_t bytes);

#endif
