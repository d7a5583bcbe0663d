#include "cli/testing.h"

Test(renamed, a_case_still_goes_by_the_name_that_it_had, .init = enter_folder)
{
    const struct ran *ran = run_shell("$hc run scaler/journal-of-every-step 'op/journal/*/1/*' "
                                      "--backend exact --verbose");
    cr_expect_eq(ran->status, 0, "%s", ran->err);
    cr_expect_not_null(strstr(ran->out, "scaler/step-log-of-every-step"));
    cr_expect_not_null(strstr(ran->out, "op/step_log/fp32/1/normal"));
    ran = run_shell("$hc explain elementwise/found-alone --backend exact");
    cr_expect_eq(ran->status, 0, "%s", ran->err);
    cr_expect(strncmp(ran->out, "elementwise/found-inf-alone\n", 28) == 0, "%s", ran->out);
}

Test(renamed, a_baseline_with_former_names_is_compared, .init = enter_folder)
{
    const struct ran *ran = run_shell(
        "$hc run scaler/step-log-of-every-step --backend exact --json new.json >/dev/null\n"
        "sed 's/step-log-of-every-step/journal-of-every-step/' new.json >old.json\n"
        "$hc gate --baseline old.json new.json");
    cr_expect_eq(ran->status, 0, "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "1 result against 1: 1 the same\n"), "%s", ran->out);
}
