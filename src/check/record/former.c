#include "check/record/former.h"

#include <stdio.h>
#include <string.h>

/* Version 0.2.0 renamed these. A name that ends in a slash stands for all that begin with it. */
static const struct {
    const char *former;
    const char *current;
} renamed[] = {
    {"op/journal/", "op/step_log/"},
    {"bits/journal/", "bits/step_log/"},
    {"border/journal/", "border/step_log/"},
    {"checkpoint/what-a-lost-piece-costs", "checkpoint/what-a-lost-state-tensor-costs"},
    {"elementwise/found-alone", "elementwise/found-inf-alone"},
    {"rounding/midpoints-and-what-is-beside-them", "rounding/midpoints-and-neighbours"},
    {"scaler/journal-of-every-step", "scaler/step-log-of-every-step"},
};

/* Puts `to` in the place of `from`, which is all of the name, or its beginning with a slash at the
   end. */
static bool replace(const char *name, const char *from, const char *to, hc_case_name text)
{
    size_t length = strlen(from);
    if (strncmp(name, from, length) != 0 || (from[length - 1] != '/' && name[length] != '\0'))
        return false;
    return snprintf(text, HC_LONGEST_NAME + 1, "%s%s", to, name + length) <= HC_LONGEST_NAME;
}

bool hc_former_name(const char *name, hc_case_name former)
{
    for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++)
        if (replace(name, renamed[i].current, renamed[i].former, former))
            return true;
    return false;
}

bool hc_current_name(const char *former, hc_case_name name)
{
    for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++)
        if (replace(former, renamed[i].former, renamed[i].current, name))
            return true;
    return false;
}
