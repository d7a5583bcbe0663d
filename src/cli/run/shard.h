/* The option --shard of halfcheck run. */
#ifndef HC_CLI_RUN_SHARD_H
#define HC_CLI_RUN_SHARD_H

#include "check/runner.h"

/* Reads "3/16". HC_INVALID, with a line. */
enum hc_status hc_shard_read(const char *text, struct hc_shard *shard);

/* Lets the record at `path` say how long each case takes, instead of the built-in table. HC_IO or
   HC_INVALID, with a line. It is kept until the program ends. */
enum hc_status hc_shard_read_times(const char *path);

/* How long a case at this level is likely to take on a backend: as the record says; or as was
   measured on two cores of a Xeon (src/cli/run/seconds.def), where a backend that was not measured
   takes as long as the slowest that was, and a case that took little as long as the others did, or,
   if it takes long on another backend, at most as long as the shortest that is listed. */
double hc_shard_seconds(const char *name, const char *backend, enum hc_level level);

#endif
