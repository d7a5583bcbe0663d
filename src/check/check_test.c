#include <criterion/criterion.h>
#include <string.h>

#include "check/check_inner.h"

static struct hc_check check;

Test(check, a_claim_that_does_not_hold_fails)
{
    cr_assert_not(hc_claim_value(&check, "one", 1, 2));
    cr_assert_eq(check.result.verdict, HC_FAIL);
    cr_assert_eq(check.result.checked, 1);
    cr_assert_str_eq(check.result.note, "one: want 1, got 2");
}

Test(check, counts_what_does_not_hold)
{
    memset(&check, 0, sizeof check);
    cr_assert(hc_claim_value(&check, "one", 1, 1));
    cr_assert_not(hc_claim_value(&check, "one", 1, 2));
    hc_claim_sweep(&check, "ten", 10, 3, "the first");
    hc_claim_sweep(&check, "five", 5, 0, NULL);
    cr_assert_eq(check.result.checked, 17);
    cr_assert_eq(check.result.wrong, 4);
}

Test(check, what_is_claimed_after_a_call_that_could_not_be_run_is_of_nothing)
{
    static const struct {
        enum hc_status status;
        enum hc_verdict verdict;
    } rows[] = {{HC_UNSUPPORTED, HC_UNIMPLEMENTED}, {HC_DEVICE, HC_ERROR}};
    for (int i = 0; i < 2; i++) {
        memset(&check, 0, sizeof check);
        cr_assert(hc_claim_true(&check, "before", true));
        cr_assert_not(hc_check_ok(&check, hc_fail(rows[i].status, "no such op")));
        cr_assert_not(hc_claim_true(&check, "after", false));
        hc_claim_sweep(&check, "ten", 10, 3, "the first");
        cr_assert_eq(check.result.checked, 1);
        cr_assert_eq(check.result.verdict, rows[i].verdict);
        cr_assert_eq(check.result.error, 0);
        cr_assert_str_eq(check.result.note, "no such op");
    }
}

Test(check, what_failed_before_it_stays_failed)
{
    cr_assert_not(hc_claim_within(&check, "one", 1, 2, 0.5));
    cr_assert_not(hc_check_ok(&check, hc_fail(HC_UNSUPPORTED, "no such op")));
    cr_assert_eq(check.result.verdict, HC_FAIL);
    cr_assert_not(hc_claim_true(&check, "after", false));
    cr_assert_eq(check.result.verdict, HC_FAIL);
}

static void ask_for_everything(struct hc_check *asking)
{
    (void)hc_check_memory(asking, 64);
    (void)hc_check_memory(asking, SIZE_MAX);
    hc_claim_true(asking, "behind the memory", false);
}

Test(check, a_case_that_gets_no_memory_ends_there_as_an_error)
{
    static const struct hc_case asks = {.name = "asks/everything", .run = ask_for_everything};
    check.what = &asks;
    hc_check_run(&check);
    cr_assert_eq(check.result.verdict, HC_ERROR);
    cr_assert_eq(check.result.checked, 0);
    cr_assert_not_null(strstr(check.result.note, "no memory for"), "%s", check.result.note);
    hc_check_end(&check);
}

static void claims_three(struct hc_check *of)
{
    static const struct hc_frame frame = {.title = "a picture"};
    hc_claim_true(of, "its name is its own", strcmp(hc_check_case(of)->name, "three/claims") == 0);
    hc_claim_value(of, "one", 1, 2);
    hc_claim_value(of, "two", 2, 2);
    (void)hc_picture_new(of, &frame);
}

Test(check, the_claims_of_another_case_count_and_its_picture_does_not)
{
    static const struct hc_case three = {.name = "three/claims", .run = claims_three};
    static const struct hc_case self = {.name = "a/case"};
    check.what = &self;
    hc_claim_true(&check, "before", true);
    hc_claim_case(&check, &three);
    cr_assert_eq(check.result.checked, 4);
    cr_assert_eq(check.result.verdict, HC_FAIL);
    cr_assert_str_eq(check.result.note, "one: want 1, got 2");
    cr_assert_null(check.result.pictures);
    cr_assert_eq(hc_check_case(&check), &self);
    hc_check_end(&check);
}
