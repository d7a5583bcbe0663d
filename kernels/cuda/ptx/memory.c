#include "kernels/cuda/ptx/memory.h"

#include "kernels/cuda/emulate/inner.h"
#include "kernels/cuda/ptx/floats.h"

int hc_ptx_ex2_off;

void hc_ptx_misaligned(struct hc_ptx_site site, uint64_t address, size_t bytes)
{
    hc_emulator_die("%s:%d: address %#llx of %zu bytes is not aligned to them", site.file,
                    site.line, (unsigned long long)address, bytes);
}

void hc_ptx_outside(struct hc_ptx_site site, const char *what, uint64_t address, size_t bytes,
                    size_t size)
{
    hc_emulator_die("%s:%d: %zu bytes at %llu of %zu bytes of %s", site.file, site.line, bytes,
                    (unsigned long long)address, size, what);
}

void hc_ptx_shuffled(struct hc_ptx_site site)
{
    hc_emulator_die("%s:%d: a shuffle of other than a whole warp", site.file, site.line);
}

uint64_t hc_ptx_divided_by_zero(void)
{
    hc_emulator_die("an integer is divided by zero");
}

size_t hc_ptx_shared_bytes(void)
{
    return hc_running->grid->shared;
}
