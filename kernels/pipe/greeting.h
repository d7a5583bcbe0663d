/* What a program says of itself before its first call. */
#ifndef HC_KERNELS_PIPE_GREETING_H
#define HC_KERNELS_PIPE_GREETING_H

#include <stdbool.h>
#include <stddef.h>

#include "backend.h"

enum { HC_PIPE_VERSION = 1 };

enum { HC_GREETING_DIGESTS = 256, HC_GREETING_DIGEST = 16 };

enum { HC_GREETING_BORDERS = 64, HC_GREETING_FACTS = 32, HC_GREETING_TEXT = 120 };

struct hc_greeting_fact {
    char name[HC_GREETING_TEXT];
    char fact[HC_GREETING_TEXT];
};

struct hc_greeting {
    char name[48];
    char title[HC_GREETING_TEXT]; /* empty: it said none */
    bool has[HC_OP_ROOM];
    unsigned formats[HC_OP_ROOM]; /* of the first input, as bits 1 << format */
    unsigned orders[HC_OP_ROOM];  /* of the op's parameter `order`, as bits 1 << order */
    bool nchw;
    bool nondeterministic;
    bool canonical_nan;
    bool parallel;
    bool shared;
    struct hc_accumulator accumulator;
    unsigned flushed[HC_OP_ROOM]; /* formats of factors in which it flushes in an op, though not in
                                     all, as bits */
    struct hc_border borders[HC_GREETING_BORDERS + 1]; /* ends with one of size 0 */
    bool defines; /* it takes definitions: these, or if there are none, all but what it refuses */
    int digests;
    char digest[HC_GREETING_DIGESTS][HC_GREETING_DIGEST + 1];
    int facts;
    struct hc_greeting_fact fact[HC_GREETING_FACTS];
};

/* Reads the line, which `who` has sent: the command by which it was started. HC_INVALID, with a
   line that says what is wrong. */
enum hc_status hc_greeting_read(struct hc_greeting *greeting, const char *who, const char *line,
                                size_t length);

/* Whether both offer the same: name, ops, formats, orders, definitions and layout. */
bool hc_greeting_same(const struct hc_greeting *one, const struct hc_greeting *other);

#endif
