/* gate --protocol on the record of a study of seconds. */
#include "cli/gate/testing.h"

static const char protocol[] =
    "question Does it cost accuracy?\ndata synthetic 200\nclasses dog,ship\n"
    "network darknet-tiny\nepochs 1\nbatch 16\nlr 0.003\nbackend host\nseed 1\n"
    "margin 50\nlevel 0.1\npower 0.8\nspread 5\nlooks 2 3\nbase fp32\n"
    "arm dynamic amp equivalent - dynamic loss scaling\narm bf16 amp-bf16 open 2 bf16\n";

static void enter(void)
{
    enter_folder();
    write_text("p", protocol);
    cr_assert_neq(run_shell("IFS=' \n'; \"$hc\" compare --protocol p --out s")->status, 2);
}

TestSuite(gate_protocol, .init = enter);

#define GATE "$hc gate --baseline s/record.json s/record.json --protocol "

static void expect_gate(const char *edit, int status, const char *within, const char *last)
{
    char line[512];
    (void)snprintf(line, sizeof line, "sed '%s' p >q; " GATE "q", edit);
    const struct ran *ran = run_shell(line);
    cr_expect_eq(ran->status, status, "%s: %s%s", edit, ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, within), "%s: want %s: %s%s", edit, within, ran->out,
                       ran->err);
    cr_expect_not_null(strstr(ran->out, last), "%s: want %s: %s", edit, last, ran->out);
}

Test(gate_protocol, judges_trainings_by_what_the_file_asks_and_not_by_what_the_record_says)
{
    expect_gate("", 0, "as the protocol claims: 1", "\nPASS: ");
    expect_gate("s/equivalent/worse/", 1, "worse: Dynamic loss scaling costs no accuracy",
                "\nFAIL: 1 worse (1 training)");
    expect_gate("s/equivalent/lost/; s/ - / 2 /", 1, "lost: Dynamic loss scaling learns",
                "\nFAIL: 1 worse (1 training)");
    expect_gate("s/margin 50/margin 0.001/", 1, "equivalent: Dynamic loss scaling is not decided",
                "\nFAIL: ");
    expect_gate("s/looks 2 3/looks 4 6/", 1, "is not decided yet: ", "(1 seeds)");
    expect_gate("s/lr 0.003/lr 0.004/", 1, "the protocol asks for synthetic images", "6 settings");
    expect_gate("s/seed 1/reach 99.9\\nseed 1/", 1, "the protocol asks for 99.9 %",
                "\nFAIL: 1 worse (1 training)");
    expect_gate("s/level 0.1/level 0.05/", 0, "as the protocol claims", "\nPASS: ");
}

/* A record whose trainings were changed, and which still says that it passes. */
Test(gate_protocol, sees_trainings_that_contradict_their_records_own_verdict)
{
    run_shell("sed 's/\"learned\": true/\"learned\": false/' s/record.json >lost.json");
    const struct ran *ran = run_shell("grep -c '\"PASS\"' lost.json; $hc gate --baseline "
                                      "s/record.json lost.json --protocol p");
    cr_expect_eq(ran->status, 1, "%s", ran->err);
    cr_expect_not_null(strstr(ran->out, "equivalent: Dynamic loss scaling does not learn"), "%s",
                       ran->out);
}

/* That a run does not learn is what its arm claims. */
Test(gate_protocol, takes_an_arm_that_is_to_be_lost_for_what_it_is)
{
    write_text("p", protocol);
    cr_assert_eq(run_shell("sed 's/^arm bf16.*/arm pure fp16-pure lost 1 all in half/' p >r; "
                           "IFS=' \n'; \"$hc\" compare --protocol r --out s")
                     ->status,
                 0);
    const struct ran *ran = run_shell("$hc gate --baseline s/record.json s/record.json");
    cr_expect_eq(ran->status, 1, "%s", ran->out);
    cr_expect_not_null(strstr(ran->out, "did not learn, as in the baseline"), "%s", ran->out);
    ran = run_shell(GATE "r");
    cr_expect_eq(ran->status, 0, "%s%s", ran->out, ran->err);
}

Test(gate_protocol, refuses_what_it_cannot_judge)
{
    expect_refusal(GATE "p --margin 1", "leave out --margin");
    expect_refusal(GATE "nowhere", "nowhere: No such file");
    struct hc_row row = passing("op/cast");
    write_record("plain.json", 1, &row);
    expect_refusal("$hc gate --baseline plain.json s/record.json --protocol p",
                   "plain.json has none");
}

/* Without the protocol its results are held to what they were. */
Test(gate_protocol, a_claim_that_lost_its_answer_is_found_without_the_protocol)
{
    const struct ran *ran =
        run_shell("$hc gate --baseline s/record.json s/record.json; sed 's/looks 2 3/looks 4 6/' p "
                  ">q; cp s/record.json was.json; IFS=' \n'; \"$hc\" compare --protocol q --out s "
                  "--conclude >/dev/null; \"$hc\" gate --baseline was.json s/record.json");
    cr_expect_eq(ran->status, 1, "%s", ran->err);
    cr_expect_not_null(strstr(ran->out, "was shown, and is not: Dynamic"), "%s", ran->out);
}
