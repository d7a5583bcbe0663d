/* A file of tensors: numpy's .npy, or safetensors. */
#include "tensor_file/tensor_file.h"

#include "fuzz.h"

static void fuzz_tensors(const uint8_t *data, size_t size)
{
    struct hc_tensor_file file;
    const char *path = hc_fuzz_file(data, size);
    if (!path)
        return;
    (void)hc_tensor_file_read(&file, path);
    hc_tensor_file_close(&file);
}

const struct hc_fuzz_target hc_fuzz_tensors = {"tensors", fuzz_tensors};
