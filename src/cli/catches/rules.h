/* The rules by which people decide whether a computed number is right: the same two arms of a bug
   are shown to each of them. A rule that accepts the buggy arm misses the bug; one that refuses the
   fixed arm gives a false alarm. */
#ifndef HC_CLI_CATCHES_RULES_H
#define HC_CLI_CATCHES_RULES_H

#include <stdbool.h>

#include "check/story/exhibit.h"

/* One shown value of an arm. */
struct hc_judged_value {
    enum hc_format format; /* HC_FORMAT_COUNT: a count */
    double got;
    double want; /* what the rules that compare two numbers expect: hc_expected */
    double real; /* of the fixed arm's formula */
    double rad;  /* the fixed arm's running bound */
    double half; /* what the half implementation gives (half.h) */
};

struct hc_judged_arm {
    int count;
    bool has_half;
    bool control; /* the buggy arm of a negative control */
    struct hc_judged_value value[HC_MAX_EXHIBITS];
};

enum hc_judgement { HC_ACCEPTED, HC_REFUSED, HC_NOT_APPLIED };

struct hc_rule {
    const char *name; /* the heading of its column, at most 5 letters */
    const char *what;
    const char *threshold;
    const char *source;
    const char *applied; /* how: what the source leaves open; sentences */
    enum hc_judgement (*judge)(const struct hc_judged_arm *arm);
};

/* The rules stand in the order of the columns; halfcheck's own is the last one. */
enum { HC_CATCH_RULES = 7 };
extern const struct hc_rule hc_rules[HC_CATCH_RULES];

/* The real number rounded to the format; the real number itself for a count, and, with `kept`,
   where the rounding would make it 0, inf or NaN. */
double hc_expected(enum hc_format format, double real, bool kept);

/* numpy's and torch's comparison: equal, or both finite and not further apart than
   atol + rtol * |want|. NaN is near nothing. */
bool hc_is_close(double got, double want, double rtol, double atol);

/* The cosine of the angle between the values that an arm has and those that are expected: 1 if all
   of both are 0, 0 if all of one are, NaN if an infinity or a NaN stands on one side alone. */
double hc_cosine(const struct hc_judged_arm *arm);

#endif
