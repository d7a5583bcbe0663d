#include "kernels/plugin/load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernels/plugin/check.h"
#include "kernels/plugin/elf.h"
#include "num/float_state.h"

const char *hc_plugin_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void hc_plugin_by_program(char *path, size_t size, const char *file)
{
    static const char *const places[] = {"../lib/halfcheck/", ""};
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    for (int i = 0; slash && i < 2; i++) {
        (void)snprintf(slash + 1, size - (size_t)(slash + 1 - path), "%s%s", places[i], file);
        if (i == 0 && access(path, F_OK) == 0)
            return;
    }
}

enum hc_status hc_plugin_is_readable(const char *path)
{
    if (access(path, R_OK) != 0)
        return hc_fail(HC_IO, "%s cannot be read", path);
    return hc_elf_is_truncated(path) ? hc_fail(HC_INVALID, "%s is cut short", path) : HC_OK;
}

void *hc_plugin_load(const char *path)
{
    if (hc_plugin_is_readable(path) != HC_OK)
        return NULL;
    hc_float_state_undo("a library of this program", "started");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    hc_float_state_undo(hc_plugin_file(path), "loaded");
    const char *why = library ? NULL : dlerror();
    if (!library)
        (void)hc_fail(HC_INVALID, "cannot load %s", why ? why : path);
    return library;
}

const void *hc_plugin_symbol(void *library, const char *name)
{
    return dlsym(library, name);
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

const struct hc_plugin *hc_plugin_backends(void *library, const char *path, const char *name)
{
    hc_plugin_entry *entry = entry_of(library);
    const char *file = hc_plugin_file(path);
    if (!entry) {
        (void)hc_fail(HC_INVALID, "%s is no plug-in of halfcheck", file);
        return NULL;
    }
    const struct hc_plugin *plugin = entry(hc_fail);
    hc_float_state_undo(file, "asked for its backends");
    if (hc_plugin_check(plugin, file) != HC_OK)
        return NULL;
    if (name && !hc_backend_among(plugin->backends, plugin->count, name)) {
        (void)hc_fail(HC_INVALID, "%s has no backend '%s'", file, name);
        return NULL;
    }
    return plugin;
}
