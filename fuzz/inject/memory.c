/* Allocations. The allocator behind is whatever comes next in the order of the libraries: libc's,
   or a sanitizer's. */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "inject.h"

void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void *realloc(void *memory, size_t bytes);
void *aligned_alloc(size_t alignment, size_t bytes);
int posix_memalign(void **memory, size_t alignment, size_t bytes);
void free(void *memory);

/* While dlsym looks the next allocator up, it may allocate itself. */
static _Alignas(16) char early[4096];
static size_t used;

static void *allocate_early(size_t bytes)
{
    size_t at = used;
    used += (bytes + 15) / 16 * 16;
    return used <= sizeof early ? early + at : NULL;
}

static bool is_early(const void *memory)
{
    return (const char *)memory >= early && (const char *)memory < early + sizeof early;
}

static struct {
    bool asked;
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void (*free)(void *);
} next;

static void look_up(const char *name, void *function)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof found);
}

static bool ready(void)
{
    if (!next.asked) {
        next.asked = true;
        look_up("free", &next.free);
        look_up("calloc", &next.calloc);
        look_up("realloc", &next.realloc);
        look_up("aligned_alloc", &next.aligned_alloc);
        look_up("posix_memalign", &next.posix_memalign);
        look_up("malloc", &next.malloc);
    }
    return next.malloc != NULL;
}

static bool fails(const char *what, const void *caller)
{
    if (inject_spares(caller) || !inject_now(INJECT_MEMORY, what))
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes)
{
    if (!ready())
        return allocate_early(bytes);
    return fails("malloc", __builtin_return_address(0)) ? NULL : next.malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    if (!ready())
        return allocate_early(count * bytes);
    return fails("calloc", __builtin_return_address(0)) ? NULL : next.calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    if (!ready() || is_early(memory))
        return NULL;
    return fails("realloc", __builtin_return_address(0)) ? NULL : next.realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return !ready() || fails("aligned_alloc", __builtin_return_address(0))
               ? NULL
               : next.aligned_alloc(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    return !ready() || fails("posix_memalign", __builtin_return_address(0))
               ? ENOMEM
               : next.posix_memalign(memory, alignment, bytes);
}

void free(void *memory)
{
    if (memory && !is_early(memory) && ready())
        next.free(memory);
}
