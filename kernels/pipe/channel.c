#include "kernels/pipe/queue.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double hc_channel_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* An answer to a small call comes sooner than a core that has gone to sleep awakes, so that it is
   first looked for, with the core left to whoever else wants it. */
static const double awake = 100e-6; /* seconds */

/* Waits until one of the descriptors is ready. False when the time is over. */
static bool wait_for(struct pollfd *files, nfds_t count, double until)
{
    double asleep = hc_channel_now() + awake;
    do {
        if (poll(files, count, 0) > 0)
            return true;
        (void)sched_yield();
    } while (hc_channel_now() < asleep);
    for (;;) {
        double left = (until - hc_channel_now()) * 1e3;
        int milliseconds = left <= 0 ? 0 : left > INT_MAX / 2 ? INT_MAX / 2 : (int)left + 1;
        int ready = poll(files, count, milliseconds);
        if (ready > 0)
            return true;
        if (ready == 0 && milliseconds == 0)
            return false;
    }
}

/* Reads what is there, at least one byte. */
static enum hc_heard read_some(const struct hc_channel *c, double until, void *to, size_t bytes,
                               size_t *got)
{
    for (;;) {
        struct pollfd file = {.fd = c->in, .events = POLLIN};
        *got = 0;
        if (!wait_for(&file, 1, until))
            return HC_HEARD_LATE;
        ssize_t n = read(c->in, to, bytes);
        if (n > 0) {
            *got = (size_t)n;
            return HC_HEARD;
        }
        if (n == 0 || (errno != EINTR && errno != EAGAIN))
            return HC_HEARD_END;
    }
}

static void drop_written(struct iovec **parts, int *count, size_t written)
{
    while (*count > 0 && written >= (*parts)->iov_len) {
        written -= (*parts)->iov_len;
        (*parts)++;
        (*count)--;
    }
    if (*count > 0) {
        (*parts)->iov_base = (char *)(*parts)->iov_base + written;
        (*parts)->iov_len -= written;
    }
}

enum hc_heard hc_channel_send(struct hc_channel *channel, struct iovec *parts, int count,
                              double until)
{
    while (count > 0) {
        ssize_t n = writev(channel->out, parts, count);
        if (n >= 0) {
            drop_written(&parts, &count, (size_t)n);
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return HC_HEARD_END;
        struct pollfd files[] = {{.fd = channel->out, .events = POLLOUT},
                                 {.fd = channel->in, .events = POLLIN}};
        if (!wait_for(files, 2, until))
            return HC_HEARD_LATE;
        if (files[0].revents)
            continue;
        return files[1].revents & POLLIN ? HC_HEARD_EARLY : HC_HEARD_END;
    }
    return HC_HEARD;
}

enum hc_heard hc_channel_line(struct hc_channel *channel, double until, char **line, size_t *length)
{
    struct hc_channel *c = channel;
    size_t looked = 0;
    for (;;) {
        char *newline = memchr(c->buffer + c->begin + looked, '\n', c->end - c->begin - looked);
        if (newline) {
            *newline = '\0';
            *line = c->buffer + c->begin;
            *length = (size_t)(newline - *line);
            c->begin += *length + 1;
            return HC_HEARD;
        }
        looked = c->end - c->begin;
        if (looked == sizeof c->buffer)
            return HC_HEARD_LONG;
        memmove(c->buffer, c->buffer + c->begin, looked);
        c->begin = 0;
        size_t got;
        enum hc_heard heard =
            read_some(c, until, c->buffer + looked, sizeof c->buffer - looked, &got);
        c->end = looked + got;
        if (heard != HC_HEARD)
            return heard;
    }
}

enum hc_heard hc_channel_bytes(struct hc_channel *channel, double until, void *to, size_t bytes,
                               size_t *got)
{
    struct hc_channel *c = channel;
    *got = 0;
    for (;;) {
        size_t here = c->end - c->begin < bytes - *got ? c->end - c->begin : bytes - *got;
        if (here)
            memcpy((char *)to + *got, c->buffer + c->begin, here);
        c->begin += here;
        *got += here;
        if (*got == bytes)
            return HC_HEARD;
        /* The buffer is empty. Much goes to its place directly, a little by the buffer, with what
           may follow. */
        bool directly = bytes - *got >= sizeof c->buffer;
        size_t more;
        enum hc_heard heard = read_some(c, until, directly ? (char *)to + *got : c->buffer,
                                        directly ? bytes - *got : sizeof c->buffer, &more);
        if (heard != HC_HEARD)
            return heard;
        c->begin = 0;
        c->end = directly ? 0 : more;
        *got += directly ? more : 0;
    }
}

enum hc_heard hc_channel_quiet(const struct hc_channel *channel)
{
    struct pollfd file = {.fd = channel->in, .events = POLLIN};
    if (channel->begin != channel->end)
        return HC_HEARD_EARLY;
    if (poll(&file, 1, 0) <= 0)
        return HC_HEARD;
    return file.revents & POLLIN ? HC_HEARD_EARLY : HC_HEARD_END;
}
