#define _GNU_SOURCE /* memfd_create, F_ADD_SEALS */

#include "kernels/pipe/queue.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void hc_shared_open(struct hc_shared *shared)
{
    *shared =
        (struct hc_shared){.file = memfd_create("halfcheck", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    /* Without the seals the program could shrink the file, and our own reading would kill us. */
    if (shared->file >= 0 && fcntl(shared->file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
        hc_shared_close(shared);
}

void hc_shared_close(struct hc_shared *shared)
{
    if (shared->memory)
        (void)munmap(shared->memory, shared->bytes);
    if (shared->file >= 0)
        (void)close(shared->file);
    *shared = (struct hc_shared){.file = -1};
}

enum hc_status hc_shared_grow(struct hc_shared *shared, size_t bytes)
{
    enum { STEP = 1 << 20 };
    if (bytes <= shared->bytes)
        return HC_OK;
    size_t size = (bytes + bytes / 2 + STEP - 1) / STEP * STEP;
    /* The pages are had now: a write to a page that the system cannot give would kill us. */
    int failed;
    while ((failed = posix_fallocate(shared->file, 0, (off_t)size)) == EINTR)
        continue;
    if (failed)
        return hc_fail(HC_NO_MEMORY, "no shared memory for %zu bytes: %s", size, strerror(failed));
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, shared->file, 0);
    if (memory == MAP_FAILED)
        return hc_fail(HC_NO_MEMORY, "no shared memory for %zu bytes", size);
    if (shared->memory)
        (void)munmap(shared->memory, shared->bytes);
    shared->memory = memory;
    shared->bytes = size;
    return HC_OK;
}
