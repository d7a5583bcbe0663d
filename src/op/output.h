/* Files that are there whole or not at all.

   What is written goes to PATH.part, which takes the place of PATH in one step when it is whole:
   who is killed, or meets a full disk, leaves the old file as it was. Whoever writes a part holds a
   lock on it, which the kernel takes back when the process ends in whatever way; a part that is
   left behind is used anew by the next who writes that file.

   A symbolic link at PATH is replaced, and what it leads to is left alone; so is one at PATH.part.
   What is no regular file (a pipe, a device, /dev/stdout) is written to as it is. */
#ifndef HC_OP_OUTPUT_H
#define HC_OP_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "op/status.h"

enum { HC_MAX_PATH = 4096 };

/* Whether the file could be written, found out before the work that goes into it. HC_IO
   otherwise. */
enum hc_status hc_output_probe(const char *path);

/* Whether both are one file: the same name in the same folder. */
bool hc_output_same(const char *one, const char *other);

/* Replaces the file by `bytes` bytes: a failure (HC_IO) leaves the old one as it was. "-" is
   standard output. */
enum hc_status hc_output_write(const char *path, const void *data, size_t bytes);

/* Replaces the file by what `print` writes of `context`. HC_IO or HC_NO_MEMORY. */
enum hc_status hc_output_print(const char *path, void (*print)(FILE *out, const void *context),
                               const void *context);

/* The same piece by piece. */
struct hc_output {
    int file;
    char path[HC_MAX_PATH];
    char part[HC_MAX_PATH]; /* "" where it is no regular file */
};

/* HC_IO, HC_INVALID where the name is too long. */
enum hc_status hc_output_open(struct hc_output *output, const char *path);

/* False with errno where not all could be written. */
bool hc_output_put(struct hc_output *output, const void *data, size_t bytes);

/* Puts what has been written in the place of the file, where it lasts. HC_IO; then the part is
   gone. output->file stays open for more. */
enum hc_status hc_output_place(struct hc_output *output);

/* Removes the part; errno stays. output->file stays open. */
void hc_output_drop(struct hc_output *output);

/* Places it where all was written (`good`), drops it where not, for the reason in errno; and closes
   the file. */
enum hc_status hc_output_close(struct hc_output *output, bool good);

/* Opens a file that is there to be read and written on; no symbolic link. -1 with HC_IO's line. */
int hc_output_reopen(const char *path);

#endif
