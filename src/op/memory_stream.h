/* Text that is printed into memory, whole or not at all. glibc's open_memstream loses what it has
   no memory for, and its fclose returns 0 all the same, so it is not used. */
#ifndef HC_OP_MEMORY_STREAM_H
#define HC_OP_MEMORY_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Like POSIX's open_memstream: *text and *length are set by fflush and fclose; the caller frees
   *text. Without memory the stream's error indicator is set, fclose does not return 0, and *text is
   NULL. NULL if there is no memory for the stream. */
FILE *hc_memory_stream(char **text, size_t *length);

/* Whether any of these streams, or hc_memory_lost_one, has lost something since the program began.
   Then the program does not end as if all had been said. */
bool hc_memory_lost(void);
void hc_memory_lost_one(void);

#endif
