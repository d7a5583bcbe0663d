/* Guards that know each other, all in one process: each is served in turn, at times that the test
   makes up. */
#include "comm/watch/peers.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 12, SILENCE = 6000 };

static struct hc_watch_shared shared[MOST]; /* each guard has its own */
static struct hc_peers guards[MOST];
static int count;
static int64_t now = 1000;

/* Each guard gets a table with its own place in it filled in; then all have all. */
static void make(int size, int per_host)
{
    count = size;
    for (int r = 0; r < size; r++) {
        cr_assert(hc_watch_share(&shared[r], size));
        struct hc_watch_entry *mine = &shared[r].table[r];
        int listener = hc_watch_listen(true, mine);
        cr_assert_geq(listener, 0);
        (void)snprintf(mine->host, sizeof mine->host, "host%d", r / per_host);
        mine->process = 100 + r;
        memset(mine->token, 7 + r, HC_WATCH_TOKEN);
        cr_assert(hc_peers_init(&guards[r], &shared[r], r, listener, SILENCE));
    }
    for (int r = 0; r < size; r++)
        for (int other = 0; other < size; other++)
            shared[r].table[other] = shared[other].table[other];
}

static void serve(int rank)
{
    struct pollfd polls[2 * MOST + 128];
    hc_peers_prepare(&guards[rank], polls);
    (void)poll(polls, (nfds_t)hc_peers_polls(&guards[rank]), 1);
    hc_peers_serve(&guards[rank], polls, now);
}

/* Some milliseconds, in which all but one are served; -1: all are. */
static void pass(int milliseconds, int but)
{
    for (int turn = 0; turn < 10; turn++) {
        now += milliseconds / 10;
        for (int r = 0; r < count; r++)
            if (r != but)
                serve(r);
    }
}

static void join_all(void)
{
    for (int r = 0; r < count; r++)
        hc_peers_join(&guards[r], now);
    pass(100, -1);
    for (int r = 0; r < count; r++) {
        cr_assert_eq(hc_peers_joined(&guards[r], now), 1, "%d: %d", r, guards[r].up);
        cr_assert_eq(hc_peers_unreached(&guards[r]), -1);
    }
}

Test(speakers, are_on_different_hosts_as_far_as_there_are_some)
{
    int speakers[HC_WATCH_SPEAKERS];
    static const int want[HC_WATCH_SPEAKERS] = {0, 4, 8, 1, 5, 9, 2, 6};
    make(12, 4);
    cr_expect_eq(hc_watch_speakers(shared[0].table, 12, speakers), HC_WATCH_SPEAKERS);
    for (int i = 0; i < HC_WATCH_SPEAKERS; i++)
        cr_expect_eq(speakers[i], want[i], "%d: %d", i, speakers[i]);
    cr_expect_eq(hc_watch_speakers(shared[0].table, 3, speakers), 3);
}

/* Ranks 10 and 11 are linked with speakers alone, through one of which they hear of each other. */
Test(peers, pass_on_who_has_ended)
{
    make(12, 12);
    join_all();
    cr_expect_eq(guards[11].up, HC_WATCH_SPEAKERS);
    cr_expect_eq(guards[0].up, 11);
    hc_peers_note_end(&guards[10], 10, 2, now);
    pass(100, -1);
    for (int r = 0; r < 12; r++)
        cr_expect_eq(shared[r].ended[10], 1, "%d", r);
    cr_expect_neq(guards[11].wrong_since, 0);
    cr_expect_not(hc_peers_all_ended(&guards[11]));
    for (int r = 0; r < 12; r++)
        hc_peers_note_end(&guards[r], r, 0, now);
    pass(100, -1);
    for (int r = 0; r < 12; r++)
        cr_expect(hc_peers_all_ended(&guards[r]), "%d", r);
}

Test(peers, notice_silence_and_one_of_them_speaks)
{
    make(10, 10);
    join_all();
    pass(SILENCE - 1500, 0);
    for (int r = 1; r < 10; r++)
        cr_expect_eq(guards[r].lost_count, 0);
    pass(3000, 0);
    for (int r = 1; r < 10; r++) {
        cr_expect_eq(guards[r].first_lost, 0, "%d", r);
        cr_expect_eq(hc_peers_speaks(&guards[r]), r == 1, "%d", r);
    }
}

