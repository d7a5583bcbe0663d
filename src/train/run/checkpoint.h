/* A container of named blobs that is either whole or refused.

   A training can be killed at any moment, and must go on to the same bits. So a checkpoint replaces
   the old one in one step, after everything is on the disk; and a reader believes nothing: it
   checks the length, a checksum, what run the file is of, and that it holds the blobs that are
   asked for, before it copies a single one.

   The file, little-endian:
     8 bytes "halfchk\n"; u32 format version; u32 number of blobs; u64 length of the file;
     u32 length of the identity, identity;
     for each blob u32 length of its name, name, u64 bytes, content;
     u64 FNV-1a of all bytes before it.
   Every step of FNV-1a is a bijection of its state, so a change within a single byte always changes
   the checksum. The length in the header tells every cut. A change of several bytes goes unseen
   with a chance of 2^-64: this guards against accidents, not against forgers. */
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

/* Replaces the file in one step (op/output.h). If the process is killed on the way, or the disk is
   full, the old file stays as it was. HC_IO with one line. */
enum hc_status hc_checkpoint_write(const char *path, const char *identity,
                                   const struct hc_blob *blobs, int count);

/* Fills the blobs, which may come in any order, if the whole file is sound, has this identity, and
   holds exactly these names and sizes; otherwise touches none. HC_IO if it cannot be read;
   HC_INVALID if it is cut, changed or another run's, with the word that differs. */
enum hc_status hc_checkpoint_read(const char *path, const char *identity, struct hc_blob *blobs,
                                  int count);

#endif
