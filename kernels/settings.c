#include "kernels/settings.h"

#include <stdio.h>
#include <string.h>

#include "kernels/host/native/native.h"

static const char name[] = "native=";
static char options[48];

bool hc_is_setting(const char *word)
{
    return strncmp(word, name, strlen(name)) == 0;
}

enum hc_status hc_setting_take(const char *word)
{
    if (!hc_is_setting(word))
        return hc_fail(HC_INVALID, "--set takes native=off, not '%.40s'", word);
    const char *value = word + strlen(name);
    enum hc_status status = hc_native_set(value);
    if (status == HC_OK)
        (void)snprintf(options, sizeof options, " --set %s", word);
    return status;
}

const char *hc_settings_options(void)
{
    return options;
}
