/* Files that are there whole or not at all. */
#ifndef HC_CHECK_OUTPUT_H
#define HC_CHECK_OUTPUT_H

#include <stddef.h>

#include "op/status.h"

/* Whether the file could be written, found out before the work that goes into it. HC_IO otherwise. */
enum hc_status hc_output_probe(const char *path);

/* Replaces the file by `bytes` bytes in one step: a failure (HC_IO) leaves the old one as it was.
   What exists and is no regular file (a pipe, a device) is written to directly; "-" is standard
   output. */
enum hc_status hc_output_write(const char *path, const void *data, size_t bytes);

#endif
