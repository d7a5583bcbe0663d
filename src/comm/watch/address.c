/* getifaddrs is no function of POSIX, but every Linux, BSD and macOS has it. */
#define _DEFAULT_SOURCE
#include "comm/watch/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union any_address {
    struct sockaddr common;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static void add(struct hc_watch_entry *entry, const struct sockaddr *from)
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
            add(entry, i->ifa_addr);
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
        add(entry, &address.common);
    else
        add_interfaces(entry, AF_INET);
    if (is_v6)
        add_interfaces(entry, AF_INET6);
    return fd;
}

int hc_watch_connect_to(const struct hc_watch_entry *entry, int i)
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
