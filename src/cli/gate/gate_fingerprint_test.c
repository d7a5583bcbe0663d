/* The gate on fingerprints. */
#include "cli/gate/testing.h"

/* A record of one result with these fingerprints, which it takes; NULL: with none. */
static void write_result(const char *path, struct hc_row row, json_t *fingerprints)
{
    json_t *record = hc_record_new();
    hc_record_set_invocation(record, &usual);
    hc_record_add(record, &row);
    if (fingerprints)
        (void)json_object_set_new(json_object_get(record, "environment"), "fingerprint",
                                  fingerprints);
    cr_assert_eq(hc_record_write(record, path), HC_OK);
    json_decref(record);
}

/* The same with such a fingerprint of exact; NULL: with none. */
static void write_with(const char *path, const char *text)
{
    write_result(path, passing("a/b"), text ? json_pack("{s:s}", "exact fp16", text) : NULL);
}

/* The same of another case on a backend. */
static void write_on(const char *path, const char *backend, const char *name, const char *text)
{
    char key[64];
    struct hc_row row = passing(name);
    row.backend = backend;
    (void)snprintf(key, sizeof key, "%s fp16", backend);
    write_result(path, row, text ? json_pack("{s:s}", key, text) : NULL);
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

Test(gate_fingerprint, is_new_where_the_baseline_lacks_it, .init = enter_folder)
{
    const struct ran *ran = gate_on(NULL, "a100; bits 1");
    cr_expect_eq(ran->status, 0);
    cr_expect(says(ran->out, "new: 1 result: a fingerprint that the baseline lacks "
                             "fingerprint/fp16 on exact"),
              "%s", ran->out);
    cr_expect(!says(gate_on("a100", "a100")->out, "lacks"), "both have it");
}

Test(gate_fingerprint, of_merged_records_is_found_in_parts_of_any_name, .init = enter_folder)
{
    static const char merge[] = "$hc merge n.json h.json --json old.json >/dev/null && mkdir d && "
                                "mv o.json d/first.json && mv p.json d/other.json && cd d && "
                                "$hc merge first.json other.json --json ../new.json >/dev/null";
    static const struct {
        const char *host; /* its fingerprint in the second record */
        int status;
    } parts[] = {{"a100; bits 2", 0}, {"a100; bits 3", 1}, {NULL, 1}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        write_on("n.json", "exact", "a/b", "exact; bits 1");
        write_on("h.json", "host", "a/c", "a100; bits 2");
        write_on("o.json", "exact", "a/b", "exact; bits 1");
        write_on("p.json", "host", "a/c", parts[i].host);
        cr_assert_eq(run_shell(merge)->status, 0);
        const struct ran *ran = run_shell(gate);
        cr_expect_eq(ran->status, parts[i].status, "%zu: %s", i, ran->out);
        ran = run_shell("$hc gate --baseline h.json new.json");
        cr_expect_eq(ran->status, parts[i].status, "%zu, a part alone: %s", i, ran->out);
        ran = run_shell("$hc gate --baseline new.json new.json; s=$?; rm -r d; exit $s");
        cr_expect_eq(ran->status, 0, "%zu, itself: %s", i, ran->out);
    }
}

Test(gate_fingerprint, of_a_part_without_results_counts_too, .init = enter_folder)
{
    write_on("s1.json", "exact", "a/b", "exact; bits 1");
    write_on("s3.json", "exact", "a/c", "exact; bits 2");
    cr_assert_eq(run_shell("$hc merge s1.json s3.json --json new.json >/dev/null")->status, 0);
    const struct ran *ran = run_shell("$hc gate --baseline s1.json new.json");
    cr_expect_eq(ran->status, 1, "%s", ran->out);
    cr_expect(says(ran->out, "worse (fingerprint): 1 result"), "%s", ran->out);
    cr_expect(says(ran->out, "exact; bits 2, was exact; bits 1"), "%s", ran->out);
    ran = run_shell("$hc gate --baseline new.json s1.json");
    cr_expect(says(ran->out, "exact; bits 1, was exact; bits 2"), "the other way: %s", ran->out);
    cr_expect_eq(run_shell("$hc gate --baseline new.json new.json")->status, 0);
}

Test(gate_fingerprint, of_parts_of_one_name_equals_itself, .init = enter_folder)
{
    cr_assert_eq(run_shell("mkdir x y")->status, 0);
    write_on("x/s.json", "exact", "a/b", "exact; bits 1");
    write_on("y/s.json", "exact", "a/c", "exact; bits 2");
    cr_assert_eq(run_shell("$hc merge x/s.json y/s.json --json new.json >/dev/null")->status, 0);
    const struct ran *ran = run_shell("$hc gate --baseline new.json new.json");
    cr_expect_eq(ran->status, 0, "%s", ran->out);
}

Test(gate_fingerprint, need_not_be_in_each_part, .init = enter_folder)
{
    write_on("s1.json", "exact", "a/b", "exact; bits 1");
    write_on("s3.json", "exact", "a/c", NULL);
    cr_assert_eq(run_shell("$hc merge s1.json s3.json --json old.json >/dev/null")->status, 0);
    cr_assert_eq(run_shell("mv s1.json x.json; mv s3.json y.json; "
                           "$hc merge x.json y.json --json new.json >/dev/null")
                     ->status,
                 0);
    const struct ran *ran = run_shell(gate);
    cr_expect_eq(ran->status, 0, "%s", ran->out);
    ran = run_shell("$hc gate --baseline x.json new.json");
    cr_expect_eq(ran->status, 1, "%s", ran->out);
    cr_expect(says(ran->out, "none in the record, was exact; bits 1"), "%s", ran->out);
}

Test(gate_fingerprint, alone_can_be_chosen, .init = enter_folder)
{
    static const char line[] = "$hc gate --baseline old.json new.json 'fingerprint/*'";
    write_with("old.json", "a100; bits 1");
    write_with("new.json", "a100; bits 1");
    const struct ran *ran = run_shell(line);
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
    cr_expect(says(ran->out, "1 fingerprint against 1: 1 the same"), "%s", ran->out);
    write_with("new.json", "a100; bits 2");
    ran = run_shell(line);
    cr_expect_eq(ran->status, 1);
    cr_expect(says(ran->out, "1 fingerprint against 1: 1 worse, 0 the same"), "%s", ran->out);
    cr_expect(!says(ran->out, "nothing stands in both"), "%s", ran->out);
    cr_expect(says(gate_on("a", "a")->out, "1 result against 1: 1 the same"), "without a pattern");
    cr_expect_eq(run_shell("$hc gate --baseline old.json new.json fingerprint/bf16")->status, 2);
}

Test(gate_fingerprint, judges_no_records_whose_results_are_skipped, .init = enter_folder)
{
    struct hc_row row = passing("a/b");
    row.verdict = HC_SKIPPED;
    write_result("old.json", row, json_pack("{s:s}", "exact fp16", "a100"));
    write_result("new.json", row, json_pack("{s:s}", "exact fp16", "a100"));
    cr_expect_eq(run_shell(gate)->status, 1);
    cr_expect_eq(run_shell("$hc gate --baseline old.json new.json '*'")->status, 1);
}

Test(gate_fingerprint, that_is_known_needs_its_allowance_no_more, .init = enter_folder)
{
    write_with("old.json", "a100; bits 1");
    write_with("new.json", "h100; bits 2");
    cr_expect_eq(run_shell("$hc gate --baseline b.baseline old.json --update")->status, 0);
    write_text("b.baseline.allow", "fingerprint/fp16 fingerprint until 2099-01-01 a driver\n");
    cr_expect_eq(run_shell("$hc gate --baseline b.baseline new.json --update")->status, 0);
    const struct ran *ran = run_shell("$hc gate --baseline b.baseline new.json");
    cr_expect_eq(ran->status, 0, "%s", ran->err);
    cr_expect(says(ran->out, "allows nothing and can be removed"), "%s", ran->out);
    write_text("b.baseline.allow", "fingerprint/fp16@host fingerprint until 2099-01-01 a driver\n");
    cr_expect_eq(run_shell("$hc gate --baseline b.baseline new.json")->status, 2);
}

/* Writes a record of one result whose fingerprints are this JSON. */
static void write_strange(const char *path, const char *json)
{
    write_result(path, passing("a/b"), json_loads(json, JSON_DECODE_ANY, NULL));
}

Test(gate_fingerprint, of_a_wrong_type_is_refused, .init = enter_folder)
{
    static const char *const strange[] = {"[1]",
                                          "\"x\"",
                                          "null",
                                          "5",
                                          "{\"x\": \"y\"}",
                                          "{\"exact \": \"y\"}",
                                          "{\" fp16\": \"y\"}",
                                          "{\"exact fp16\": 5}",
                                          "{\"exact fp16\": null}",
                                          "{\"exact fp16\": {}}",
                                          "{\"exact fp16\": [\"x\"]}"};
    write_with("old.json", "a100; bits 1");
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        write_strange("new.json", strange[i]);
        const struct ran *ran = run_shell(gate);
        cr_expect_eq(ran->status, 2, "%s: %s", strange[i], ran->out);
        cr_expect(says(ran->err, "new.json: in \"environment\", \"fingerprint\""), "%s", ran->err);
        ran = run_shell("$hc gate --baseline new.json old.json");
        cr_expect_eq(ran->status, 2, "%s: %s", strange[i], ran->out);
    }
    cr_expect_eq(run_shell("$hc gate --baseline b.baseline old.json --update && "
                           "sed -i 's/\"a100; bits 1\"$/5/' b.baseline")
                     ->status,
                 0);
    cr_expect_eq(run_shell("$hc gate --baseline b.baseline old.json")->status, 2);
}

Test(gate_fingerprint, reaches_no_terminal_unescaped, .init = enter_folder)
{
    write_with("old.json", "a100; bits 1");
    write_strange("new.json", "{\"exact fp16\": \"\\u001b[2J\", \"\\u001b[2J fp16\": \"a\"}");
    const struct ran *ran = run_shell(gate);
    cr_expect_eq(ran->status, 1, "%s", ran->err);
    cr_expect_null(strchr(ran->out, '\033'));
    ran = run_shell("$hc gate --baseline new.json old.json");
    cr_expect_eq(ran->status, 1, "%s", ran->err);
    cr_expect_null(strchr(ran->out, '\033'));
}
