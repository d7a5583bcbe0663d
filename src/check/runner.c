#include "check/runner.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/former.h"
#include "check/omissions.h"
#include "check/workers.h"
#include "op/typed.h"
#include "unit/unit.h"

const char *const hc_level_names[] = {"quick", "standard", "exhaustive", NULL};

/* Whether a word is the beginning of a name up to a slash: "eps" of "eps/recipes". */
static bool begins(const char *word, const char *name)
{
    size_t length = strlen(word);
    return length > 0 && strncmp(word, name, length) == 0 &&
           (word[length - 1] == '/' || name[length] == '/');
}

bool hc_matches(const char *const *patterns, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (fnmatch(patterns[i], name, 0) == 0 || begins(patterns[i], name))
            return true;
    return count == 0;
}

bool hc_any_glob(const char *globs, const char *name)
{
    char glob[64];
    while (*globs) {
        size_t length = strcspn(globs, " ");
        assert(length < sizeof glob);
        (void)snprintf(glob, sizeof glob, "%.*s", (int)length, globs);
        if (fnmatch(glob, name, 0) == 0)
            return true;
        globs += length + (globs[length] == ' ');
    }
    return false;
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

/* A backend may fill in its units when it is asked whether it can run here. */
bool hc_case_asks(const struct hc_case *what, const struct hc_backend *backend)
{
    if (!what->units)
        return true;
    if (backend->units && backend->unavailable)
        (void)backend->unavailable();
    for (int u = 0; backend->units && backend->units[u]; u++)
        if (hc_any_glob(what->units, backend->units[u]->name))
            return true;
    return false;
}

static bool concerns(const struct hc_run_options *options, const struct hc_case *what,
                     const struct hc_backend *backend)
{
    const char *const *own = &backend->default_cases;
    if (options->by_default && *own && !hc_matches(own, 1, what->name))
        return false;
    if (!hc_case_asks(what, backend))
        return false;
    bool exact = strcmp(backend->name, "exact") == 0;
    if (what->fast_only && (exact || strncmp(backend->name, "sim-", 4) == 0))
        return false;
    return !what->against_exact || !exact;
}

bool hc_runs_on(const struct hc_run_options *options, const struct hc_backend *backend)
{
    for (int c = 0; c < options->case_count; c++)
        if (!options->cases[c]->once && runs(options, options->cases[c]) &&
            concerns(options, options->cases[c], backend))
            return true;
    return false;
}

/* Lists the units in their order, unless `units` is NULL, and returns their number. */
static int list_units(const struct hc_run_options *options, struct hc_case_run *units)
{
    struct hc_case_run unused;
    int count = 0;
    for (int c = 0; c < options->case_count; c++) {
        const struct hc_case *what = options->cases[c];
        if (!runs(options, what))
            continue;
        for (int b = what->once ? -1 : 0; b < (what->once ? 0 : options->backend_count); b++) {
            if (b >= 0 && !concerns(options, what, options->backends[b]))
                continue;
            *(units ? &units[count] : &unused) = (struct hc_case_run){what, b};
            count++;
        }
    }
    return count;
}

static struct hc_case_run *new_units(const struct hc_run_options *options)
{
    return malloc(((size_t)list_units(options, NULL) + 1) * sizeof(struct hc_case_run));
}

static const char *backend_name(const struct hc_run_options *options,
                                const struct hc_case_run *unit)
{
    return unit->backend < 0 ? "-" : options->backends[unit->backend]->name;
}

/* Tries the groups that a case is the first one of: "op", "op/add"; with a star if a glob was
   typed. A group whose last word was typed, "add", is taken at once. */
static void try_groups(struct hc_nearest *nearest, const char *before, const char *name)
{
    const char *star = strpbrk(nearest->typed, "*?[") ? "/*" : "";
    for (const char *slash = name; (slash = strchr(slash, '/')) != NULL; slash++) {
        char group[HC_LONGEST_NAME + 1];
        int length = (int)(slash - name);
        if (strncmp(before, name, (size_t)length + 1) == 0)
            continue;
        (void)snprintf(group, sizeof group, "%.*s%s", length, name, star);
        hc_nearest_try(nearest, group);
        const char *last = strrchr(group, '/');
        bool large = strncmp(group, "size/", 5) == 0; /* whose op has cases of small calls, too */
        if (last && !large && !star[0] && strcmp(last + 1, nearest->typed) == 0)
            hc_nearest_take(nearest, group);
    }
}

/* Names what the user may have meant: a case, or all cases of a component or of an op. */
static enum hc_status no_case(const struct hc_run_options *options, const char *pattern)
{
    struct hc_nearest nearest = hc_nearest_to(pattern, strlen(pattern));
    for (int c = 0; c < options->case_count; c++) {
        try_groups(&nearest, c ? options->cases[c - 1]->name : "", options->cases[c]->name);
        hc_nearest_try(&nearest, options->cases[c]->name);
    }
    return hc_fail(HC_INVALID, "no case matches '%s'%s; see: halfcheck list, halfcheck find WORDS",
                   pattern, hc_nearest_hint(&nearest));
}

enum hc_status hc_run_possible(const struct hc_run_options *options)
{
    int chosen = 0;
    int elsewhere = 0;
    int compared = 0;
    int of_units = 0;
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
        compared += runs(options, options->cases[c]) && options->cases[c]->against_exact;
        of_units += runs(options, options->cases[c]) && options->cases[c]->units;
    }
    int units = list_units(options, NULL);
    if (units == 0 && of_units > 0)
        return hc_fail(HC_INVALID,
                       "the %d case%s matrix units that no backend named here has; see: "
                       "halfcheck list units",
                       of_units, of_units == 1 ? " chosen asks" : "s chosen ask");
    if (units == 0 && compared > 0)
        return hc_fail(HC_INVALID, "the %d case%s another backend with exact; name one", compared,
                       compared == 1 ? " chosen compares" : "s chosen compare");
    if (units == 0 && elsewhere > 0)
        return hc_fail(HC_INVALID, "the %d case%s too long on the backends named here; name host",
                       elsewhere, elsewhere == 1 ? " chosen takes" : "s chosen take");
    if (units == 0)
        return hc_fail(HC_INVALID, "none of the %d case%s chosen runs at level %s; try --level %s",
                       chosen, chosen == 1 ? "" : "s", hc_level_names[options->level],
                       hc_level_names[options->level + (options->level < HC_EXHAUSTIVE)]);
    return HC_OK;
}

