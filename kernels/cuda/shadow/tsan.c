/* The functions that code compiled with -fsanitize=thread calls before it touches memory (gcc's
   sanitizer.def, LLVM's tsan_interface.h). One that is missing here ends the build. */
#include "kernels/cuda/shadow/inner.h"

static void look(const void *at, size_t bytes, bool aligned, enum hc_access kind, const void *from)
{
    if (!hc_running || !hc_running->watcher)
        return;
    struct hc_shadow *s = hc_shadow_of(hc_running->watcher);
    if (aligned && (uintptr_t)at % bytes != 0)
        hc_shadow_found(s, (uintptr_t)at, bytes, kind, from, "not aligned to its size");
    hc_shadow_look(s, (uintptr_t)at, bytes, kind, from);
}

#define HC_ACCESS_FUNCTION(symbol, bytes, aligned, kind)                                           \
    void hc_tsan_##symbol(void *at) __asm__("__tsan_" #symbol);                                    \
    void hc_tsan_##symbol(void *at)                                                                \
    {                                                                                              \
        look(at, bytes, aligned, kind, __builtin_return_address(0));                               \
    }

HC_ACCESS_FUNCTION(read1, 1, true, HC_ACCESS_READ)
HC_ACCESS_FUNCTION(read2, 2, true, HC_ACCESS_READ)
HC_ACCESS_FUNCTION(read4, 4, true, HC_ACCESS_READ)
HC_ACCESS_FUNCTION(read8, 8, true, HC_ACCESS_READ)
HC_ACCESS_FUNCTION(read16, 16, true, HC_ACCESS_READ)
HC_ACCESS_FUNCTION(write1, 1, true, HC_ACCESS_WRITE)
HC_ACCESS_FUNCTION(write2, 2, true, HC_ACCESS_WRITE)
HC_ACCESS_FUNCTION(write4, 4, true, HC_ACCESS_WRITE)
HC_ACCESS_FUNCTION(write8, 8, true, HC_ACCESS_WRITE)
HC_ACCESS_FUNCTION(write16, 16, true, HC_ACCESS_WRITE)
HC_ACCESS_FUNCTION(unaligned_read2, 2, false, HC_ACCESS_READ)
HC_ACCESS_FUNCTION(unaligned_read4, 4, false, HC_ACCESS_READ)
HC_ACCESS_FUNCTION(unaligned_read8, 8, false, HC_ACCESS_READ)
HC_ACCESS_FUNCTION(unaligned_read16, 16, false, HC_ACCESS_READ)
HC_ACCESS_FUNCTION(unaligned_write2, 2, false, HC_ACCESS_WRITE)
HC_ACCESS_FUNCTION(unaligned_write4, 4, false, HC_ACCESS_WRITE)
HC_ACCESS_FUNCTION(unaligned_write8, 8, false, HC_ACCESS_WRITE)
HC_ACCESS_FUNCTION(unaligned_write16, 16, false, HC_ACCESS_WRITE)

#define HC_RANGE_FUNCTION(symbol, kind)                                                            \
    void hc_tsan_##symbol(void *at, size_t bytes) __asm__("__tsan_" #symbol);                      \
    void hc_tsan_##symbol(void *at, size_t bytes)                                                  \
    {                                                                                              \
        look(at, bytes, false, kind, __builtin_return_address(0));                                 \
    }

HC_RANGE_FUNCTION(read_range, HC_ACCESS_READ)
HC_RANGE_FUNCTION(write_range, HC_ACCESS_WRITE)

void hc_tsan_init(void) __asm__("__tsan_init");
void hc_tsan_init(void)
{
}

void hc_tsan_func_entry(void *caller) __asm__("__tsan_func_entry");
void hc_tsan_func_entry(void *caller)
{
    (void)caller;
}

void hc_tsan_func_exit(void) __asm__("__tsan_func_exit");
void hc_tsan_func_exit(void)
{
}
