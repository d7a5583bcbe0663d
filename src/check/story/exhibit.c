#include "check/story/exhibit.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/check_inner.h"

void hc_exhibits_add(struct hc_exhibits *shown, const char *name, enum hc_format format,
                     double buggy, double fixed, double real, double rad)
{
    assert(shown->count < HC_MAX_EXHIBITS);
    struct hc_exhibit *e = &shown->exhibit[shown->count++];
    *e = (struct hc_exhibit){.buggy_format = format,
                             .format = format,
                             .buggy = buggy,
                             .fixed = fixed,
                             .real = real,
                             .rad = rad};
    (void)snprintf(e->name, sizeof e->name, "%s", name);
}

bool hc_exhibit_shows(const struct hc_exhibit *e)
{
    bool same = e->buggy == e->real || (isnan(e->buggy) && isnan(e->real));
    return !same && !(fabs(e->buggy - e->real) <= e->rad);
}

/* The width of the names in the table, which has 79 columns; a longer name has its own line. */
enum { NAME = 20 };

void hc_exhibits_show(struct hc_check *check, const struct hc_exhibits *shown)
{
    struct hc_exhibits *kept = hc_check_memory(check, sizeof *kept);
    *kept = *shown;
    check->result.exhibits = kept;
    if (shown->count)
        hc_say(check, "%-*s %15s %15s %15s %8s", NAME, "", "buggy", "fixed",
               shown->by_rule ? "rule" : "real", "bound");
    for (int i = 0; i < shown->count; i++) {
        const struct hc_exhibit *e = &shown->exhibit[i];
        bool fits = strlen(e->name) <= NAME;
        if (!fits)
            hc_say(check, "%s", e->name);
        hc_say(check, "%-*s %15.9g %15.9g %15.9g %8.2g", NAME, fits ? e->name : "", e->buggy,
               e->fixed, e->real, e->rad);
    }
}
