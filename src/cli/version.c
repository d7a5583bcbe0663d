#include "cli/version.h"

#include <string.h>

#include "check/record/environment.h"
#include "check/record/libraries.h"
#include "op/text.h"

static void print_library(FILE *out, const struct hc_library *library)
{
    bool both = library->built[0] && library->loaded[0];
    const char *version = library->loaded[0] ? library->loaded : library->built;
    hc_print(out, "%-10s ", library->name);
    hc_text_line(out, version[0] ? version : "none");
    if (both && strcmp(library->built, library->loaded) != 0)
        hc_print(out, ", built with %s", library->built);
    (void)fputc('\n', out);
}

void hc_print_version(FILE *out)
{
    int n;
    const struct hc_library *libraries = hc_libraries(&n);
    json_t *environment = hc_environment();
    hc_print(out, "%s\n", hc_version());
    hc_print(out, "%-10s %s\n", "compiler",
             json_string_value(json_object_get(environment, "compiler")));
    for (int i = 0; i < n; i++)
        print_library(out, &libraries[i]);
    json_decref(environment);
}
