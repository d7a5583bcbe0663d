/* Lines and bytes through two pipes, each with a time by which it must be there. */
#ifndef HC_KERNELS_PIPE_CHANNEL_H
#define HC_KERNELS_PIPE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

enum { HC_LONGEST_LINE = 1 << 16 };

/* What becomes of an attempt to speak or to listen. */
enum hc_heard {
    HC_HEARD,
    HC_HEARD_END,  /* the program has closed its end */
    HC_HEARD_LATE, /* the time is over */
    HC_HEARD_LONG, /* a line of more than HC_LONGEST_LINE bytes */
    HC_HEARD_EARLY /* it speaks while it should listen, and does not listen */
};

/* What the program has sent, and nobody has taken yet, are the bytes from `begin` to `end`. */
struct hc_channel {
    int in;
    int out;
    size_t begin;
    size_t end;
    char buffer[HC_LONGEST_LINE];
};

/* Seconds of a clock that never goes back. */
double hc_channel_now(void);

/* `until` is a time of that clock. The parts are changed. */
enum hc_heard hc_channel_send(struct hc_channel *channel, struct iovec *parts, int count,
                              double until);

/* Takes the next line: *line ends with a zero in place of the newline, and lives until the next
   call. *length is without it; the line may hold zeros of its own. */
enum hc_heard hc_channel_line(struct hc_channel *channel, double until, char **line,
                              size_t *length);

/* Takes so many bytes, and sets *got to how many came. */
enum hc_heard hc_channel_bytes(struct hc_channel *channel, double until, void *to, size_t bytes,
                               size_t *got);

/* HC_HEARD if the program has sent nothing that was not asked for; HC_HEARD_EARLY if it has, or
   HC_HEARD_END. */
enum hc_heard hc_channel_quiet(const struct hc_channel *channel);

#endif
