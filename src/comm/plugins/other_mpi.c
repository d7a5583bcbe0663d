/* A plug-in for ranks of another version, for src/comm/plugin_test.c: of it only `abi` may be
   read. */
#include "comm/plugin.h"

static const struct hc_comm_plugin other = {.abi = HC_COMM_ABI + 1};

hc_comm_plugin_entry hc_comm_plugin;
const struct hc_comm_plugin *hc_comm_plugin(void)
{
    return &other;
}
