/* The checkpoint of a training. */
#include "train/run/checkpoint.h"

#include "fuzz.h"

static void fuzz_checkpoint(const uint8_t *data, size_t size)
{
    struct hc_tensor_file file;
    const char *path = hc_fuzz_file(data, size);
    if (!path)
        return;
    if (hc_checkpoint_open(&file, path) == HC_OK)
        (void)hc_checkpoint_identity(&file);
    hc_tensor_file_close(&file);
}

const struct hc_fuzz_target hc_fuzz_checkpoint = {"checkpoint", fuzz_checkpoint};
