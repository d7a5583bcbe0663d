/* Libraries whose allocations succeed. */
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
#include <string.h>

#include "inject.h"

enum { LIBRARIES = 3 };

static struct range {
    const char *name;
    uintptr_t from;
    uintptr_t to;
} spared[LIBRARIES] = {{.name = "libgomp"}, {.name = "libdnnl"}, {.name = "libstdc++"}};

static int find(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    for (int s = 0; s < LIBRARIES; s++) {
        if (!strstr(info->dlpi_name, spared[s].name))
            continue;
        for (int i = 0; i < info->dlpi_phnum; i++)
            if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X)) {
                spared[s].from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
                spared[s].to = spared[s].from + info->dlpi_phdr[i].p_memsz;
            }
    }
    return 0;
}

void inject_find_spared(void)
{
    (void)dl_iterate_phdr(find, NULL);
}

bool inject_spares(const void *code)
{
    for (int s = 0; s < LIBRARIES; s++)
        if ((uintptr_t)code >= spared[s].from && (uintptr_t)code < spared[s].to)
            return true;
    return false;
}
