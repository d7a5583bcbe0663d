#include "comm/watch/peers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "comm/watch/peers_inner.h"

enum {
    BEAT = 1000,    /* between two signs of life */
    TRY_FOR = 2000, /* one address */
    LEAVE_WITHIN = 500,
    STRANGERS = 64 /* who may be connected without having said who they are */
};

bool hc_peers_init(struct hc_peers *peers, const struct hc_watch_shared *shared, int rank,
                   int listener, int64_t silence)
{
    *peers = (struct hc_peers){.rank = rank,
                               .size = shared->size,
                               .shared = shared,
                               .listener = listener,
                               .silence = silence,
                               .first_lost = -1};
    peers->link_count = shared->size + STRANGERS;
    peers->links = calloc((size_t)peers->link_count, sizeof *peers->links);
    peers->lost = calloc((size_t)shared->size, 1);
    return peers->links && peers->lost;
}

int hc_peers_polls(const struct hc_peers *peers)
{
    return 1 + peers->link_count;
}

void hc_peers_prepare(const struct hc_peers *peers, struct pollfd *polls)
{
    polls[0] = (struct pollfd){.fd = peers->joining ? peers->listener : -1, .events = POLLIN};
    for (int i = 0; i < peers->link_count; i++) {
        const struct hc_link *link = &peers->links[i];
        bool is_open = link->state != HC_LINK_NONE && link->state != HC_LINK_DOWN;
        polls[1 + i] =
            (struct pollfd){.fd = is_open ? link->fd : -1, .events = hc_link_events(link)};
    }
}

static void lose(struct hc_peers *peers, int rank, int64_t now)
{
    if (peers->shared->ended[rank] || peers->lost[rank])
        return;
    peers->lost[rank] = 1;
    if (peers->lost_count++ == 0) {
        peers->first_lost = rank;
        peers->lost_since = now;
    }
}

void hc_peers_note_end(struct hc_peers *peers, int rank, int value, int64_t now)
{
    if (peers->shared->ended[rank])
        return;
    peers->shared->ended[rank] = 1;
    if (value == 2 && !peers->wrong_since)
        peers->wrong_since = now;
    /* Only speakers are linked with everybody: one of them passes it on. */
    if (rank == peers->rank || peers->rank == peers->speakers[0])
        hc_peers_tell(peers, HC_NOTICE_ENDED, rank, value);
}

static void hear(struct hc_peers *peers, const struct hc_notice *notice, int64_t now)
{
    if (notice->kind == HC_NOTICE_ENDED && notice->rank >= 0 && notice->rank < peers->size)
        hc_peers_note_end(peers, notice->rank, notice->value, now);
    if (notice->kind == HC_NOTICE_OVER && !peers->is_over) {
        peers->is_over = true;
        if (peers->is_speaker)
            hc_peers_tell(peers, HC_NOTICE_OVER, notice->rank, notice->value);
    }
}

static void read_notices(struct hc_peers *peers, struct hc_link *link, int64_t now)
{
    struct hc_notice notice;
    int got = 1;
    while ((got = hc_link_read(link, sizeof notice)) == 1) {
        memcpy(&notice, link->buffer, sizeof notice);
        if (link->state == HC_LINK_GREETED)
            hc_peers_set_up(peers, link, now);
        link->heard = now;
        hear(peers, &notice, now);
    }
    if (got == 0)
        return;
    if (link->state == HC_LINK_GREETED) {
        hc_peers_try_next(peers, link, now);
        return;
    }
    hc_link_close(link);
    peers->up--;
    lose(peers, link->rank, now);
}

static void serve_link(struct hc_peers *peers, struct hc_link *link, int64_t now)
{
    if (link->state == HC_LINK_CONNECTING)
        hc_peers_greet(peers, link, now);
    else if (link->state == HC_LINK_COMING)
        hc_peers_welcome(peers, link, now);
    else if (link->state == HC_LINK_GREETED || link->state == HC_LINK_UP)
        read_notices(peers, link, now);
}

/* What has waited for too long. */
static void look_at_times(struct hc_peers *peers, struct hc_link *link, int64_t now)
{
    bool is_slow = now - link->since > TRY_FOR;
    if ((link->state == HC_LINK_CONNECTING || link->state == HC_LINK_GREETED) && is_slow)
        hc_peers_try_next(peers, link, now);
    else if (link->state == HC_LINK_COMING && is_slow)
        hc_link_close(link);
    else if (link->state == HC_LINK_UP && now - link->heard > peers->silence)
        lose(peers, link->rank, now);
}

void hc_peers_serve(struct hc_peers *peers, const struct pollfd *polls, int64_t now)
{
    for (int i = 0; i < peers->link_count; i++)
        if (polls[1 + i].fd >= 0 && polls[1 + i].revents)
            serve_link(peers, &peers->links[i], now);
    if (polls[0].fd >= 0 && polls[0].revents)
        hc_peers_accept(peers, now);
    for (int i = 0; i < peers->link_count; i++)
        look_at_times(peers, &peers->links[i], now);
    if (now - peers->beat >= BEAT) {
        peers->beat = now;
        hc_peers_tell(peers, HC_NOTICE_ALIVE, peers->rank, 0);
    }
}

void hc_peers_forgive(struct hc_peers *peers, int64_t now)
{
    for (int i = 0; i < peers->link_count; i++)
        peers->links[i].heard = now;
}

bool hc_peers_speaks(const struct hc_peers *peers)
{
    for (int i = 0; i < peers->speaker_count; i++)
        if (!peers->lost[peers->speakers[i]])
            return peers->speakers[i] == peers->rank;
    return true;
}

void hc_peers_tell(struct hc_peers *peers, enum hc_notice_kind kind, int rank, int value)
{
    const struct hc_notice notice = {
        .kind = (unsigned char)kind, .value = (unsigned char)value, .rank = rank};
    for (int i = 0; i < peers->link_count; i++)
        if (peers->links[i].state == HC_LINK_UP)
            hc_link_send(&peers->links[i], &notice, sizeof notice);
}

bool hc_peers_all_ended(const struct hc_peers *peers)
{
    for (int r = 0; r < peers->size; r++)
        if (!peers->shared->ended[r])
            return false;
    return true;
}

/* Reads and forgets what comes until the other side closes, too. A socket that is closed with
   something unread takes back what it sent last. */
static bool drain(struct hc_link *link)
{
    char bytes[256];
    ssize_t n = 0;
    while ((n = recv(link->fd, bytes, sizeof bytes, 0)) > 0)
        continue;
    return n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

void hc_peers_leave(struct hc_peers *peers)
{
    const struct timespec moment = {0, 5000000L};
    int left = 0;
    for (int i = 0; i < peers->link_count; i++)
        if (peers->links[i].state == HC_LINK_UP)
            left += shutdown(peers->links[i].fd, SHUT_WR) == 0;
        else
            hc_link_close(&peers->links[i]);
    for (int turn = 0; turn < LEAVE_WITHIN / 5 && left > 0; turn++) {
        left = 0;
        for (int i = 0; i < peers->link_count; i++)
            if (peers->links[i].state == HC_LINK_UP && drain(&peers->links[i]))
                hc_link_close(&peers->links[i]);
            else
                left += peers->links[i].state == HC_LINK_UP;
        if (left > 0)
            (void)nanosleep(&moment, NULL);
    }
}
