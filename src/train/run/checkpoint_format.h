/* What the writer and the reader of checkpoints share. checkpoint.h has the layout. 
   */
#ifndef HC_TRAIN_RUN_CHECKPOINT_FORMAT_H
#define HC_TRAIN_RUN_CHECKPOINT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define HC_CHECKPOINT_MAGIC "halfchk\n"

enum {
    HC_CHECKPOINT_VERSION = 2, /* 1 had structs as they lay in memory */
    HC_CHECKPOINT_MAGIC_BYTES = 8,
    HC_CHECKPOINT_FIXED = 24, /* bytes before the identity and its length */
    HC_CHECKPOINT_CHECKSUM = 8
};

/* FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv): continues `hash`, which starts as
   HC_FNV_START. */
#define HC_FNV_START UINT64_C(0xcbf29ce484222325)
uint64_t hc_fnv(uint64_t hash, const void *data, size_t bytes);

#endif
