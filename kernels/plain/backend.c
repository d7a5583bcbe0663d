/* Definitions by their own text, in one right order (plainly of struct hc_defined_call). Every
   other backend of definitions can be held beside it, and a run of definitions judges it where
   nobody names one. */
#include "backend.h"

#include "kernels/memory.h"

static enum hc_status by_its_text(struct hc_queue *queue, const struct hc_defined_call *call)
{
    (void)queue;
    return call->plainly(call);
}

/* It computes element by element, and has no border to cross. */
static const struct hc_border none[] = {{.size = 0}};

extern const struct hc_backend hc_backend_plain;

const struct hc_backend hc_backend_plain = {
    .abi = HC_BACKEND_ABI,
    .name = "plain",
    .title = "definitions by their own text, in one right order",
    .accumulator = {.precision = 24, .block = 1},
    .default_cases = "def/*",
    .borders = none,
    .partial = true,
    .concurrent = true,
    .host_memory = true,
    .open = hc_memory_open,
    .close = hc_memory_close,
    .allocate = hc_memory_allocate,
    .release = hc_memory_release,
    .upload = hc_memory_copy,
    .download = hc_memory_copy,
    .defined = by_its_text,
};
