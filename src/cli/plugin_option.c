#include "cli/plugin_option.h"

#include <stddef.h>
#include <string.h>

#include "cases/plugin.h"
#include "plugins.h"

static int take(const char *path)
{
    const char *slash = strrchr(path, '/');
    enum hc_status status = hc_plugins_add(path);
    if (status == HC_OK)
        status = hc_cases_of_plugin(slash ? slash + 1 : path);
    return status == HC_OK ? HC_AS_CLAIMED : hc_complain_message();
}

const struct hc_option hc_plugin_option[2] = {
    {.name = "plugin",
     .value = "FILE",
     .take = take,
     .help = "add the backends and cases of a shared object; may be repeated"},
    {0},
};
