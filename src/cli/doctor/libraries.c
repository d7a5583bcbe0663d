/* The libraries that are loaded, beside those that the program was built with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/libraries.h"
#include "cli/doctor/doctor.h"

/* Whether version a comes before b: 4.1.9 before 4.2. */
static bool is_older(const char *a, const char *b)
{
    while (*a && *b) {
        char *behind_a;
        char *behind_b;
        long x = strtol(a, &behind_a, 10);
        long y = strtol(b, &behind_b, 10);
        if (x != y)
            return x < y;
        if (behind_a == a || behind_b == b)
            return false;
        a = behind_a + (*behind_a == '.');
        b = behind_b + (*behind_b == '.');
    }
    return false;
}

/* A library that is older than its headers may lack what they promise. */
static void tell(struct hc_doctor *doctor, const struct hc_library *library)
{
    const char *version = library->loaded[0] ? library->loaded : library->built;
    char found[128];
    if (!version[0] && strcmp(library->name, "onednn") == 0) {
        hc_doctor_tell(doctor, HC_HEALTH_MISSING, library->name, "not built with it",
                       "host convolves and multiplies in plain loops, several times as slow",
                       "apt-get install libdnnl-dev, and build again");
        return;
    }
    (void)snprintf(found, sizeof found, "%s%s%s", version[0] ? version : "inside the program",
                   library->loaded[0] && library->built[0] ? ", built with " : "",
                   library->loaded[0] ? library->built : "");
    if (library->loaded[0] && library->built[0] && is_older(library->loaded, library->built))
        hc_doctor_tell(doctor, HC_HEALTH_BROKEN, library->name, found,
                       "it is older than what the program was built with",
                       "build halfcheck on this machine, or install the newer library");
    else
        hc_doctor_tell(doctor, HC_HEALTH_OK, library->name, found, NULL, NULL);
}

void hc_doctor_libraries(struct hc_doctor *doctor)
{
    int n;
    const struct hc_library *libraries = hc_libraries(&n);
    for (int i = 0; i < n; i++)
        tell(doctor, &libraries[i]);
}
