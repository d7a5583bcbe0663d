/* MAP_ANONYMOUS, which every Unix has, joined POSIX in 2024; getifaddrs is no function of POSIX,
   but every Linux, BSD and macOS has it. */
#define _DEFAULT_SOURCE

#include "comm/watch/peers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

bool hc_watch_share(struct hc_watch_shared *shared, int size)
{
    size_t table = (size_t)size * sizeof *shared->table;
    char *memory =
        mmap(NULL, table + (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    shared->size = size;
    shared->table = (struct hc_watch_entry *)memory;
    shared->ended = (_Atomic unsigned char *)(memory + table);
    return true;
}

/* How many of the ranks before this one are on its host. */
static int place_on_host(const struct hc_watch_entry *table, int rank)
{
    int before = 0;
    for (int r = 0; r < rank; r++)
        before += strcmp(table[r].host, table[rank].host) == 0;
    return before;
}

int hc_watch_speakers(const struct hc_watch_entry *table, int size, int *speakers)
{
    int count = 0;
    for (int place = 0; place < HC_WATCH_SPEAKERS; place++)
        for (int r = 0; r < size && count < HC_WATCH_SPEAKERS; r++)
            if (place_on_host(table, r) == place)
                speakers[count++] = r;
    return count;
}

union any_address {
    struct sockaddr common;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static void add_address(struct hc_watch_entry *entry, const struct sockaddr *from)
{
    if (entry->address_count == HC_WATCH_ADDRESSES)
        return;
    struct hc_watch_address *address = &entry->addresses[entry->address_count++];
    address->family = from->sa_family;
    if (from->sa_family == AF_INET)
        memcpy(address->bytes, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
    else
        memcpy(address->bytes, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
}

static bool is_link_local(const struct sockaddr *address)
{
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;
    return address->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr);
}

/* The addresses by which other hosts may reach this one. */
static void add_interfaces(struct hc_watch_entry *entry, int family)
{
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next)
        if (i->ifa_addr && i->ifa_addr->sa_family == family && (i->ifa_flags & IFF_UP) &&
            !(i->ifa_flags & IFF_LOOPBACK) && !is_link_local(i->ifa_addr))
            add_address(entry, i->ifa_addr);
    freeifaddrs(all);
}

static int new_socket(int family)
{
    int fd = socket(family, SOCK_STREAM, 0);
    const int on = 1;
    if (fd < 0)
        return -1;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

/* All addresses of both families, or of IPv4 where there is no IPv6; or the host's own. */
static int bound(bool on_one_host)
{
    const int off = 0;
    union any_address address = {.v6 = {.sin6_family = AF_INET6, .sin6_addr = in6addr_any}};
    int fd = on_one_host ? -1 : new_socket(AF_INET6);
    if (fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0 &&
        bind(fd, &address.common, sizeof address.v6) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    fd = new_socket(AF_INET);
    memset(&address, 0, sizeof address);
    address.v4.sin_family = AF_INET;
    address.v4.sin_addr.s_addr = htonl(on_one_host ? INADDR_LOOPBACK : INADDR_ANY);
    if (fd >= 0 && bind(fd, &address.common, sizeof address.v4) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

int hc_watch_listen(bool on_one_host, struct hc_watch_entry *entry)
{
    union any_address address = {.v6 = {.sin6_family = AF_INET6}};
    socklen_t length = sizeof address;
    int fd = bound(on_one_host);
    if (gethostname(entry->host, sizeof entry->host) != 0)
        strcpy(entry->host, "?");
    entry->host[sizeof entry->host - 1] = '\0';
    if (fd < 0)
        return -1;
    if (listen(fd, SOMAXCONN) != 0 || getsockname(fd, &address.common, &length) != 0) {
        (void)close(fd);
        return -1;
    }
    bool is_v6 = address.common.sa_family == AF_INET6;
    entry->port = ntohs(is_v6 ? address.v6.sin6_port : address.v4.sin_port);
    if (on_one_host)
        add_address(entry, &address.common);
    else
        add_interfaces(entry, AF_INET);
    if (is_v6)
        add_interfaces(entry, AF_INET6);
    return fd;
}

/* A socket that does not block and begins to connect to address i of the entry; -1 if it cannot. */
static int watch_connect_to(const struct hc_watch_entry *entry, int i)
{
    const struct hc_watch_address *to = &entry->addresses[i];
    union any_address address;
    socklen_t length = to->family == AF_INET ? sizeof address.v4 : sizeof address.v6;
    memset(&address, 0, sizeof address);
    address.common.sa_family = (sa_family_t)to->family;
    if (to->family == AF_INET) {
        address.v4.sin_port = htons((uint16_t)entry->port);
        memcpy(&address.v4.sin_addr, to->bytes, 4);
    } else {
        address.v6.sin6_port = htons((uint16_t)entry->port);
        memcpy(&address.v6.sin6_addr, to->bytes, 16);
    }
    int fd = new_socket((int)to->family);
    if (fd < 0)
        return -1;
    if (connect(fd, &address.common, length) == 0 || errno == EINPROGRESS)
        return fd;
    (void)close(fd);
    return -1;
}

void hc_link_close(struct hc_link *link)
{
    if (link->state != HC_LINK_NONE && link->state != HC_LINK_DOWN)
        (void)close(link->fd);
    link->state = HC_LINK_DOWN;
    link->fd = -1;
}

/* Tries the addresses of the rank from link->address on. The link is DOWN when there is no more. */
static void link_connect(struct hc_link *link, const struct hc_watch_entry *entry, int64_t now)
{
    hc_link_close(link);
    for (; link->address < (int)entry->address_count; link->address++) {
        link->fd = watch_connect_to(entry, link->address);
        if (link->fd < 0)
            continue;
        link->state = HC_LINK_CONNECTING;
        link->since = now;
        link->filled = 0;
        return;
    }
}

/* What poll is to wait for. */
static short link_events(const struct hc_link *link)
{
    return link->state == HC_LINK_CONNECTING ? POLLOUT : POLLIN;
}

/* Reads `size` bytes into link->buffer. 1 if they are all there, 0 if not yet, -1 at the end of the
   connection. */
static int link_read(struct hc_link *link, size_t size)
{
    while (link->filled < size) {
        ssize_t n = recv(link->fd, link->buffer + link->filled, size - link->filled, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 0;
        if (n <= 0)
            return -1;
        link->filled += (size_t)n;
    }
    link->filled = 0;
    return 1;
}

/* What does not fit into the socket's memory is lost, which happens where nobody has read for
   hours. */
static void link_send(const struct hc_link *link, const void *data, size_t size)
{
    while (send(link->fd, data, size, MSG_NOSIGNAL) < 0 && errno == EINTR)
        continue;
}

/* How guards find each other: who connects to whom, and who is let in. */

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
        link_connect(&peers->links[s], &table[s], now);
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

/* Lets in whoever has connected, who has not said who he is. Somebody connects. Who has no place
   waits in the listener's queue until it gives up. */
static void peers_accept(struct hc_peers *peers, int64_t now)
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

/* Both sides know each other. */
static void peers_set_up(struct hc_peers *peers, struct hc_link *link, int64_t now)
{
    link->state = HC_LINK_UP;
    link->heard = now;
    peers->up++;
}

/* Hears the hello of who has connected, and closes the link if he is none of the job's. A stranger
   may connect by mistake, or to try: without the job's token he is not heard. */
static void peers_welcome(struct hc_peers *peers, struct hc_link *link, int64_t now)
{
    struct hc_hello hello;
    int got = link_read(link, sizeof hello);
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
    peers_set_up(peers, link, now);
    link_send(link, &alive, sizeof alive);
}

/* Connects to the other side's next address. */
static void peers_try_next(struct hc_peers *peers, struct hc_link *link, int64_t now)
{
    link->address++;
    link_connect(link, &peers->shared->table[link->rank], now);
}

/* The connection that this guard began is there, or has failed: says hello, or goes on. */
static void peers_greet(struct hc_peers *peers, struct hc_link *link, int64_t now)
{
    int error = 0;
    socklen_t length = sizeof error;
    struct hc_hello hello = {.from = peers->rank, .to = link->rank};
    if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0 || error) {
        peers_try_next(peers, link, now);
        return;
    }
    memcpy(hello.token, peers->shared->table[0].token, HC_WATCH_TOKEN);
    link_send(link, &hello, sizeof hello);
    link->state = HC_LINK_GREETED;
}

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
        polls[1 + i] = (struct pollfd){.fd = is_open ? link->fd : -1, .events = link_events(link)};
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

static void hear(struct hc_peers *peers, struct hc_link *link, const struct hc_notice *notice,
                 int64_t now)
{
    if (notice->kind == HC_NOTICE_ENDED && notice->rank >= 0 && notice->rank < peers->size)
        hc_peers_note_end(peers, notice->rank, notice->value, now);
    bool is_asked = notice->kind == HC_NOTICE_ASKED;
    if (notice->kind != HC_NOTICE_OVER && !is_asked)
        return;
    link->has_left = true;
    if (peers->is_over)
        return;
    peers->is_over = true;
    peers->is_unexplained = is_asked;
    hc_peers_tell(peers, notice->kind, notice->rank, notice->value);
}

static void read_notices(struct hc_peers *peers, struct hc_link *link, int64_t now)
{
    struct hc_notice notice;
    int got = 1;
    while ((got = link_read(link, sizeof notice)) == 1) {
        memcpy(&notice, link->buffer, sizeof notice);
        if (link->state == HC_LINK_GREETED)
            peers_set_up(peers, link, now);
        link->heard = now;
        hear(peers, link, &notice, now);
    }
    if (got == 0)
        return;
    if (link->state == HC_LINK_GREETED) {
        peers_try_next(peers, link, now);
        return;
    }
    hc_link_close(link);
    peers->up--;
    if (!link->has_left)
        lose(peers, link->rank, now);
}

static void serve_link(struct hc_peers *peers, struct hc_link *link, int64_t now)
{
    if (link->state == HC_LINK_CONNECTING)
        peers_greet(peers, link, now);
    else if (link->state == HC_LINK_COMING)
        peers_welcome(peers, link, now);
    else if (link->state == HC_LINK_GREETED || link->state == HC_LINK_UP)
        read_notices(peers, link, now);
}

/* What has waited for too long. */
static void look_at_times(struct hc_peers *peers, struct hc_link *link, int64_t now)
{
    bool is_slow = now - link->since > TRY_FOR;
    if ((link->state == HC_LINK_CONNECTING || link->state == HC_LINK_GREETED) && is_slow)
        peers_try_next(peers, link, now);
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
        peers_accept(peers, now);
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
            link_send(&peers->links[i], &notice, sizeof notice);
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
