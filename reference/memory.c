/* The memory of GMP, which MPFR uses, too. */
#include <gmp.h>
#include <stdlib.h>

#include "reference.h"
#include "reference/memory.h"

static void *(*reallocate_for_numbers)(void *memory, size_t bytes) = realloc;
static void (*end_without_memory)(void) = abort;

static void *reallocate(void *memory, size_t before, size_t bytes)
{
    (void)before;
    void *moved = reallocate_for_numbers(memory, bytes);
    if (!moved)
        end_without_memory();
    return moved;
}

static void *allocate(size_t bytes)
{
    return reallocate(NULL, 0, bytes);
}

void *hc_reference_memory(size_t bytes)
{
    return allocate(bytes);
}

static void release(void *memory, size_t bytes)
{
    (void)bytes;
    free(memory);
}

void hc_reference_watch(void *(*reallocate_memory)(void *memory, size_t bytes),
                        void (*no_memory)(void))
{
    reallocate_for_numbers = reallocate_memory;
    end_without_memory = no_memory;
    mp_set_memory_functions(allocate, reallocate, release);
}
