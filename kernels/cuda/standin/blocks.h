/* What the stand-in's memory and streams belong to. A device is chosen by thread, as CUDA has it:
   ranks that are threads of a test have a device each. */
#ifndef HC_KERNELS_CUDA_STANDIN_BLOCKS_H
#define HC_KERNELS_CUDA_STANDIN_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

/* The device of this thread. */
int hc_standin_device(void);
void hc_standin_take_device(int device);

/* Memory of this thread's device. */
bool hc_standin_block_add(const void *at, size_t bytes);
void hc_standin_block_remove(const void *at);

/* The beginning of the device's block in which all of the bytes lie; NULL: there is none. */
const void *hc_standin_block_of(const void *at, size_t bytes, int device);

/* The device of a stream that cudaStreamCreateWithFlags made; -1 of any other. */
int hc_standin_stream_device(const void *stream);

/* What a library that queues work on streams is told, and asked; NULL: nobody is. `freed` comes
   before the streams are waited for. A stream that is `stuck` waits for another device, for
   ever. */
struct hc_standin_library {
    void (*freed)(const void *memory);
    bool (*stuck)(const void *stream);
    void (*waits)(const void *stream); /* somebody waits for a stream that is stuck */
};
extern struct hc_standin_library hc_standin_library;

#endif
