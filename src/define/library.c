#include "define/library.h"

#include <stddef.h>
#include <string.h>

const struct hc_library_text hc_library[] = {
#include "hc_definitions.inc"
    {NULL, NULL},
};

const char *hc_library_find(const char *name)
{
    for (const struct hc_library_text *row = hc_library; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row->text;
    return NULL;
}
