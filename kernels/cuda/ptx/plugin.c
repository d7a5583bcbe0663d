/* A plug-in for tests, in place of halfcheck-cuda.so: its backend cuda-ptx is the emulation with
   kernels that translate.py made of nvcc's PTX. HC_PTX_EX2_OFF=2 lets ex2.approx be off by 2 ulp
   (floats.h). */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/cuda/emulate/emulated.h"
#include "kernels/cuda/ptx/floats.h"
#include "op/later.h"

static hc_fail_function *program_fail;

/* In place of op/status.c's, as in kernels/cuda/device/plugin.c. */
static _Thread_local char line[512];

enum hc_status hc_fail(enum hc_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return program_fail(status, "%s", line);
}

const char *hc_message(void)
{
    return line;
}

#define HC_DEVICE_KERNEL(name)                                                                     \
    void hc_ptx_##name##_entry(const void *args);                                                  \
    extern const size_t hc_ptx_##name##_size;
#include "kernels/cuda/kernel/kernels.def"
#undef HC_DEVICE_KERNEL

static const struct hc_emulated_kernel kernels[HC_DEVICE_KERNEL_COUNT] = {
#define HC_DEVICE_KERNEL(name) {#name, hc_ptx_##name##_entry, &hc_ptx_##name##_size},
#include "kernels/cuda/kernel/kernels.def"
#undef HC_DEVICE_KERNEL
};

static enum hc_status open_queue(const struct hc_backend *backend, struct hc_queue **queue,
                                 int threads)
{
    (void)backend;
    (void)threads;
    return hc_emulated_open(queue, kernels);
}

static const struct hc_backend cuda_ptx = {
    .name = "cuda-ptx",
    .title = "nvcc's PTX of the kernels of cuda, emulated on the CPU",
    .open = open_queue,
#include "kernels/cuda/emulate/slots.inc"
};

static const char *unavailable(void)
{
    return "this plug-in has cuda-ptx alone";
}

/* The program demands a backend of this name. */
static const struct hc_backend cuda = {
    .name = "cuda",
    .title = "CUDA kernels on the GPU",
    .unavailable = unavailable,
    .open = open_queue,
#include "kernels/cuda/emulate/slots.inc"
};

static const struct hc_backend *const backends[] = {&cuda, &cuda_ptx};

static const struct hc_plugin plugin = {HC_BACKEND_ABI, 2, backends};

hc_plugin_entry hc_plugin;
const struct hc_plugin *hc_plugin(hc_fail_function *fail)
{
    const char *off = getenv("HC_PTX_EX2_OFF");
    hc_ptx_ex2_off = off ? (int)strtol(off, NULL, 10) : 0;
    program_fail = fail;
    return &plugin;
}
