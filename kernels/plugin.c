#include "kernels/plugin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/elf.h"

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* dlsym gives functions as pointers to data; POSIX has them alike. */
static hc_plugin_entry *entry_of(void *library)
{
    union {
        void *symbol;
        hc_plugin_entry *entry;
    } found = {dlsym(library, "hc_plugin")};
    return found.entry;
}

static bool has(const struct hc_plugin *plugin, const char *name)
{
    for (int i = 0; i < plugin->count; i++)
        if (strcmp(plugin->backends[i]->name, name) == 0)
            return true;
    return false;
}

static bool check(const struct hc_plugin *plugin, const char *path, const char *name)
{
    if (!plugin)
        (void)hc_fail(HC_INVALID, "%s: the plug-in has no backend", file_of(path));
    else if (plugin->abi != HC_BACKEND_ABI)
        (void)hc_fail(HC_INVALID, "%s is a plug-in of version %u, this program takes version %u",
                      file_of(path), plugin->abi, HC_BACKEND_ABI);
    else if (plugin->count > HC_MAX_PLUGIN)
        (void)hc_fail(HC_INVALID, "%s has %d backends, more than %d", file_of(path), plugin->count,
                      HC_MAX_PLUGIN);
    else if (!has(plugin, name))
        (void)hc_fail(HC_INVALID, "%s has no backend '%s'", file_of(path), name);
    else
        return true;
    return false;
}

const struct hc_plugin *hc_plugin_load(const char *path, const char *name)
{
    if (access(path, R_OK) != 0) {
        (void)hc_fail(HC_IO, "%s cannot be read", path);
        return NULL;
    }
    if (hc_elf_is_cut(path)) {
        (void)hc_fail(HC_INVALID, "%s is cut short", path);
        return NULL;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        (void)hc_fail(HC_INVALID, "cannot load %s", why ? why : path);
        return NULL;
    }
    hc_plugin_entry *entry = entry_of(library);
    const struct hc_plugin *plugin = entry ? entry(hc_fail) : NULL;
    if (!entry)
        (void)hc_fail(HC_INVALID, "%s is no plug-in of halfcheck", file_of(path));
    else if (check(plugin, path, name))
        return plugin;
    (void)dlclose(library);
    return NULL;
}

static char reason[512];

static const char *unavailable(void)
{
    return reason;
}

/* Nobody opens what is unavailable; the rest of the table is never reached. */
static enum hc_status open_queue(struct hc_queue **queue, int threads)
{
    (void)queue;
    (void)threads;
    return hc_fail(HC_DEVICE, "cuda: %s", reason);
}

static const struct hc_backend absent_cuda = {
    .abi = HC_BACKEND_ABI,
    .name = "cuda",
    .title = "CUDA kernels on the GPU",
    .accumulator = {.precision = 24, .block = 1},
    .unavailable = unavailable,
    .open = open_queue,
};

static const struct hc_backend absent_half = {
    .abi = HC_BACKEND_ABI,
    .name = "cuda-half",
    .title = "half and bfloat16 arithmetic of the GPU, a few ops",
    .accumulator = {.precision = 11, .block = 1},
    .partial = true,
    .unavailable = unavailable,
    .open = open_queue,
};

static const struct hc_backend *const absent_backends[] = {&absent_cuda, &absent_half};

static const struct hc_plugin absent = {
    HC_BACKEND_ABI, sizeof absent_backends / sizeof absent_backends[0], absent_backends};

static const struct hc_plugin *cuda = &absent;

/* <the program's folder>/halfcheck-cuda.so; an empty text when the folder is not known. */
static void path_beside_program(char *path, size_t size)
{
    static const char file[] = "halfcheck-cuda.so";
    path[0] = '\0';
    ssize_t length = readlink("/proc/self/exe", path, size - sizeof file - 1);
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    if (slash)
        memcpy(slash + 1, file, sizeof file);
}

static void find_cuda(void)
{
    char beside[4096];
    const char *path = getenv("HALFCHECK_CUDA_PLUGIN");
    if (!path) {
        path_beside_program(beside, sizeof beside);
        path = beside;
#ifdef HC_NO_CUDA
        if (access(path, F_OK) != 0) {
            (void)snprintf(reason, sizeof reason, "%s", HC_NO_CUDA);
            return;
        }
#endif
    }
    const struct hc_plugin *loaded = hc_plugin_load(path, "cuda");
    if (loaded)
        cuda = loaded;
    else
        (void)snprintf(reason, sizeof reason, "%s", hc_message());
}

const struct hc_plugin *hc_plugin_cuda(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, find_cuda);
    return cuda;
}
