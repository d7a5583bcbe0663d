#include "cli/ranks/ranks.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

enum { RANKS = 4 };

/* What each rank brings, and what it got. */
struct meeting {
    enum hc_status brings[RANKS];
    const char *value[RANKS];
    const char *where[RANKS];
    const char *host[RANKS];
    int exits[RANKS];
    const char *complains[RANKS];
    enum hc_status got[RANKS];
    char line[RANKS][512];
    int ended[RANKS];
    bool say[RANKS];
};

static enum hc_status attend(struct hc_comm *comm, void *context)
{
    struct meeting *m = context;
    int r = comm->rank;
    struct hc_ranks ranks = {.comm = comm};
    const struct hc_ranks_fact fact = {"runs", m->value[r] ? m->value[r] : "1.0"};
    (void)snprintf(ranks.host, sizeof ranks.host, "%s", m->host[r] ? m->host[r] : "a");
    enum hc_status mine = m->brings[r] == HC_OK ? HC_OK : hc_fail(m->brings[r], "no disk on %d", r);
    m->got[r] = hc_ranks_meet(&ranks, m->where[r] ? m->where[r] : "start", mine, &fact, 1);
    (void)snprintf(m->line[r], sizeof m->line[r], "%s", hc_message());
    m->ended[r] = hc_ranks_end(&ranks, m->got[r] == HC_OK ? m->exits[r] : HC_WRONG,
                               m->complains[r] ? m->complains[r] : "", &m->say[r]);
    if (m->say[r])
        (void)snprintf(m->line[r], sizeof m->line[r], "%s", hc_message());
    return HC_OK;
}

static void hold(struct meeting *m)
{
    cr_assert_eq(hc_comm_threads(RANKS, attend, m), HC_OK, "%s", hc_message());
}

/* All ranks have the same status, the same line, and the same exit status. */
static void expect_end(struct meeting *m, enum hc_status status, const char *line)
{
    hold(m);
    for (int r = 0; r < RANKS; r++) {
        cr_expect_eq(m->got[r], status, "rank %d: %d", r, m->got[r]);
        cr_expect_str_eq(m->line[r], line);
        cr_expect_eq(m->ended[r], HC_WRONG);
        cr_expect_not(m->say[r]);
    }
}

Test(ranks, that_agree_go_on, .timeout = 20)
{
    struct meeting m = {.exits = {HC_AS_CLAIMED}};
    hold(&m);
    for (int r = 0; r < RANKS; r++) {
        cr_expect_eq(m.got[r], HC_OK);
        cr_expect_eq(m.ended[r], HC_AS_CLAIMED);
    }
}

Test(ranks, all_end_with_the_exit_status_of_rank_0, .timeout = 20)
{
    struct meeting m = {.exits = {HC_CLAIM_FAILED}};
    hold(&m);
    for (int r = 0; r < RANKS; r++)
        cr_expect_eq(m.ended[r], HC_CLAIM_FAILED);
}

Test(ranks, name_the_one_that_cannot_go_on, .timeout = 20)
{
    struct meeting m = {.brings = {[2] = HC_IO}};
    expect_end(&m, HC_IO, "rank 2: no disk on 2");
}

Test(ranks, name_its_host_where_there_are_several, .timeout = 20)
{
    struct meeting m = {.brings = {[2] = HC_IO}, .host = {[2] = "node7"}};
    expect_end(&m, HC_IO, "rank 2 on node7: no disk on 2");
}

Test(ranks, that_all_fail_say_it_once, .timeout = 20)
{
    struct meeting m = {.brings = {HC_INVALID, HC_INVALID, HC_INVALID, HC_INVALID}};
    expect_end(&m, HC_INVALID, "no disk on 0");
}

Test(ranks, name_the_one_that_differs, .timeout = 20)
{
    struct meeting m = {.value = {[3] = "0.9"}, .host = {"a", "b", "c", "d"}};
    expect_end(&m, HC_INVALID, "rank 3 on d runs 0.9; rank 0 on a runs 1.0");
}

Test(ranks, tell_long_values_apart_behind_what_is_shown, .timeout = 20)
{
    char one[1000];
    char other[1000];
    memset(one, 'x', sizeof one);
    one[sizeof one - 1] = '\0';
    memcpy(other, one, sizeof other);
    other[sizeof other - 2] = 'y';
    struct meeting m = {.value = {one, one, other, one}};
    hold(&m);
    cr_expect_eq(m.got[0], HC_INVALID);
    cr_expect_eq(strncmp(m.line[1], "rank 2 runs xxx", 15), 0, "%s", m.line[1]);
    m = (struct meeting){.value = {one, one, one, one}};
    hold(&m);
    cr_expect_eq(m.got[0], HC_OK);
}

/* Rank 1 is done before the others begin. Nobody waits for it. */
Test(ranks, meet_one_that_is_at_another_place, .timeout = 20)
{
    struct meeting m = {.where = {[1] = "end"}, .brings = {[1] = HC_IO}};
    expect_end(&m, HC_IO, "rank 1: no disk on 1");
    m = (struct meeting){.where = {[1] = "end"}};
    expect_end(&m, HC_INVALID, "rank 1 is at the end, and rank 0 at the start");
}

Test(ranks, let_rank_0_say_what_is_wrong_with_another_at_the_end, .timeout = 20)
{
    struct meeting m = {.exits = {[3] = HC_WRONG}, .complains = {[3] = "the disk is full"}};
    hold(&m);
    for (int r = 0; r < RANKS; r++) {
        cr_expect_eq(m.got[r], HC_OK);
        cr_expect_eq(m.ended[r], HC_WRONG);
        cr_expect_eq(m.say[r], r == 0);
    }
    cr_expect_str_eq(m.line[0], "rank 3: the disk is full");
}

Test(ranks, do_not_repeat_what_rank_0_has_said, .timeout = 20)
{
    struct meeting m = {.exits = {HC_WRONG, HC_WRONG, HC_WRONG, HC_WRONG},
                        .complains = {"no", "no", "no", "no"}};
    hold(&m);
    for (int r = 0; r < RANKS; r++) {
        cr_expect_eq(m.ended[r], HC_WRONG);
        cr_expect_not(m.say[r]);
    }
}

Test(ranks, one_alone_meets_nobody)
{
    struct hc_ranks ranks = {.comm = hc_comm_self()};
    bool say;
    cr_expect_eq(hc_ranks_meet(&ranks, "start", HC_IO, NULL, 0), HC_IO);
    cr_expect_eq(hc_ranks_end(&ranks, HC_CLAIM_FAILED, "", &say), HC_CLAIM_FAILED);
    cr_expect_not(say);
}
