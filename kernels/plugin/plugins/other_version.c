/* A plug-in of another version, for kernels/plugin/plugin_test.c: of it only `abi` may be read. */
#include "backend.h"

static const struct hc_plugin other = {.abi = HC_BACKEND_ABI + 1};

hc_plugin_entry hc_plugin;
const struct hc_plugin *hc_plugin(hc_fail_function *fail)
{
    (void)fail;
    return &other;
}
