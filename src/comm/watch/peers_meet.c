/* How guards find each other: who connects to whom, and who is let in. */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/watch/peers_inner.h"

enum { JOIN_WITHIN = 15000 };

static bool is_speaker(const struct hc_peers *peers, int rank)
{
    for (int i = 0; i < peers->speaker_count; i++)
        if (peers->speakers[i] == rank)
            return true;
    return false;
}

/* Links 0 to size - 1 are those to the ranks of that number that we connect to; the others are for
   who connects to us. Of two speakers, the one of higher rank connects. */
void hc_peers_join(struct hc_peers *peers, int64_t now)
{
    const struct hc_watch_entry *table = peers->shared->table;
    peers->speaker_count = hc_watch_speakers(table, peers->size, peers->speakers);
    peers->is_speaker = is_speaker(peers, peers->rank);
    peers->expected = peers->is_speaker ? peers->size - 1 : peers->speaker_count;
    peers->joining = now;
    for (int i = 0; i < peers->speaker_count; i++) {
        int s = peers->speakers[i];
        if (s == peers->rank || (peers->is_speaker && s > peers->rank))
            continue;
        peers->links[s].rank = s;
        hc_link_connect(&peers->links[s], &table[s], now);
    }
}

int hc_peers_joined(struct hc_peers *peers, int64_t now)
{
    if (peers->up == peers->expected && peers->listener >= 0)
        return 1;
    return peers->listener < 0 || now - peers->joining > JOIN_WITHIN ? -1 : 0;
}

void hc_peers_shut(struct hc_peers *peers)
{
    if (peers->listener >= 0)
        (void)close(peers->listener);
    peers->listener = -1;
}

int hc_peers_unreached(const struct hc_peers *peers)
{
    for (int r = 0; r < peers->size; r++) {
        bool is_up = r == peers->rank || (!peers->is_speaker && !is_speaker(peers, r));
        for (int i = 0; i < peers->link_count && !is_up; i++)
            is_up = peers->links[i].state == HC_LINK_UP && peers->links[i].rank == r;
        if (!is_up)
            return r;
    }
    return -1;
}

/* Somebody connects. Who has no place waits in the listener's queue until it gives up. */
void hc_peers_accept(struct hc_peers *peers, int64_t now)
{
    for (int i = 0; i < peers->link_count; i++) {
        struct hc_link *link = &peers->links[i];
        bool is_free = link->state == HC_LINK_NONE || link->state == HC_LINK_DOWN;
        if (!is_free || (i < peers->size && is_speaker(peers, i) && peers->joining))
            continue;
        int fd = accept(peers->listener, NULL, NULL);
        if (fd < 0)
            return;
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
        (void)fcntl(fd, F_SETFL, O_NONBLOCK);
        *link = (struct hc_link){.state = HC_LINK_COMING, .fd = fd, .rank = -1, .since = now};
    }
}

void hc_peers_set_up(struct hc_peers *peers, struct hc_link *link, int64_t now)
{
    link->state = HC_LINK_UP;
    link->heard = now;
    peers->up++;
}

/* A stranger may connect by mistake, or to try: without the job's token he is not heard. */
void hc_peers_welcome(struct hc_peers *peers, struct hc_link *link, int64_t now)
{
    struct hc_hello hello;
    int got = hc_link_read(link, sizeof hello);
    memcpy(&hello, link->buffer, sizeof hello);
    if (got == 0)
        return;
    bool is_one = got == 1 && peers->joining && hello.to == peers->rank && hello.from >= 0 &&
                  hello.from < peers->size && hello.from != peers->rank &&
                  memcmp(hello.token, peers->shared->table[0].token, HC_WATCH_TOKEN) == 0;
    for (int i = 0; i < peers->link_count && is_one; i++)
        is_one = peers->links[i].state != HC_LINK_UP || peers->links[i].rank != hello.from;
    if (!is_one) {
        hc_link_close(link);
        return;
    }
    const struct hc_notice alive = {.kind = HC_NOTICE_ALIVE, .rank = peers->rank};
    link->rank = hello.from;
    hc_peers_set_up(peers, link, now);
    hc_link_send(link, &alive, sizeof alive);
}

void hc_peers_try_next(struct hc_peers *peers, struct hc_link *link, int64_t now)
{
    link->address++;
    hc_link_connect(link, &peers->shared->table[link->rank], now);
}

void hc_peers_greet(struct hc_peers *peers, struct hc_link *link, int64_t now)
{
    int error = 0;
    socklen_t length = sizeof error;
    struct hc_hello hello = {.from = peers->rank, .to = link->rank};
    if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error) {
        hc_peers_try_next(peers, link, now);
        return;
    }
    memcpy(hello.token, peers->shared->table[0].token, HC_WATCH_TOKEN);
    hc_link_send(link, &hello, sizeof hello);
    link->state = HC_LINK_GREETED;
}
