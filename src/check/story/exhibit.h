/* What a bug's table shows: a few numbers of its two arms beside the real ones. */
#ifndef HC_CHECK_STORY_EXHIBIT_H
#define HC_CHECK_STORY_EXHIBIT_H

#include "check/check.h"

enum { HC_MAX_EXHIBITS = 12 };

/* One line of the table. */
struct hc_exhibit {
    char name[48];
    enum hc_format buggy_format; /* of each arm's value; HC_FORMAT_COUNT: a count */
    enum hc_format format;
    double buggy;
    double fixed;
    double real; /* of the fixed arm's formula */
    double rad;  /* the fixed arm's running bound */
};

struct hc_exhibits {
    int count;
    bool by_rule; /* `real` is what the format's rule gives, and right */
    struct hc_exhibit exhibit[HC_MAX_EXHIBITS];
};

/* Adds a line whose values both have that format. A longer name is cut. */
void hc_exhibits_add(struct hc_exhibits *shown, const char *name, enum hc_format format,
                     double buggy, double fixed, double real, double rad);

/* Whether the buggy arm's value is further from the real number than the fixed arm's bound. */
bool hc_exhibit_shows(const struct hc_exhibit *e);

/* Keeps the table in the result, and prints it in `halfcheck explain`. It claims nothing. */
void hc_exhibits_show(struct hc_check *check, const struct hc_exhibits *shown);

#endif
