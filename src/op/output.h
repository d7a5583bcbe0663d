/* Files that are replaced as a whole or not at all.

   A program that is killed while it writes, or meets a full disk, must not leave half a file where
   a whole one was. So everything is first written to PATH.part, and when that is complete it takes
   the place of PATH in one step, rename(2).

   The writer holds a lock on PATH.part. The kernel releases it when the process ends, however it
   ends; the next writer of the same file then uses the part that was left behind. A second process
   that writes the same file waits a few seconds, then gives up.

   A symbolic link at PATH is replaced, and the file it leads to is left alone; likewise at
   PATH.part. Anything but a regular file (a pipe, a device, /dev/stdout) is written to directly. */
#ifndef HC_OP_OUTPUT_H
#define HC_OP_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "op/status.h"

enum { HC_MAX_PATH = 4096 };

/* Whether the file can be written; ask before the work that goes into it. HC_IO if not. */
enum hc_status hc_output_probe(const char *path);

/* Whether both paths name one file: the same name in the same folder. */
bool hc_output_same(const char *one, const char *other);

/* Replaces the file by `bytes` bytes; on a failure (HC_IO) the old one stays. "-" is standard
   output. */
enum hc_status hc_output_write(const char *path, const void *data, size_t bytes);

/* Replaces the file by what `print` writes of `context`. HC_IO or HC_NO_MEMORY. */
enum hc_status hc_output_print(const char *path, void (*print)(FILE *out, const void *context),
                               const void *context);

/* The same for a file that is written bit by bit. */
struct hc_output {
    int file;
    char path[HC_MAX_PATH];
    char part[HC_MAX_PATH]; /* "" if PATH is no regular file */
};

/* HC_IO, or HC_INVALID if the name is too long. */
enum hc_status hc_output_open(struct hc_output *output, const char *path);

/* Returns false, and sets errno, if not everything could be written. */
bool hc_output_append(struct hc_output *output, const void *data, size_t bytes);

/* Replaces the file by what has been written so far, and waits until that is on the disk. On
   failure (HC_IO) the part is removed. output->file stays open, and more may be written to it. */
enum hc_status hc_output_commit(struct hc_output *output);

/* Removes the part and keeps errno. output->file stays open. */
void hc_output_discard(struct hc_output *output);

/* Commits if everything was written (`good`), otherwise discards and reports errno; then closes the
   file. */
enum hc_status hc_output_close(struct hc_output *output, bool good);

/* Makes an empty folder for what is needed for a while, below $TMPDIR, or /tmp, and sets `path` to
   it: NAME and six characters. HC_IO if that cannot be, also because the path is longer than
   HC_MAX_TEMPORARY. */
enum { HC_MAX_TEMPORARY = 512 };
enum hc_status hc_output_folder(char path[HC_MAX_TEMPORARY], const char *name);

/* Removes such a folder and the files in it, whatever they are called. What is in folders of its
   own stays, and so does the folder then. */
void hc_output_folder_remove(const char *path);

/* Opens an existing file for reading and writing; refuses a symbolic link. -1, with HC_IO's line,
   on failure. */
int hc_output_reopen(const char *path);

#endif
