#include "train/run/checkpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint64_t hc_fnv(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t sum_text(uint64_t hash, const char *text)
{
    return hc_fnv(hash, text, strlen(text) + 1);
}

static uint64_t sum_number(uint64_t hash, int64_t number)
{
    unsigned char little[8];
    for (int i = 0; i < 8; i++)
        little[i] = (unsigned char)((uint64_t)number >> 8 * i);
    return hc_fnv(hash, little, sizeof little);
}

void hc_checkpoint_sum(char text[HC_CHECKSUM], const struct hc_metadata *metadata,
                       int metadata_count, const struct hc_named_tensor *tensors, int count)
{
    uint64_t hash = HC_FNV_START;
    for (int i = 0; i < metadata_count; i++)
        if (strcmp(metadata[i].key, "checksum") != 0)
            hash = sum_text(sum_text(hash, metadata[i].key), metadata[i].value);
    for (int i = 0; i < count; i++) {
        const struct hc_tensor *t = &tensors[i].tensor;
        hash = sum_text(sum_text(hash, tensors[i].name), hc_formats[t->format].name);
        hash = sum_number(hash, t->rank);
        for (int d = 0; d < t->rank; d++)
            hash = sum_number(hash, t->shape[d]);
        hash = hc_fnv(hash, t->data, hc_tensor_bytes(t));
    }
    (void)snprintf(text, HC_CHECKSUM, "%016" PRIx64, hash);
}

enum hc_status hc_checkpoint_write(const char *path, const char *producer, const char *identity,
                                   const struct hc_named_tensor *tensors, int count)
{
    char checksum[HC_CHECKSUM];
    struct hc_metadata metadata[] = {{"halfcheck.checkpoint", "3"},
                                     {"producer", producer},
                                     {"identity", identity},
                                     {"checksum", checksum}};
    const int metadata_count = sizeof metadata / sizeof *metadata;
    hc_checkpoint_sum(checksum, metadata, metadata_count, tensors, count);
    return hc_safetensors_write(path, tensors, count, metadata, metadata_count);
}
