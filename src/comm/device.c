#include "comm/device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "load.h"

static const struct hc_device_comm_kind *kind;
static char reason[512];

static enum hc_status load_device_comm(const char *path)
{
    union {
        const void *symbol;
        hc_device_comm_entry *entry;
    } plugin = {NULL};
    const char *file = hc_plugin_file(path);
    void *library = hc_plugin_load(path);
    if (!library)
        return HC_INVALID;
    plugin.symbol = hc_plugin_symbol(library, "hc_device_comm_plugin");
    if (!plugin.symbol)
        return hc_fail(HC_INVALID, "%s is no plug-in for the memory of GPUs", file);
    const struct hc_device_comm_kind *has = plugin.entry(hc_fail);
    if (has->abi != HC_DEVICE_COMM_ABI)
        return hc_fail(HC_INVALID, "%s is of version %u, needed %u", file, has->abi,
                       HC_DEVICE_COMM_ABI);
    kind = has;
    return HC_OK;
}

static void find_device_comm(void)
{
    char found[4096];
    const char *path = getenv("HALFCHECK_NCCL_PLUGIN");
    if (!path) {
        hc_plugin_by_program(found, sizeof found, "halfcheck-nccl.so");
        path = found;
#ifdef HC_NO_NCCL
        if (access(path, F_OK) != 0) {
            (void)snprintf(reason, sizeof reason, "%s", HC_NO_NCCL);
            return;
        }
#endif
    }
    if (load_device_comm(path) != HC_OK)
        (void)snprintf(reason, sizeof reason, "%s", hc_message());
}

enum hc_status hc_device_comm_load(const struct hc_device_comm_kind **loaded)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, find_device_comm);
    *loaded = kind;
    return kind ? HC_OK : hc_fail(HC_UNSUPPORTED, "nccl: %s", reason);
}
