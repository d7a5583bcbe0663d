/* Loading a plug-in. What it says of its backends is checked before any of it is believed. */
#define _FILE_OFFSET_BITS 64
#include <dlfcn.h>
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend.h"
#include "kernels/plugin/added.h"
#include "kernels/plugin/load.h"
#include "num/float_state.h"

/* The loader maps a truncated file without an error, and the program dies of SIGBUS when it touches
   what is missing. */

/* Whether n entries of `size` bytes from `at` on end within a file of `file` bytes. */
static bool fits(uint64_t file, uint64_t at, uint64_t n, uint64_t size)
{
    return at <= file && (n == 0 || (file - at) / n >= size);
}

static bool read_at(FILE *file, uint64_t at, void *to, size_t bytes)
{
    return at <= INT64_MAX && fseeko(file, (off_t)at, SEEK_SET) == 0 &&
           fread(to, 1, bytes, file) == bytes;
}

static bool is_whole(FILE *file, uint64_t size, const Elf64_Ehdr *header)
{
    if (header->e_phentsize != sizeof(Elf64_Phdr) ||
        !fits(size, header->e_phoff, header->e_phnum, sizeof(Elf64_Phdr)) ||
        !fits(size, header->e_shoff, header->e_shnum, header->e_shentsize))
        return false;
    for (int i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr segment;
        if (!read_at(file, header->e_phoff + (uint64_t)i * sizeof segment, &segment,
                     sizeof segment) ||
            !fits(size, segment.p_offset, segment.p_filesz, 1))
            return false;
    }
    return true;
}

/* Whether the file is a 64-bit ELF file that ends before its headers, segments or sections do.
   False for a file that is no ELF file or cannot be read: the loader reports those. */
static bool elf_is_truncated(const char *path)
{
    Elf64_Ehdr header;
    struct stat status;
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    bool truncated = false;
    if (fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode) &&
        read_at(file, 0, header.e_ident, EI_NIDENT) &&
        memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64)
        truncated = !read_at(file, 0, &header, sizeof header) ||
                    !is_whole(file, (uint64_t)status.st_size, &header);
    (void)fclose(file);
    return truncated;
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
    if (hc_backend_among(others, n, name) || hc_backend_among(plugin->backends, i, name))
        return true;
    others = hc_backends_added(&n);
    return hc_backend_among(others, n, name);
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
    if (!hc_accumulator_possible(&b->accumulator))
        return "has an impossible accumulator";
    return are_borders(b->borders) ? NULL : "has an impossible border";
}

/* HC_OK, or HC_INVALID with a line that begins with the name of the plug-in's file. */
static enum hc_status hc_plugin_check(const struct hc_plugin *plugin, const char *file)
{
    const char *wrong = NULL;
    int count = 0;
    if (!plugin)
        return hc_fail(HC_INVALID, "%s: the plug-in has no backend", file);
    if (plugin->abi != HC_BACKEND_ABI)
        return hc_fail(HC_INVALID, "%s is a plug-in of version %u, this program takes version %u",
                       file, plugin->abi, HC_BACKEND_ABI);
    if (plugin->count < 1 || plugin->count > HC_MAX_PLUGIN || !plugin->backends)
        return hc_fail(HC_INVALID, "%s has %d backends, not 1 to %d", file, plugin->count,
                       HC_MAX_PLUGIN);
    while (count < plugin->count && !(wrong = wrong_with(plugin, count)))
        count++;
    return wrong ? hc_fail(HC_INVALID, "%s: its backend %d %s", file, count + 1, wrong) : HC_OK;
}

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
    return elf_is_truncated(path) ? hc_fail(HC_INVALID, "%s is cut short", path) : HC_OK;
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
