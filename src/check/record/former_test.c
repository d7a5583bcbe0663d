#include <criterion/criterion.h>

#include "check/record/former.h"
#include "cases/registry.h"

Test(former, a_case_is_found_by_its_whole_name_or_by_its_ops)
{
    hc_case_name name;
    cr_assert(hc_current_name("elementwise/found-alone", name));
    cr_expect_str_eq(name, "elementwise/found-inf-alone");
    cr_assert(hc_current_name("op/journal/fp32/1/normal", name));
    cr_expect_str_eq(name, "op/step_log/fp32/1/normal");
    cr_assert(hc_former_name("op/step_log/fp32/1/normal", name));
    cr_expect_str_eq(name, "op/journal/fp32/1/normal");
    cr_expect_not(hc_current_name("elementwise/found-alone-2", name));
    cr_expect_not(hc_current_name("elementwise/found", name));
    cr_expect_not(hc_former_name("op/adam/fp32/1/normal", name));
}

/* A row whose new name no case has is a mistake in the table. */
Test(former, every_renamed_case_is_there_and_no_case_has_a_former_name)
{
    int n;
    int found = 0;
    const struct hc_case *const *cases = hc_all_cases(&n);
    for (int i = 0; i < n; i++) {
        hc_case_name name;
        cr_expect_not(hc_current_name(cases[i]->name, name), "%s", cases[i]->name);
        found += hc_former_name(cases[i]->name, name);
    }
    cr_expect_eq(found, 52 + 2 + 1 + 4, "%d", found);
}
