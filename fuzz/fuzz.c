#define _GNU_SOURCE /* memfd_create */
#include "fuzz.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hc_fuzz_list.h"

static const struct hc_fuzz_target *const targets[] = {HC_LIST};

const struct hc_fuzz_target *hc_fuzz_at(int i)
{
    return targets[i];
}

const struct hc_fuzz_target *hc_fuzz_by_name(const char *name)
{
    int i = 0;
    while (targets[i] && strcmp(targets[i]->name, name) != 0)
        i++;
    return targets[i];
}

const char *hc_fuzz_file(const uint8_t *data, size_t size)
{
    static int file = -1;
    static char path[64];
    if (file < 0) {
        file = memfd_create("fuzz", MFD_CLOEXEC);
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    bool good =
        file >= 0 && ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size;
    return good ? path : NULL;
}

char *hc_fuzz_string(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (text) {
        memcpy(text, data, size);
        text[size] = '\0';
    }
    return text;
}
