#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "cases/components.h"
#include "cases/registry.h"
#include "check/runner.h"
#include "check/selftest/fault.h"

Test(components, every_component_says_what_its_cases_claim)
{
    int n;
    const struct hc_case *const *cases = hc_all_cases(&n);
    for (int i = 0; i < n; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(cases[i]->name, "/"),
                       cases[i]->name);
        cr_assert_not_null(hc_component_claims(name), "no line for %s", name);
    }
    cr_expect_null(hc_component_claims("no-such"));
}

/* A mechanism of the reports names planted faults that cases of the components catch. */
Test(mechanisms, half_of_them_name_a_fault_and_every_fault_that_is_named_exists)
{
    int n;
    int named = 0;
    const struct hc_mechanism *all = hc_mechanisms(&n);
    for (int i = 0; i < n; i++) {
        named += all[i].faults[0] != NULL;
        for (int f = 0; all[i].faults[f]; f++)
            cr_expect(hc_fault_by_name(all[i].faults[f]), "%s: no planted fault %s", all[i].name,
                      all[i].faults[f]);
    }
    cr_assert_gt(n, 40);
    cr_expect_geq(2 * named, n, "%d of %d", named, n);
}

/* Whether the glob has cases, and none of them is a report. Such a glob of a fault must be caught
   by one of them, or else `halfcheck selftest` fails. */
static bool is_of_components(const char *glob)
{
    int n;
    int matches = 0;
    const struct hc_case *const *cases = hc_all_cases(&n);
    for (int i = 0; i < n; i++) {
        if (!hc_matches(&glob, 1, cases[i]->name))
            continue;
        if (strncmp(cases[i]->name, "field/", 6) == 0 || strncmp(cases[i]->name, "seeds/", 6) == 0)
            return false;
        matches++;
    }
    return matches > 0;
}

Test(mechanisms, the_faults_that_they_name_are_caught_by_cases_of_the_components)
{
    int n;
    const struct hc_mechanism *all = hc_mechanisms(&n);
    for (int i = 0; i < n; i++)
        for (int f = 0; all[i].faults[f]; f++) {
            const struct hc_fault *fault = hc_fault_by_name(all[i].faults[f]);
            char glob[HC_GLOB];
            bool any = false;
            for (int g = 0; fault && !any && hc_fault_glob(fault->patterns, g, glob); g++)
                any = is_of_components(glob);
            cr_expect(any, "%s, which %s names, is to be caught by reports alone", all[i].faults[f],
                      all[i].name);
        }
}
