/* The gate on fingerprints. */
#include "cli/gate/testing.h"

/* A record of one result with such a fingerprint of exact; NULL: with none. */
static void write_with(const char *path, const char *text)
{
    struct hc_row row = passing("a/b");
    json_t *record = hc_record_new();
    hc_record_set_invocation(record, &usual);
    hc_record_add(record, &row);
    if (text)
        (void)json_object_set_new(json_object_get(record, "environment"), "fingerprint",
                                  json_pack("{s:s}", "exact fp16", text));
    cr_assert_eq(hc_record_write(record, path), HC_OK);
    json_decref(record);
}

static const struct ran *gate_on(const char *was, const char *is)
{
    write_with("old.json", was);
    write_with("new.json", is);
    return run_shell(gate);
}

Test(gate_fingerprint, the_same_one_is_nothing, .init = enter_folder)
{
    cr_expect_eq(gate_on("a100; bits 1", "a100; bits 1")->status, 0);
    cr_expect_eq(gate_on(NULL, "a100; bits 1")->status, 0, "the baseline has none");
}

Test(gate_fingerprint, another_one_is_worse, .init = enter_folder)
{
    const struct ran *ran = gate_on("a100; bits 1", "a100; bits 2");
    cr_expect_eq(ran->status, 1);
    cr_expect(says(ran->out, "worse (fingerprint): 1 result"), "%s", ran->out);
    cr_expect(says(ran->out, "fingerprint/fp16 on exact a100; bits 2, was a100; bits 1"), "%s",
              ran->out);
    cr_expect(!says(ran->out, "the machine or its software is another"), "it is told once");
    ran = gate_on("a100; bits 1", NULL);
    cr_expect_eq(ran->status, 1);
    cr_expect(says(ran->out, "none in the record, was a100; bits 1"), "%s", ran->out);
}

Test(gate_fingerprint, stands_in_baselines, .init = enter_folder)
{
    write_with("old.json", "a100; bits 1");
    write_with("new.json", "h100; bits 2");
    cr_expect_eq(run_shell("$hc gate --baseline b.baseline old.json --update")->status, 0);
    const struct ran *ran = run_shell("grep fingerprint b.baseline");
    cr_expect_str_eq(ran->out, "environment.fingerprint.exact%20fp16 \"a100; bits 1\"\n");
    ran = run_shell("$hc gate --baseline b.baseline new.json");
    cr_expect_eq(ran->status, 1);
    cr_expect(says(ran->out, "h100; bits 2, was a100; bits 1"), "%s", ran->out);
}

Test(gate_fingerprint, can_be_allowed_and_left_out_by_a_pattern, .init = enter_folder)
{
    write_with("old.json", "a100; bits 1");
    write_with("new.json", "h100; bits 2");
    cr_expect_eq(run_shell("$hc gate --baseline old.json new.json a")->status, 0);
    cr_expect_eq(run_shell("$hc gate --baseline old.json new.json fingerprint a")->status, 1);
    write_text("old.json.allow", "fingerprint@exact fingerprint until 2099-12-31 a new driver\n");
    const struct ran *ran = run_shell(gate);
    cr_expect_eq(ran->status, 0, "%s", ran->out);
    cr_expect(says(ran->out, "allowed (fingerprint)"), "%s", ran->out);
}

Test(gate_fingerprint, of_a_strange_record_harms_nothing, .init = enter_folder)
{
    static const char *const strange[] = {"[1]", "{\"x\": 7}", "{\" \": \"\", \"\": \"a\"}",
                                          "{\"exact fp16\": \"\\u001b[2J\"}"};
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        struct hc_row row = passing("a/b");
        json_t *record = hc_record_new();
        hc_record_set_invocation(record, &usual);
        hc_record_add(record, &row);
        (void)json_object_set_new(json_object_get(record, "environment"), "fingerprint",
                                  json_loads(strange[i], 0, NULL));
        cr_assert_eq(hc_record_write(record, "new.json"), HC_OK);
        json_decref(record);
        write_with("old.json", "a100; bits 1");
        const struct ran *ran = run_shell(gate);
        cr_expect_leq(ran->status, 1, "%s", ran->err);
        cr_expect_null(strchr(ran->out, '\033'));
        ran = run_shell("$hc gate --baseline new.json old.json");
        cr_expect_leq(ran->status, 1, "%s", ran->err);
        cr_expect_null(strchr(ran->out, '\033'));
    }
}
