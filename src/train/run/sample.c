#include "train/run/sample.h"

enum hc_status hc_sample_draw(const struct hc_device *device, const struct hc_tensor *t,
                              double *values, int *n)
{
    int64_t count = hc_tensor_count(t);
    size_t size = (size_t)hc_formats[t->format].bytes;
    int blocks = count <= HC_SAMPLE ? 1 : HC_SAMPLE_BLOCKS;
    int64_t length = count <= HC_SAMPLE ? count : HC_SAMPLE_BLOCK;
    *n = 0;
    for (int b = 0; b < blocks; b++) {
        double bits[HC_SAMPLE]; /* of any format */
        int64_t start = blocks == 1 ? 0 : (count - length) * b / (blocks - 1);
        struct hc_tensor block = hc_tensor1(t->format, length, bits);
        const char *from = (const char *)t->data + (size_t)start * size;
        enum hc_status status =
            device->backend->download(device->queue, bits, from, (size_t)length * size);
        if (status != HC_OK)
            return status;
        for (int64_t i = 0; i < length; i++)
            values[(*n)++] = hc_tensor_get(&block, i);
    }
    return HC_OK;
}
