#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "cases/components.h"
#include "cases/registry.h"

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
