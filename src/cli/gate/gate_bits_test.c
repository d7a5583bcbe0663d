/* What the gate makes of digests: other bits are worse, unless something else is another, too. */
#include "cli/gate/testing.h"

static struct hc_row digested(uint64_t digest)
{
    struct hc_row row = passing("a/b");
    row.digest = digest;
    row.digest_bits = 64;
    return row;
}

/* The same of a run that only has bits. */
static struct hc_row bits_alone(uint64_t digest)
{
    struct hc_row row = digested(digest);
    row.verdict = HC_SKIPPED;
    row.checked = 0;
    row.error = row.bound = 0;
    row.note = "not held against a reference";
    return row;
}

enum { ONE = 0x11, OTHER = 0x12 };

static const struct hc_invocation without_reference = {
    .level = "quick", .seed = 5, .bits_only = true};

/* The gate's verdict on bits alone after `was`, and that it says so. */
static void expect_bits(struct hc_row was, struct hc_row is, int status, const char *word)
{
    write_record("old.json", 1, &was);
    write_run("new.json", &without_reference, 1, &is);
    const struct ran *ran = run_shell(gate);
    cr_expect_eq(ran->status, status, "%s: %s%s", word, ran->out, ran->err);
    cr_expect(says(ran->out, word), "%s: %s", word, ran->out);
}

Test(gate_bits, other_bits_of_the_same_machine_are_worse, .init = enter_folder)
{
    expect(digested(ONE), digested(ONE), 0, "1 the same");
    expect(digested(ONE), digested(OTHER), 1, "FAIL: 1 worse (1 bits)");
    struct hc_row few = digested(ONE); /* a baseline keeps the upper ones */
    few.digest = (uint64_t)0xabcdef << 40;
    few.digest_bits = 24;
    struct hc_row all = digested(few.digest + 77);
    expect(few, all, 0, "1 the same");
    all.digest ^= (uint64_t)1 << 40;
    expect(few, all, 1, "(1 bits)");
}

Test(gate_bits, of_another_machine_or_version_nobody_knows, .init = enter_folder)
{
    static const struct {
        const char *edit;
        const char *says;
    } others[] = {{"s/\"cpu\": .*/\"cpu\": \"Abacus\",/", "(1 machine)"},
                  {"s/\"commit\": .*/\"commit\": \"0123\",/", "(1 version)"},
                  {"s/\"compiler\": .*/\"compiler\": \"bcc 1\",/", "(1 version)"},
                  {"s/\"cores\": .*/\"cores\": 99,/", "(1 bits)"},
                  {"s/\"date\": .*/\"date\": \"1999-12-31\",/", "(1 bits)"}};
    struct hc_row was = digested(ONE);
    struct hc_row is = digested(OTHER);
    write_record("old.json", 1, &was);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char line[200];
        write_record("new.json", 1, &is);
        (void)snprintf(line, sizeof line, "sed -i '%s' new.json; %s", others[i].edit, gate);
        const struct ran *ran = run_shell(line);
        cr_expect_eq(ran->status, 1);
        cr_expect(says(ran->out, others[i].says), "%s: %s", others[i].edit, ran->out);
        write_record("new.json", 1, &was); /* what is the same can always be compared */
        cr_expect_eq(run_shell(line)->status, 0, "%s", others[i].edit);
    }
}

Test(gate_bits, a_digest_that_is_gone_is_said_and_one_that_came_is_not, .init = enter_folder)
{
    expect(digested(ONE), passing("a/b"), 1, "not comparable (digest)");
    expect_allowed("--allow digest", digested(ONE), passing("a/b"), 0);
    expect(passing("a/b"), digested(ONE), 0, "1 the same");
}

Test(gate_bits, a_run_without_a_reference_is_judged_by_its_bits, .init = enter_folder)
{
    expect_bits(digested(ONE), bits_alone(ONE), 0, "1 the same");
    expect_bits(digested(ONE), bits_alone(OTHER), 1, "(1 bits)");
    expect_bits(passing("a/b"), bits_alone(ONE), 1, "(1 digest)");
    struct hc_row failing = digested(ONE);
    failing.verdict = HC_FAIL;
    expect_bits(failing, bits_alone(ONE), 0, "1 the same");
    struct hc_row seeded = bits_alone(OTHER);
    seeded.seed = 6;
    expect_bits(digested(ONE), seeded, 1, "FAIL: 1 not comparable (1 seed)");
    struct hc_row bare = bits_alone(ONE); /* a case that was really skipped */
    bare.digest_bits = 0;
    expect_bits(digested(ONE), bare, 1, "(1 machine)");
}

/* A driver that is missing leaves no bits, so whoever put them there made them up. */
Test(gate_bits, beside_results_that_were_skipped_are_no_evidence, .init = enter_folder)
{
    expect(digested(ONE), bits_alone(ONE), 1, "not comparable (machine)");
    write_record("old.json", 1, &(struct hc_row[]){digested(ONE)}[0]);
    const struct ran *ran = run_shell("$hc gate --baseline old.json new.json --allow machine");
    cr_expect(ran->status == 1 && says(ran->out, "no result was judged"), "%s", ran->out);
}

/* The bits of a failure are those of a failure. */
Test(gate_bits, of_a_known_failure_are_told_as_one, .init = enter_folder)
{
    struct hc_row was[] = {passing("a/b"), passing("c/d")};
    struct hc_row is[] = {passing("a/b"), passing("c/d")};
    for (int i = 0; i < 2; i++) {
        was[i].digest = is[i].digest = 1;
        was[i].digest_bits = is[i].digest_bits = 64;
        is[i].verdict = HC_SKIPPED;
    }
    was[0].verdict = HC_FAIL;
    write_record("old.json", 2, was);
    write_run("new.json", &without_reference, 2, is);
    const struct ran *ran = run_shell(gate);
    cr_expect(ran->status == 0 && says(ran->out, "1 of which fails as before"), "%s", ran->out);
    write_text("old.json.allow", "a/b verdict until 2020-01-01 a ticket\n");
    ran = run_shell(gate);
    cr_expect(ran->status == 1 && says(ran->out, "FAIL, as before"), "%s", ran->out);
}

Test(gate_bits, numbers_of_a_baseline_that_were_rounded_up_are_no_change, .init = enter_folder)
{
    struct hc_row was = passing("a/b");
    struct hc_row is = passing("a/b");
    is.error = 0.00012344;
    is.bound = 0.00098765;
    was.error = 0.0001235;
    was.bound = 0.0009877;
    was.digits = 4;
    expect(was, is, 0, "1 the same");
    is.bound = 0.00098771;
    expect(was, is, 1, "(1 bound)");
}
