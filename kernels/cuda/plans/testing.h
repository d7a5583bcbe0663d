/* For the tests that plan convolutions by the real cuDNN without a device: from version 9.8 on, it
   takes a description of a device instead of a handle. */
#ifndef HC_KERNELS_CUDA_PLANS_TESTING_H
#define HC_KERNELS_CUDA_PLANS_TESTING_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/library/conv_plan.h"
#include "train/net/net.h"

struct device {
    const char *name;
    const char *json; /* as cuDNN describes a device */
};

/* NOLINTBEGIN(bugprone-macro-parentheses): the values become text. */
#define HC_DEVICE(name, title, capability, multiprocessors, clock, memory_clock, l2, shared,       \
                  reserved, blocks, threads, memory)                                               \
    {#name, "{\"deviceName\": \"" title "\", \"deviceVer\": " #capability                          \
            ", \"multiProcessorCount\": " #multiprocessors ", \"smClockRateKHz\": " #clock         \
            ", \"memClockRateKHz\": " #memory_clock ", \"l2CacheSize\": " #l2                      \
            ", \"maxSharedMemoryPerBlockOptin\": " #shared                                         \
            ", \"reservedSharedMemoryPerBlock\": " #reserved ", \"maxCtasPerSM\": " #blocks        \
            ", \"maxThreadsPerSM\": " #threads ", \"totalGlobalMem\": " #memory                    \
            ", \"driverVer\": 13000, \"cudaDeviceId\": 0, \"pciDeviceId\": 0, \"isTccDriver\": 0"  \
            ", \"supportCoopLaunch\": 1, \"warpSize\": 32, \"regsPerBlock\": 65536"                \
            ", \"maxRegistersPerSM\": 65536, \"maxSharedMemoryPerBlock\": 49152"                   \
            ", \"maxThreadsPerBlock\": 1024, \"maxBlockSize\": [1024, 1024, 64]"                   \
            ", \"maxGridSize\": [2147483647, 65535, 65535]}"},
static const struct device devices[] = {
#include "kernels/cuda/plans/devices.def"
};
#undef HC_DEVICE
#define HC_DEVICE(name, ...) DEVICE_##name,
enum {
#include "kernels/cuda/plans/devices.def"
    DEVICES
};
#undef HC_DEVICE
/* NOLINTEND(bugprone-macro-parentheses) */

/* cuDNN's description of a device. NULL if it refuses the properties. */
static inline void *device_of(const struct hc_library *library, const char *json)
{
    void *device = NULL;
    if (library->cudnn_create_descriptor(HC_DNN_DEVICE, &device) != 0)
        return NULL;
    if (library->cudnn_set(device, HC_DNN_DEVICE_JSON, HC_DNN_TYPE_CHAR, (int64_t)strlen(json) + 1,
                           json) == 0 &&
        library->cudnn_finalize(device) == 0)
        return device;
    (void)library->cudnn_destroy_descriptor(device);
    return NULL;
}

/* The real library. Without one that plans for a description of a device, the test is skipped with
   a line. */
static inline const struct hc_library *real(void)
{
    const struct hc_library *library = NULL;
    if (hc_library_load(&library) != HC_OK) {
        cr_assert_not_null(strstr(hc_message(), "cuda: no libcu"), "%s", hc_message());
        cr_skip_test("%s", hc_message());
    }
    if (library->cudnn_version() < 90800)
        cr_skip_test("cuDNN %zu plans for no description of a device: 90800 is the first to",
                     library->cudnn_version());
    return library;
}

enum { MAX_KEYS = 96 };

/* The different convolutions of a step of Darknet-16, in the order of the layers. */
static inline int keys_of(int batch, enum hc_format format, bool tf32,
                          struct hc_conv_key keys[MAX_KEYS])
{
    struct hc_plan plan;
    int count = 0;
    hc_plan_make(&hc_darknet16, 10, &plan);
    for (int l = 0; l < plan.layers; l++)
        for (int op = 0; op < 3; op++) {
            const struct hc_layer *layer = &plan.layer[l];
            const struct hc_layer *from = layer->in ? &plan.layer[layer->in - 1] : NULL;
            if (layer->kind != HC_LAYER_CONV || (!from && op == 1))
                continue;
            int side = from ? from->side : hc_darknet16.side;
            struct hc_conv_key key = {.format = format, .tf32 = tf32};
            key.shape = (struct hc_conv_shape){.op = HC_OP_conv2d + op,
                                               .n = batch,
                                               .h = side,
                                               .w = side,
                                               .c = from ? from->channels : hc_darknet16.channels,
                                               .p = layer->side,
                                               .q = layer->side,
                                               .k = layer->channels,
                                               .r = layer->kernel,
                                               .s = layer->kernel,
                                               .stride = layer->stride,
                                               .pad = layer->pad};
            int known = 0;
            while (known < count && !hc_conv_same(&keys[known].shape, &key.shape))
                known++;
            cr_assert_lt(count, MAX_KEYS);
            if (known == count)
                keys[count++] = key;
        }
    return count;
}

#endif
