/* What the gate makes of a result that is better, worse or gone. */
#include "cli/gate/testing.h"

Test(gate, an_equal_record_passes, .init = enter_folder)
{
    expect(passing("a/b"), passing("a/b"), 0, "nothing is worse than in old.json");
}

Test(gate, every_lost_verdict_is_worse_and_a_won_one_is_not, .init = enter_folder)
{
    for (int v = HC_FAIL; v < HC_VERDICT_COUNT; v++) {
        struct hc_row other = passing("a/b");
        other.verdict = (enum hc_verdict)v;
        expect(passing("a/b"), other, 1, "was PASS");
        expect(other, passing("a/b"), 0, "1 better");
    }
}

Test(gate, a_known_failure_may_stay_and_a_new_one_may_not_come, .init = enter_folder)
{
    struct hc_row failing = passing("a/b");
    failing.verdict = HC_FAIL;
    expect(failing, failing, 0, "1 of which fails as before");
    struct hc_row both[] = {passing("a/b"), failing};
    both[1].name = "a/c";
    write_record("old.json", 1, both);
    write_record("new.json", 2, both);
    cr_expect_eq(run_shell(gate)->status, 1);
    both[1].verdict = HC_PASS;
    write_record("new.json", 2, both);
    cr_expect_eq(run_shell(gate)->status, 0);
}

/* However much is allowed: a pass needs something that was judged. */
Test(gate, where_nothing_was_judged_nothing_passes, .init = enter_folder)
{
    struct hc_row was[] = {passing("a/b"), passing("c/d")};
    struct hc_row is[] = {passing("a/b"), passing("c/d")};
    write_record("old.json", 2, was);
    is[0].verdict = is[1].verdict = HC_SKIPPED;
    write_record("new.json", 2, is);
    const struct ran *ran = run_shell("$hc gate --baseline old.json new.json --allow machine");
    cr_expect(ran->status == 1 && says(ran->out, "FAIL: no result was judged, 2 allowed"), "%s",
              ran->out);
    is[0].verdict = HC_PASS;
    write_record("new.json", 2, is);
    ran = run_shell("$hc gate --baseline old.json new.json --allow machine");
    cr_expect(ran->status == 0 && says(ran->out, "1 allowed"), "%s", ran->out);
}

Test(gate, a_missing_result_is_worse, .init = enter_folder)
{
    expect(passing("a/b"), passing("a/c"), 1, "missing");
    struct hc_row other = passing("a/b");
    other.backend = "host";
    expect(passing("a/b"), other, 1, "missing");
}

Test(gate, eroded_headroom_is_worse, .init = enter_folder)
{
    struct hc_row is = passing("a/b");
    is.error = 2 * is.error;
    expect(passing("a/b"), is, 0, "nothing is worse than in old.json");
    is.error = nextafter(is.error, 1);
    expect(passing("a/b"), is, 1, "error/bound");
    is = passing("a/b");
    is.bound = 2 * is.bound;
    expect(passing("a/b"), is, 1, "bound");
    is = passing("a/b");
    is.checked = 99;
    expect(passing("a/b"), is, 1, "checked 99, was 100");
    struct hc_row lucky = passing("a/b");
    lucky.error = 0;
    expect(lucky, passing("a/b"), 1, "error/bound");
}

Test(gate, a_raised_bound_is_worse_whatever_the_error_does, .init = enter_folder)
{
    struct hc_row is = passing("a/b");
    is.bound = 4 * is.bound;
    is.error = 1.0001 * is.error;
    expect(passing("a/b"), is, 1, "FAIL: 1 worse (1 bound)");
    is.error = 0;
    expect(passing("a/b"), is, 1, "(1 bound)");
    write_text("known", "a/* bound until 9999-12-31 derived anew\n");
    expect_allowed("--allowances known", passing("a/b"), is, 0);
    is.error = 3 * passing("a/b").error; /* less of its bound, more than it was */
    expect_allowed("--allowances known", passing("a/b"), is, 1);
    is = passing("a/b");
    is.bound = (double)NAN;
    expect(passing("a/b"), is, 1, "bound");
    is = passing("a/b");
    is.bound = is.error; /* tightened: the error is what it was */
    expect(passing("a/b"), is, 0, "nothing is worse than in old.json");
}

