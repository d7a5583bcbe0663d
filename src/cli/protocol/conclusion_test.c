#include "cli/protocol/conclusion.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct hc_protocol protocol;
static struct hc_study study;
static struct hc_conclusion conclusion;
static struct hc_recipe recipes[4] = {
    {.name = "base"}, {.name = "one"}, {.name = "two"}, {.name = "three"}};

static const char text[] = "question q\ndata synthetic 20\nnetwork darknet-tiny\nepochs 2\n"
                           "batch 16\nlr 0.003\nseed 1\nmargin 0.5\nlevel 0.05\npower 0.8\n"
                           "spread 0.3\nlooks 4 6\nreach 89\nbase base\n"
                           "arm one one equivalent - the first\n"
                           "arm two two worse - the second\n"
                           "arm three three lost 2 the third\n";

static void set(int subject, int seed, double accuracy)
{
    struct hc_study_run *run = &study.run[subject][seed];
    *run = (struct hc_study_run){.state = HC_STUDY_OVER,
                                 .learned = isfinite(accuracy),
                                 .accuracy = accuracy / 100,
                                 .cpu = "A"};
}

static void make(void)
{
    cr_assert_eq(hc_protocol_parse("p", text, &protocol), HC_OK, "%s", hc_message());
    study = (struct hc_study){.protocol = &protocol, .folder = "/nowhere", .test_images = 10000};
    for (int r = 0; r < 4; r++)
        study.recipe[r] = &recipes[r];
    static const double base[] = {90, 90.5, 89.5, 90.2};
    static const double off[] = {0.1, -0.1, 0.05, 0};
    for (int s = 0; s < 4; s++) {
        set(0, s, base[s]);
        set(1, s, base[s] + off[s]);
        set(2, s, base[s] - 5 + off[s]);
    }
    set(3, 0, (double)NAN);
    set(3, 1, (double)NAN);
}

static const char *sentence(int arm)
{
    static char said[HC_CONCLUSION_SENTENCE];
    hc_conclusion_sentence(&conclusion, arm, said);
    return said;
}

TestSuite(conclusion, .init = make);

Test(conclusion, arms_that_do_as_claimed_pass)
{
    cr_assert_eq(hc_conclude(&study, &conclusion), HC_OK);
    for (int a = 0; a < 3; a++)
        cr_assert_eq(conclusion.arm[a].verdict, HC_PASS, "arm %d", a);
    cr_assert_eq(hc_conclusion_failures(&conclusion), 0);
    cr_assert_eq(hc_conclusion_undecided(&conclusion), 0);
    cr_assert_float_eq(conclusion.accuracy, 90.05, 1e-9);
    cr_assert_not_null(strstr(sentence(0), "The first costs no accuracy that matters: +0.01"), "%s",
                       sentence(0));
    cr_assert_not_null(strstr(sentence(1), "The second costs accuracy: -4.99"), "%s", sentence(1));
    cr_assert_str_eq(sentence(2),
                     "The third does not learn, as it is to: none of two runs learned.");
}

Test(conclusion, an_arm_that_is_not_what_was_claimed_fails)
{
    protocol.arm[0].claim = HC_CLAIM_WORSE;
    protocol.arm[1].claim = HC_CLAIM_EQUIVALENT;
    set(3, 1, 50);
    cr_assert_eq(hc_conclude(&study, &conclusion), HC_OK);
    for (int a = 0; a < 3; a++)
        cr_assert_eq(conclusion.arm[a].verdict, HC_FAIL, "arm %d", a);
    cr_assert_eq(hc_conclusion_failures(&conclusion), 3);
}

/* Better by more than the margin is no equivalence, and not worse. */
Test(conclusion, an_arm_that_gains_is_neither_equivalent_nor_worse)
{
    for (int s = 0; s < 4; s++)
        study.run[2][s].accuracy += 0.1;
    cr_assert_eq(hc_conclude(&study, &conclusion), HC_OK);
    cr_assert_eq(conclusion.arm[1].verdict, HC_FAIL);
    cr_assert_not_null(strstr(sentence(1), "gains accuracy"), "%s", sentence(1));
}

Test(conclusion, an_arm_with_a_run_that_did_not_learn_fails_whatever_the_others_say)
{
    study.run[1][2].learned = false;
    study.run[2][2].learned = false;
    cr_assert_eq(hc_conclude(&study, &conclusion), HC_OK);
    cr_assert_eq(conclusion.arm[0].verdict, HC_FAIL);
    cr_assert_eq(conclusion.arm[1].verdict, HC_FAIL);
    cr_assert_not_null(strstr(sentence(0), "learns: three of four runs learned"), "%s",
                       sentence(0));
}

Test(conclusion, too_few_pairs_decide_nothing_and_a_base_that_does_not_reach_fails)
{
    study.run[1][3].state = HC_STUDY_BEGUN;
    protocol.reach = 91;
    cr_assert_eq(hc_conclude(&study, &conclusion), HC_OK);
    cr_assert_eq(conclusion.arm[0].verdict, HC_SKIPPED);
    cr_assert_eq(hc_conclusion_undecided(&conclusion), 1);
    cr_assert_eq(hc_conclusion_failures(&conclusion), 1);
    cr_assert_str_eq(sentence(0), "The first is not decided yet: three pairs of 4.");
}

Test(conclusion, an_arm_without_runs_has_not_been_trained)
{
    for (int s = 0; s < 4; s++)
        study.run[1][s].state = study.run[3][s].state = HC_STUDY_ABSENT;
    cr_assert_eq(hc_conclude(&study, &conclusion), HC_OK);
    cr_assert_eq(conclusion.arm[2].verdict, HC_SKIPPED);
    cr_assert_str_eq(sentence(0), "The first has not been trained yet.");
    cr_assert_str_eq(sentence(2), "The third has not been trained yet.");
}

Test(conclusion, a_pair_of_two_processors_does_not_count)
{
    (void)strcpy(study.run[1][1].cpu, "B");
    cr_assert_eq(hc_conclude(&study, &conclusion), HC_OK);
    cr_assert_eq(conclusion.arm[0].pairs.n, 3);
    cr_assert_eq(conclusion.arm[0].pairs.mixed, 1);
    cr_assert_eq(conclusion.arm[0].verdict, HC_SKIPPED);
}
