/* A container of named blobs that is either whole or refused.

   File, little-endian: 8 bytes "halfchk\n"; u32 format version; u32 blobs; u64 length of the file;
   u32 length of the identity, identity; per blob u32 length of the name, name, u64 bytes, content;
   u64 FNV-1a of all bytes before it. Every step of FNV-1a is a bijection of its state, so no change
   within a single byte can go unseen; the length in the header sees every cut. */
#ifndef HC_TRAIN_RUN_CHECKPOINT_H
#define HC_TRAIN_RUN_CHECKPOINT_H

#include <stddef.h>

#include "op/status.h"

struct hc_blob {
    const char *name;
    void *data; /* `bytes` of them; only read by hc_checkpoint_write */
    size_t bytes;
};

/* `identity` says what run this is: words "key=value" separated by single spaces, such as
   "recipe=amp network=darknet16 classes=10 seed=1". */

/* Replaces the file at once (op/output.h): whoever stops in between, or meets a full disk, leaves
   the old file as it was. HC_IO with one line. */
enum hc_status hc_checkpoint_write(const char *path, const char *identity,
                                   const struct hc_blob *blobs, int count);

/* Fills the blobs, in any order, when the whole file is sound, its identity is the same, and it
   holds just these names and sizes; otherwise touches none. HC_IO when it cannot be read;
   HC_INVALID when it is cut, changed or another run's, saying in which word. */
enum hc_status hc_checkpoint_read(const char *path, const char *identity, struct hc_blob *blobs,
                                  int count);

#endif
