#include "comm/plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "load.h"

static hc_comm_plugin_entry *entry_of(void *library)
{
    union {
        const void *symbol;
        hc_comm_plugin_entry *entry;
    } plugin = {hc_plugin_symbol(library, "hc_comm_plugin")};
    return plugin.entry;
}

/* What is wrong with the plug-in, or NULL. */
static const char *wrong_with(const struct hc_comm_plugin *plugin)
{
    const struct hc_comm_kind *k = plugin->kind;
    if (!k || !plugin->open)
        return "lacks its kind or open";
    if (k->abi != HC_COMM_ABI)
        return "has a kind of another version";
    if (!k->name || !k->title)
        return "has no name or title";
    if (!k->close || !k->send_receive || !k->all_gather || !k->broadcast || !k->barrier ||
        !k->abort)
        return "lacks close, send_receive, all_gather, broadcast, barrier or abort";
    return NULL;
}

const struct hc_comm_plugin *hc_comm_plugin_load(const char *path)
{
    const char *file = hc_plugin_file(path);
    void *library = hc_plugin_load(path);
    hc_comm_plugin_entry *entry = library ? entry_of(library) : NULL;
    const struct hc_comm_plugin *plugin = entry ? entry() : NULL;
    if (!library)
        return NULL;
    if (!plugin) {
        (void)hc_fail(HC_INVALID, "%s is no plug-in for ranks", file);
        return NULL;
    }
    if (plugin->abi != HC_COMM_ABI) {
        (void)hc_fail(HC_INVALID,
                      "%s is a plug-in for ranks of version %u, this program takes version %u",
                      file, plugin->abi, HC_COMM_ABI);
        return NULL;
    }
    const char *wrong = wrong_with(plugin);
    if (wrong)
        (void)hc_fail(HC_INVALID, "%s %s", file, wrong);
    return wrong ? NULL : plugin;
}

const struct hc_comm_plugin *hc_comm_plugin_mpi(char *path, size_t size)
{
    const char *named = getenv("HALFCHECK_MPI_PLUGIN");
    if (named && !*named) {
        (void)hc_fail(HC_INVALID, "HALFCHECK_MPI_PLUGIN is empty; it names the plug-in's file");
        return NULL;
    }
    if (named)
        (void)snprintf(path, size, "%s", named);
    else
        hc_plugin_by_program(path, size, "halfcheck-mpi.so");
#ifdef HC_NO_MPI
    if (!named && access(path, F_OK) != 0) {
        (void)hc_fail(HC_IO, "there is no halfcheck-mpi.so: %s", HC_NO_MPI);
        return NULL;
    }
#endif
    return hc_comm_plugin_load(path);
}
