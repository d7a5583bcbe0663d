#include "comm/watch/link.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/watch/address.h"

void hc_link_close(struct hc_link *link)
{
    if (link->state != HC_LINK_NONE && link->state != HC_LINK_DOWN)
        (void)close(link->fd);
    link->state = HC_LINK_DOWN;
    link->fd = -1;
}

void hc_link_connect(struct hc_link *link, const struct hc_watch_entry *entry, int64_t now)
{
    hc_link_close(link);
    for (; link->address < (int)entry->address_count; link->address++) {
        link->fd = hc_watch_connect_to(entry, link->address);
        if (link->fd < 0)
            continue;
        link->state = HC_LINK_CONNECTING;
        link->since = now;
        link->filled = 0;
        return;
    }
}

short hc_link_events(const struct hc_link *link)
{
    return link->state == HC_LINK_CONNECTING ? POLLOUT : POLLIN;
}

int hc_link_read(struct hc_link *link, size_t size)
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

void hc_link_send(const struct hc_link *link, const void *data, size_t size)
{
    while (send(link->fd, data, size, MSG_NOSIGNAL) < 0 && errno == EINTR)
        continue;
}
