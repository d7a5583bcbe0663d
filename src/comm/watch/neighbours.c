/* Sockets with names that are no files, and the credentials of who sends, are Linux's own. */
#define _GNU_SOURCE
#include "comm/watch/neighbours.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Neighbours have the same parent, by which their names begin. */
static socklen_t name_of(int rank, struct sockaddr_un *address)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    int n = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "halfcheck-%ld-%d",
                     (long)getppid(), rank);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

int hc_neighbours_open(int rank)
{
    struct sockaddr_un address;
    const int on = 1;
    socklen_t length = name_of(rank, &address);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (fd < 0)
        return -1;
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0 &&
        bind(fd, (const struct sockaddr *)&address, length) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

void hc_neighbours_tell(int fd, int size)
{
    for (int r = 0; r < size && fd >= 0; r++) {
        struct sockaddr_un address;
        socklen_t length = name_of(r, &address);
        (void)sendto(fd, "o", 1, MSG_NOSIGNAL, (const struct sockaddr *)&address, length);
    }
}

bool hc_neighbours_heard(int fd)
{
    char byte = 0;
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    if (fd < 0 || recvmsg(fd, &message, 0) != 1)
        return false;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    struct ucred sender = {.uid = (uid_t)-1};
    if (header && header->cmsg_type == SCM_CREDENTIALS)
        memcpy(&sender, CMSG_DATA(header), sizeof sender);
    return sender.uid == getuid() && byte == 'o';
}
