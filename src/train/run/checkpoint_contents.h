/* The contents of a checkpoint of any run, for cases and tests that change one. */
#ifndef HC_TRAIN_RUN_CHECKPOINT_CONTENTS_H
#define HC_TRAIN_RUN_CHECKPOINT_CONTENTS_H

#include "train/run/checkpoint.h"

enum { HC_CONTENTS_BYTES = 1 << 18, HC_CONTENTS_BLOBS = 256 };

struct hc_checkpoint_contents {
    size_t size;
    unsigned char bytes[HC_CONTENTS_BYTES];
    char identity[2048];
    int count;
    char name[HC_CONTENTS_BLOBS][64];
    struct hc_blob blob[HC_CONTENTS_BLOBS]; /* within `name` and `bytes` */
};

/* HC_IO if the file cannot be read or is too large for this. It is taken to be sound. */
enum hc_status hc_checkpoint_unpack(const char *path, struct hc_checkpoint_contents *parts);

#endif
