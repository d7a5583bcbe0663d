#include "check/runner.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/former.h"
#include "check/omissions.h"
#include "check/workers.h"
#include "op/typed.h"

const char *const hc_level_names[] = {"quick", "standard", "exhaustive", NULL};

bool hc_matches(const char *const *patterns, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    return count == 0;
}

/* By its name, or by the one that it had in the version before. */
static bool case_matches(const char *const *patterns, int count, const struct hc_case *what)
{
    hc_case_name former;
    return hc_matches(patterns, count, what->name) ||
           (hc_former_name(what->name, former) && hc_matches(patterns, count, former));
}

static bool is_chosen(const struct hc_run_options *options, const struct hc_case *what)
{
    return case_matches(options->patterns, options->pattern_count, what);
}

static bool runs(const struct hc_run_options *options, const struct hc_case *what)
{
    return what->level <= options->level && is_chosen(options, what);
}

static bool concerns(const struct hc_case *what, const struct hc_backend *backend)
{
    return !what->against_exact || strcmp(backend->name, "exact") != 0;
}

/* Names what the user may have meant: a case, or all cases of a component or of an op. */
static enum hc_status no_case(const struct hc_run_options *options, const char *pattern)
{
    struct hc_nearest nearest = hc_nearest_to(pattern, strlen(pattern));
    for (int c = 0; c < options->case_count; c++) {
        const char *name = options->cases[c]->name;
        const char *before = c ? options->cases[c - 1]->name : "";
        for (const char *slash = name; (slash = strchr(slash, '/')) != NULL; slash++) {
            char family[HC_LONGEST_NAME + 1];
            size_t length = (size_t)(slash - name) + 1;
            (void)snprintf(family, sizeof family, "%.*s*", (int)length, name);
            if (strncmp(before, name, length) != 0)
                hc_nearest_try(&nearest, family);
        }
        hc_nearest_try(&nearest, name);
    }
    return hc_fail(HC_INVALID, "no case matches '%s'%s; see: halfcheck list cases", pattern,
                   hc_nearest_hint(&nearest));
}

static enum hc_status something_runs(const struct hc_run_options *options)
{
    int chosen = 0;
    int elsewhere = 0;
    for (int i = 0; i < options->pattern_count; i++) {
        int c = 0;
        while (c < options->case_count &&
               !case_matches(&options->patterns[i], 1, options->cases[c]))
            c++;
        if (c == options->case_count)
            return no_case(options, options->patterns[i]);
    }
    for (int c = 0; c < options->case_count; c++) {
        chosen += is_chosen(options, options->cases[c]);
        elsewhere += runs(options, options->cases[c]);
    }
    if (hc_run_length(options) == 0 && elsewhere > 0)
        return hc_fail(HC_INVALID,
                       "the %d cases chosen compare another backend with exact; name one",
                       elsewhere);
    if (hc_run_length(options) == 0)
        return hc_fail(HC_INVALID, "none of the %d cases chosen runs at level %s; try --level %s",
                       chosen, hc_level_names[options->level],
                       hc_level_names[options->level + (options->level < HC_EXHAUSTIVE)]);
    return HC_OK;
}

int hc_run_length(const struct hc_run_options *options)
{
    int length = 0;
    for (int c = 0; c < options->case_count; c++) {
        const struct hc_case *what = options->cases[c];
        if (!runs(options, what))
            continue;
        length += what->once;
        for (int b = 0; b < options->backend_count && !what->once; b++)
            length += concerns(what, options->backends[b]);
    }
    return length;
}

enum hc_status hc_run_cases(const struct hc_run_options *options)
{
    enum hc_status status = something_runs(options);
    if (status != HC_OK)
        return status;
    int count = 0;
    struct hc_case_run *units = malloc(((size_t)hc_run_length(options) + 1) * sizeof *units);
    if (!units)
        return hc_fail(HC_NO_MEMORY, "no memory for the list of cases");
    for (int c = 0; c < options->case_count; c++) {
        const struct hc_case *what = options->cases[c];
        if (!runs(options, what))
            continue;
        if (what->once)
            units[count++] = (struct hc_case_run){what, -1};
        for (int b = 0; b < options->backend_count && !what->once; b++)
            if (concerns(what, options->backends[b]))
                units[count++] = (struct hc_case_run){what, b};
    }
    status = hc_run_units(options, units, count);
    free(units);
    if (status == HC_OK && options->omissions && options->omissions->lost)
        return hc_fail(HC_NO_MEMORY, "no memory to count what was left out");
    return status;
}
