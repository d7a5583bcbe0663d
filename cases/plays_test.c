/* A play drives code of the engine, so a defect in that code must show in it. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "cases/fixture/bug.h"
#include "cases/registry.h"
#include "check/selftest/hunt.h"

Test(plays, name_a_fault_that_they_catch_or_say_that_they_are_arithmetic_only)
{
    int n;
    const struct hc_case *const *cases = hc_all_cases(&n);
    int every = getenv("HALFCHECK_SHORT_TESTS") ? 4 : 1;
    for (int i = 0, play = 0; i < n; i++) {
        const struct hc_bug *bug = hc_bug_of(cases[i]);
        if (!bug || !bug->play || bug->arithmetic_only || play++ % every != 0)
            continue;
        const struct hc_fault *named = bug->fault ? hc_fault_by_name(bug->fault) : NULL;
        cr_expect(named, "%s names no planted fault", cases[i]->name);
        if (!named)
            continue;
        struct hc_fault fault = *named;
        struct hc_hunt hunt;
        fault.patterns = cases[i]->name;
        cr_assert_eq(hc_hunt_begin(&hunt, &fault, cases, n, 0, NULL), HC_OK, "%s", hc_message());
        struct hc_hunt_result result = hc_hunt_end(&hunt);
        cr_assert_eq(result.status, HC_OK, "%s", result.message);
        cr_expect(hc_hunt_caught(&fault, &result), "%s does not catch %s", cases[i]->name,
                  named->name);
    }
}
