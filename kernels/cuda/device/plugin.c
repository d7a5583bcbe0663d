/* The entry of the plug-in halfcheck-cuda.so, and its backend cuda. */
#include <stdarg.h>
#include <stdio.h>

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/device/device.h"
#include "kernels/cuda/op/families.h"
#include "kernels/cuda/work.h"
#include "op/later.h"

static hc_fail_function *program_fail;

/* The plug-in's own hc_fail, in place of op/status.c's. It passes the line to the program, which
   shows it. */
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

/* The accumulator depends on the device and is filled in by hc_plugin. */
static struct hc_backend cuda = {
    .abi = HC_BACKEND_ABI,
    .name = "cuda",
    .title = "CUDA kernels on the GPU",
    .borders = hc_cuda_borders,
    .unavailable = hc_cuda_unavailable,
    .open = hc_cuda_open,
    .close = hc_cuda_close,
    .allocate = hc_cuda_allocate,
    .release = hc_cuda_release,
    .upload = hc_cuda_upload,
    .download = hc_cuda_download,
    .clear = hc_cuda_clear,
    .scratch = hc_cuda_scratch,
    .capture = hc_cuda_capture,
    .captured = hc_cuda_captured,
    .replay = hc_cuda_replay,
    .forget = hc_cuda_forget,
    .operands = hc_cuda_operands,
    .judge = hc_cuda_judge,
    .describe = hc_cuda_describe,
    .work = hc_cuda_work,
    .stream = hc_cuda_stream,
    .kernel =
        {
#include "kernels/cuda/ops.inc"
        },
};

static const struct hc_backend *const backends[] = {&cuda, &hc_cuda_half, &hc_cuda_cudnn};

static const struct hc_plugin plugin = {
    .abi = HC_BACKEND_ABI,
    .count = sizeof backends / sizeof backends[0],
    .backends = backends,
};

hc_plugin_entry hc_plugin;
const struct hc_plugin *hc_plugin(hc_fail_function *fail)
{
    program_fail = fail;
    cuda.accumulator = hc_cuda_accumulator_here();
    return &plugin;
}
