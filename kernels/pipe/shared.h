/* Memory that the program has, too, for large tensors. It can only grow: a mapping of it stays
   valid whatever the program does to the file. */
#ifndef HC_KERNELS_PIPE_SHARED_H
#define HC_KERNELS_PIPE_SHARED_H

#include <stddef.h>

#include "op/status.h"

struct hc_shared {
    int file; /* -1: there is none */
    unsigned char *memory;
    size_t bytes;
};

/* Where the system has none, `shared` is without a file. */
void hc_shared_open(struct hc_shared *shared);
void hc_shared_close(struct hc_shared *shared);

/* Makes it at least so large. HC_NO_MEMORY with a line. */
enum hc_status hc_shared_grow(struct hc_shared *shared, size_t bytes);

#endif