/* One that has not run for a while has heard nobody, and must not say that all are gone. */
Test(peers, forgive_who_could_not_be_heard)
{
    make(3, 3);
    join_all();
    now += 2 * SILENCE;
    for (int r = 0; r < 3; r++)
        hc_peers_forgive(&guards[r], now);
    pass(100, -1);
    for (int r = 0; r < 3; r++)
        cr_expect_eq(guards[r].lost_count, 0, "%d", r);
}

Test(peers, notice_a_link_that_ends_but_not_of_one_that_has_done_its_work)
{
    make(4, 4);
    join_all();
    hc_peers_note_end(&guards[3], 3, 0, now);
    pass(100, -1);
    for (int i = 0; i < guards[3].link_count; i++)
        hc_link_close(&guards[3].links[i]);
    for (int i = 0; i < guards[2].link_count; i++)
        hc_link_close(&guards[2].links[i]);
    count = 2;
    pass(100, -1);
    for (int r = 0; r < 2; r++) {
        cr_expect_eq(guards[r].lost_count, 1, "%d", r);
        cr_expect_eq(guards[r].first_lost, 2, "%d", r);
    }
}

Test(peers, tell_that_the_job_is_over_before_they_leave)
{
    make(3, 3);
    join_all();
    hc_peers_tell(&guards[2], HC_NOTICE_OVER, 2, 2);
    hc_peers_leave(&guards[2]);
    count = 2;
    pass(100, -1);
    cr_expect(guards[0].is_over);
    cr_expect(guards[1].is_over);
}

/* mpirun, which has seen the loss of rank 2, asks rank 3 to end before anybody has spoken. */
Test(peers, that_leave_on_request_are_not_lost_and_hide_no_loss)
{
    make(4, 4);
    join_all();
    for (int i = 0; i < guards[2].link_count; i++)
        hc_link_close(&guards[2].links[i]);
    hc_peers_tell(&guards[3], HC_NOTICE_ASKED, 3, 2);
    hc_peers_leave(&guards[3]);
    count = 2;
    pass(100, -1);
    for (int r = 0; r < 2; r++) {
        cr_expect(guards[r].is_over && guards[r].is_unexplained, "%d", r);
        cr_expect_eq(guards[r].lost_count, 1, "%d: %d", r, guards[r].lost_count);
        cr_expect_eq(guards[r].first_lost, 2, "%d", r);
    }
}

/* A guard whose host lets nobody in: the others say whom they cannot reach, and do not wait. */
Test(peers, that_cannot_be_reached_are_named)
{
    make(3, 3);
    hc_peers_shut(&guards[1]);
    for (int r = 0; r < 3; r++)
        hc_peers_join(&guards[r], now);
    pass(20000, -1);
    cr_expect_eq(hc_peers_joined(&guards[2], now), -1);
    cr_expect_eq(hc_peers_unreached(&guards[2]), 1);
}

static int stranger(int rank, const void *says, size_t size)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)shared[rank].table[rank].port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    cr_assert_eq(send(fd, says, size, MSG_NOSIGNAL), (ssize_t)size);
    return fd;
}

/* Without the token, for another rank, from a rank that there is not, and half a greeting. */
Test(peers, do_not_hear_strangers)
{
    make(3, 3);
    struct hc_hello hello = {.from = 1, .to = 0};
    (void)stranger(0, &hello, sizeof hello);
    memcpy(hello.token, shared[0].table[0].token, HC_WATCH_TOKEN);
    hello.to = 2;
    (void)stranger(0, &hello, sizeof hello);
    hello.to = 0;
    hello.from = 3;
    (void)stranger(0, &hello, sizeof hello);
    hello.from = -1;
    (void)stranger(0, &hello, sizeof hello);
    hello.from = 0;
    (void)stranger(0, &hello, sizeof hello);
    (void)stranger(0, &hello, 5);
    join_all();
    cr_expect_eq(guards[0].up, 2);
    pass(3000, -1);
    cr_expect_eq(guards[0].up, 2);
    cr_expect_eq(guards[0].lost_count, 0);
}