Test(gate, a_failure_may_not_get_worse, .init = enter_folder)
{
    struct hc_row was = passing("a/b");
    was.verdict = HC_FAIL;
    was.unit = "ulp";
    was.error = 8;
    struct hc_row is = was;
    is.error = (double)INFINITY;
    expect(was, is, 1, "error inf ulp, was 8");
    is.error = (double)NAN;
    expect(was, is, 1, "error nan ulp, was 8");
    expect(is, is, 0, "1 of which fails as before");
    is.error = nextafter(8, 9);
    expect(was, is, 1, "(1 error)");
    is.error = 7;
    expect(was, is, 0, "nothing is worse than in old.json");
    was.bound = is.bound = 0;
    is.error = 9;
    expect(was, is, 1, "(1 error)");
    is = was;
    is.checked = 1;
    expect(was, is, 1, "(1 checked)");
    for (int v = HC_SKIPPED; v < HC_VERDICT_COUNT; v++) {
        is.verdict = (enum hc_verdict)v; /* nobody knows any more */
        expect(was, is, 1, "was FAIL");
    }
}

/* The largest error is one element's: what became of the others, their number says. */
Test(gate, a_failure_may_not_spread, .init = enter_folder)
{
    struct hc_row was = passing("a/b");
    was.verdict = HC_FAIL;
    was.error = 8;
    was.wrong = 3;
    struct hc_row is = was;
    expect(was, is, 0, "1 of which fails as before");
    is.wrong = 4;
    expect(was, is, 1, "4 of 100 comparisons fail, was 3 of 100");
    write_record("old.json", 1, &was);
    cr_assert_eq(run_shell("$hc gate --baseline old.baseline old.json --update; cp old.json "
                           "old.baseline; $hc gate --baseline old.baseline old.json --update")
                     ->status,
                 0);
    write_record("new.json", 1, &is);
    const struct ran *ran = run_shell("$hc gate --baseline old.baseline new.json");
    cr_expect(ran->status == 1 && says(ran->out, "4 of 100 comparisons fail"), "%s", ran->out);
    is.wrong = 2;
    expect(was, is, 0, "nothing is worse than in old.json");
}

Test(gate, fewer_elements_before_mpfr_are_worse, .init = enter_folder)
{
    struct hc_row was = passing("a/b");
    was.looked_at = 18;
    was.looked_of = 40;
    was.special = 2;
    struct hc_row is = was;
    expect(was, is, 0, "1 the same");
    is.looked_at = is.special = 1;
    expect(was, is, 1, "(1 checked)");
    is = was;
    is.looked_of = 18;
    expect(was, is, 1, "MPFR judged 18 of 18 elements");
    is = was;
    is.special = 0;
    expect(was, is, 1, "(0 NaN or infinite)");
    is = was;
    is.looked_at = 19;
    expect(was, is, 0, "1 the same");
}

Test(gate, a_smaller_call_before_mpfr_is_worse, .init = enter_folder)
{
    struct hc_row was = passing("a/b");
    was.largest = (struct hc_largest){"gemm 129x255x257", 129 * 255 * 257};
    struct hc_row is = was;
    expect(was, is, 0, "1 the same");
    is.largest = (struct hc_largest){"gemm 13x9x33", 13 * 9 * 33};
    expect(was, is, 1, "has 3861 elements or terms, was 8454015");
    expect(is, was, 0, "1 the same");
    is.largest = (struct hc_largest){0};
    expect(was, is, 1, "(1 checked)");
    expect(is, was, 0, "1 the same");
}

Test(gate, an_error_that_is_no_number_is_worse, .init = enter_folder)
{
    struct hc_row is = passing("a/b");
    is.error = (double)NAN;
    expect(passing("a/b"), is, 1, "(1 verdict)");
    expect(is, is, 0, "1 of which fails as before");
}

Test(gate, a_pass_whose_error_is_beyond_its_bound_is_none, .init = enter_folder)
{
    struct hc_row is = passing("a/b");
    is.error = 2 * is.bound;
    expect(passing("a/b"), is, 1,
           "FAIL, was PASS (it says PASS, but its error is 0.00195312 and its bound 0.000976562)");
    is = passing("a/b");
    is.wrong = 3;
    expect(passing("a/b"), is, 1,
           "FAIL, was PASS (it says PASS, but 3 of its 100 comparisons fail)");
    is.wrong = 0;
    is.error = 2 * is.bound;
    struct hc_row both[] = {passing("a/a"), is};
    write_record("old.json", 1, both);
    write_record("new.json", 2, both);
    cr_expect_eq(run_shell(gate)->status, 1);
}
