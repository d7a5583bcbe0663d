#define _GNU_SOURCE /* dlinfo */
#include "kernels/cuda/library/find.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PACKAGES "/lib/python3*/*-packages/nvidia/*/lib/"

const char hc_library_places[] =
    "$CUDA_HOME, the loader's path, /usr/local/cuda and nvidia/*/lib of the Python packages in "
    "$VIRTUAL_ENV, $CONDA_PREFIX, beside each python3 on $PATH, in ~/.local, /usr/local, /usr";

/* A folder for glob(3): below each folder that the variable lists, or `folder` itself without a
   variable. With `beside`, only listed folders that have this file count. An empty folder stands
   for the places of the loader. */
struct place {
    const char *variable;
    const char *beside;
    const char *folder;
};

static const struct place places[] = {
    {"CUDA_HOME", NULL, "/lib64/"},
    {"CUDA_HOME", NULL, "/lib/"},
    {NULL, NULL, ""},
    {NULL, NULL, "/usr/local/cuda/lib64/"},
    {"VIRTUAL_ENV", NULL, PACKAGES},
    {"CONDA_PREFIX", NULL, PACKAGES},
    {"PATH", "/python3", "/.." PACKAGES},
    {"HOME", NULL, "/.local" PACKAGES},
    {NULL, NULL, "/usr/local" PACKAGES},
    {NULL, NULL, "/usr" PACKAGES},
};

/* Loads files of the pattern, or only the first that loads. Returns the last one that did. */
static void *load_some(const char *pattern, bool one)
{
    glob_t found;
    void *last = NULL;
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc && !(one && last); i++) {
            void *library = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
            last = library ? library : last;
        }
        globfree(&found);
    }
    return last;
}

void hc_library_open_beside(void *library, const char *pattern)
{
    char path[4096];
    struct link_map *map = NULL;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0)
        return;
    const char *slash = strrchr(map->l_name, '/');
    int used = snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash + 1 - map->l_name) : 0,
                        map->l_name, pattern);
    if (slash && used >= 0 && (size_t)used < sizeof path)
        (void)load_some(path, false);
}

static bool exists_below(const char *root, int length, const char *file)
{
    char path[4096];
    int used = snprintf(path, sizeof path, "%.*s%s", length, root, file);
    return used >= 0 && (size_t)used < sizeof path && access(path, F_OK) == 0;
}

/* `root` is its first `length` characters. */
static void *load_below(const struct place *place, const char *root, int length, const char *name)
{
    char path[4096];
    if (place->beside && !exists_below(root, length, place->beside))
        return NULL;
    int used = snprintf(path, sizeof path, "%.*s%s%s", length, root, place->folder, name);
    return used >= 0 && (size_t)used < sizeof path ? load_some(path, true) : NULL;
}

static void *load_from(const struct place *place, const char *name)
{
    void *library = NULL;
    if (!place->variable)
        return *place->folder ? load_below(place, "", 0, name)
                              : dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const char *list = getenv(place->variable);
    while (list && *list && !library) {
        size_t length = strcspn(list, ":");
        if (length > 0 && length < 4096)
            library = load_below(place, list, (int)length, name);
        list += length + (list[length] == ':');
    }
    return library;
}

void *hc_library_open(const char *name)
{
    void *library = NULL;
    for (size_t i = 0; i < sizeof places / sizeof places[0] && !library; i++)
        library = load_from(&places[i], name);
    return library;
}
