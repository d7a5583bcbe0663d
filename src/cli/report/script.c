#include "cli/report/script.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *name;
    const char *text;
} scripts[] = {
#include "hc_scripts.inc"
};

const char *hc_script(const char *name)
{
    size_t i = 0;
    while (strcmp(scripts[i].name, name) != 0) {
        i++;
        assert(i < sizeof scripts / sizeof scripts[0]);
    }
    return scripts[i].text;
}
