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

/* dlsym returns functions as pointers to data, which POSIX allows. */
static hc_plugin_entry *entry_of(void *library)
{
    union {
        void *symbol;
        hc_plugin_entry *entry;
    } plugin = {dlsym(library, "hc_plugin")};
    return plugin.entry;
}

/* Names appear in tables, paths and command lines. */
static bool is_name(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.");
    return length > 0 && length <= 40 && !name[length];
}

static bool is_taken(const struct hc_plugin *plugin, int i)
{
    int n;
    const char *name = plugin->backends[i]->name;
    const struct hc_backend *const *others = hc_backends_built_in(&n);
    return hc_backend_among(others, n, name) || hc_backend_among(plugin->backends, i, name);
}

/* Whether a bound can be derived from it. The widest known accumulator has 64 bits. */
static bool is_accumulator(const struct hc_accumulator *a)
{
    return a->precision >= 8 && a->precision <= 64 && a->block >= 1 && a->block <= 1 << 16 &&
           a->extra_bits >= 0 && a->extra_bits <= 64;
}

static bool are_borders(const struct hc_border *b)
{
    for (; b && b->size; b++)
        if (b->size < 0 || (unsigned)b->extent >= HC_EXTENT_COUNT)
            return false;
    return true;
}

/* What is wrong with backend i of a plug-in, or NULL. */
static const char *wrong_with(const struct hc_plugin *plugin, int i)
{
    const struct hc_backend *b = plugin->backends[i];
    if (!b)
        return "is NULL";
    if (b->abi != HC_BACKEND_ABI)
        return "is of another version";
    if (!b->name || !is_name(b->name))
        return "has no name of small letters, digits and - _ .";
    if (is_taken(plugin, i))
        return "has another one's name";
    if (!b->title)
        return "has no title";
    if (b->unavailable && b->unavailable())
        return NULL; /* it is never opened */
    if (!b->open || !b->close || !b->allocate || !b->release || !b->upload || !b->download)
        return "lacks open, close, allocate, release, upload or download";
    if (!b->capture != !b->captured || !b->capture != !b->replay || !b->capture != !b->forget)
        return "has some of capture, captured, replay and forget";
    if (!b->operands != !b->judge)
        return "has one of operands and judge";
    if (!is_accumulator(&b->accumulator))
        return "has an impossible accumulator";
    return are_borders(b->borders) ? NULL : "has an impossible border";
}

static bool check(const struct hc_plugin *plugin, const char *path, const char *name)
{
    const char *wrong = NULL;
    int count = 0;
    if (!plugin)
        return hc_fail(HC_INVALID, "%s: the plug-in has no backend", file_of(path)) == HC_OK;
    if (plugin->abi != HC_BACKEND_ABI)
        return hc_fail(HC_INVALID, "%s is a plug-in of version %u, this program takes version %u",
                       file_of(path), plugin->abi, HC_BACKEND_ABI) == HC_OK;
    if (plugin->count < 1 || plugin->count > HC_MAX_PLUGIN || !plugin->backends)
        return hc_fail(HC_INVALID, "%s has %d backends, not 1 to %d", file_of(path), plugin->count,
                       HC_MAX_PLUGIN) == HC_OK;
    while (count < plugin->count && !(wrong = wrong_with(plugin, count)))
        count++;
    if (wrong)
        return hc_fail(HC_INVALID, "%s: its backend %d %s", file_of(path), count + 1, wrong) ==
               HC_OK;
    return hc_backend_among(plugin->backends, plugin->count, name) ||
           hc_fail(HC_INVALID, "%s has no backend '%s'", file_of(path), name) == HC_OK;
}

const struct hc_plugin *hc_plugin_load(const char *path, const char *name)
{
    if (access(path, R_OK) != 0) {
        (void)hc_fail(HC_IO, "%s cannot be read", path);
        return NULL;
    }
    if (hc_elf_is_truncated(path)) {
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

/* An unavailable backend is never opened, so the rest of the table is not used. */
static enum hc_status open_queue(const struct hc_backend *backend, struct hc_queue **queue,
                                 int threads)
{
    (void)backend;
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

/* <the program's folder>/halfcheck-cuda.so, or an empty text if the folder is unknown. */
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