/* A digest (FNV-1a: Fowler, Noll, Vo; RFC 9923) of what each unit is and of its shard. */
static uint64_t digest(uint64_t hash, const char *text, uint64_t number)
{
    for (const char *c = text; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    return (hash ^ number) * 0x100000001b3u;
}

/* Keeps only the units of the shard `own`, and returns their number. Less than 0: no memory. */
static int keep_shard(const struct hc_run_options *options, struct hc_shard *own,
                      struct hc_case_run *units, int count)
{
    int kept = -1;
    double *seconds = malloc(((size_t)count + 1) * sizeof *seconds);
    int *shard = malloc(((size_t)count + 1) * sizeof *shard);
    if (!seconds || !shard)
        goto clean_up;
    for (int i = 0; i < count; i++)
        seconds[i] = options->seconds
                         ? options->seconds(units[i].what, backend_name(options, &units[i]),
                                            options->context)
                         : 1;
    if (hc_shard_plan(seconds, count, own->of, shard) != HC_OK)
        goto clean_up;
    own->plan = digest(0xcbf29ce484222325u, hc_level_names[options->level], options->seed);
    kept = 0;
    for (int i = 0; i < count; i++) {
        own->plan = digest(own->plan, units[i].what->name, 0);
        own->plan = digest(own->plan, backend_name(options, &units[i]), (uint64_t)shard[i]);
        if (shard[i] == own->index)
            units[kept++] = units[i];
    }
clean_up:
    free(seconds);
    free(shard);
    return kept;
}

/* The units that this process runs, and their number, which is less than 0 without memory. */
static struct hc_case_run *own_units(const struct hc_run_options *options, int *count)
{
    struct hc_shard *const parts[] = {options->shard, options->share};
    struct hc_case_run *units = new_units(options);
    *count = units ? list_units(options, units) : -1;
    for (int i = 0; i < 2 && *count >= 0; i++)
        if (parts[i] && parts[i]->of > 1)
            *count = keep_shard(options, parts[i], units, *count);
    return units;
}

int hc_run_length(const struct hc_run_options *options)
{
    int length;
    free(own_units(options, &length));
    return length;
}

enum hc_status hc_run_cases(const struct hc_run_options *options)
{
    enum hc_status status = hc_run_possible(options);
    if (status != HC_OK)
        return status;
    int count;
    struct hc_case_run *units = own_units(options, &count);
    status = count < 0 ? hc_fail(HC_NO_MEMORY, "no memory for the list of cases")
                       : hc_run_units(options, units, count);
    free(units);
    if (status == HC_OK && options->omissions && options->omissions->lost)
        return hc_fail(HC_NO_MEMORY, "no memory to count what was left out");
    return status;
}
