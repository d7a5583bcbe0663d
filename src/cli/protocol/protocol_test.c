#include "cli/protocol/protocol.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const char good[] = "question  Is it so? # not this\n"
                           "data synthetic 20\n"
                           "network darknet-tiny\nepochs 2\nbatch 16\nlr 0.003\n"
                           "seed 7\nmargin 0.5\nlevel 0.05\npower 0.8\nspread 0.3\n"
                           "looks 4 6 12\nset eps=1e-4\nset beta2=0.999\n"
                           "base fp32\n"
                           "arm one amp equivalent - the  first arm \n"
                           "arm two fp16-pure lost 1 the second\r\n"
                           "then\n"
                           "arm three apex-O2 open 5 the third";

Test(protocol, a_file_is_read_line_by_line)
{
    struct hc_protocol p;
    cr_assert_eq(hc_protocol_parse("p", good, &p), HC_OK, "%s", hc_message());
    cr_assert_str_eq(p.question, "Is it so?");
    cr_assert(p.synthetic);
    cr_assert_eq(p.images, 20);
    cr_assert_eq(p.seed, 7);
    cr_assert_eq(p.sets, 2);
    cr_assert_str_eq(p.set[1], "beta2=0.999");
    cr_assert_eq(p.arms, 3);
    cr_assert_str_eq(p.arm[0].words, "the  first arm");
    cr_assert_eq(p.arm[0].pairs, 12);
    cr_assert_eq(p.arm[0].claim, HC_CLAIM_EQUIVALENT);
    cr_assert_str_eq(p.arm[1].words, "the second");
    cr_assert_eq(p.arm[1].pairs, 1);
    cr_assert_eq(p.arm[1].stage, 0);
    cr_assert_eq(p.arm[2].stage, 1);
    cr_assert_eq(p.stages, 2);
    cr_assert_str_eq(p.backend, "host");
    cr_assert_str_eq(p.classes, "");
}

/* Each is the good file with one line in another's place, or behind it. */
Test(protocol, what_is_wrong_is_said_with_its_line)
{
    static const struct {
        const char *line; /* of the good file; NULL: a line more */
        const char *instead;
        const char *says;
    } bad[] = {
        {"margin 0.5", "margin 0", "p:8: margin takes a number from 1e-06 to 100"},
        {"margin 0.5", "margin 0.5x", "p:8: margin takes"},
        {"margin 0.5", "margin -1", "p:8: margin takes"},
        {"margin 0.5", "margin nan", "p:8: margin takes"},
        {"margin 0.5", "margin 0.5 0.6", "p:8: margin has more behind it"},
        {"margin 0.5", "margni 0.5", "p:8: a protocol has no 'margni'; did you mean 'margin'?"},
        {"margin 0.5", "", "p: the line 'margin' is missing"},
        {"base fp32", "", "p: the line 'base' is missing"},
        {"looks 4 6 12", "looks 4 4 12", "p:12: looks must grow"},
        {"looks 4 6 12", "looks 1 4", "p:12: looks takes a whole number from 2"},
        {"looks 4 6 12", "looks", "p:12: looks takes"},
        {"looks 4 6 12", "looks 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18", "too many"},
        {"epochs 2", "epochs 2.5", "p:4: epochs takes a whole number"},
        {"data synthetic 20", "data mnist", "p:2: data is cifar10, synthetic IMAGES or text"},
        {"data synthetic 20", "data synthetic", "p:2: data takes a whole number"},
        {"arm one amp equivalent - the  first arm ", "arm one amp better - x",
         "p:16: arm claims one of"},
        {"arm one amp equivalent - the  first arm ", "arm one amp equivalent -",
         "p:16: arm has nothing behind it"},
        {"arm one amp equivalent - the  first arm ", "arm o/e amp equivalent - x",
         "p:16: arm takes a name of letters"},
        {"arm one amp equivalent - the  first arm ", "arm two amp equivalent - x",
         "p:17: arm has this name twice"},
        {"arm one amp equivalent - the  first arm ", "arm one amp equivalent 13 x",
         "p: arm one has more pairs than the last look"},
        {"arm one amp equivalent - the  first arm ", "arm one", "p:16: arm takes the name of a"},
        {NULL, "seed 8", "p:20: seed stands there twice"},
        {NULL, "question a\tb", "p:20: question stands there twice"},
        {"question  Is it so? # not this", "question a\x1b[2Jb", "p:1: question has a control"},
        {"base fp32", "then\nbase fp32", "p:15: then has no arm above it"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[2048];
        struct hc_protocol p;
        const char *at = bad[i].line ? strstr(good, bad[i].line) : good + strlen(good);
        cr_assert_not_null(at, "%s", bad[i].line);
        (void)snprintf(text, sizeof text, "%.*s%s%s%s", (int)(at - good), good,
                       bad[i].line ? "" : "\n", bad[i].instead,
                       bad[i].line ? at + strlen(bad[i].line) : "");
        cr_expect_eq(hc_protocol_parse("p", text, &p), HC_INVALID, "%s", bad[i].instead);
        cr_expect_not_null(strstr(hc_message(), bad[i].says), "%s: %s", bad[i].instead,
                           hc_message());
    }
}

Test(protocol, an_arm_with_fewer_pairs_spends_its_level_over_its_own_looks)
{
    struct hc_protocol p;
    cr_assert_eq(hc_protocol_parse("p", good, &p), HC_OK, "%s", hc_message());
    struct hc_sequential whole = hc_protocol_plan(&p, 0);
    cr_assert_eq(whole.looks, 3);
    cr_assert_eq(whole.nominal[0], p.plan.nominal[0]);
    cr_assert_eq(hc_protocol_plan(&p, 1).looks, 0);
    struct hc_sequential fewer = hc_protocol_plan(&p, 2);
    cr_assert_eq(fewer.looks, 2);
    cr_assert_eq(fewer.pairs[0], 4);
    cr_assert_eq(fewer.pairs[1], 5);
    cr_assert_float_eq(fewer.nominal[0], 0.05 * 4 / 5, 1e-9);
}
