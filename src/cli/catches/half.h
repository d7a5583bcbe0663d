/* The half implementation of a bug, for rules that compare with one: the fixed arm's formula in a
   16-bit format. Every operation is rounded to it, and every cast to a format of 16 bits or more is
   a cast to it. Where the buggy arm is just that, a rule that allows twice the error of the half
   implementation cannot refuse it. */
#ifndef HC_CLI_CATCHES_HALF_H
#define HC_CLI_CATCHES_HALF_H

#include "cases/fixture/bug.h"

/* The 16-bit format of a report: the first that the buggy arm names, in its formats or its
   formulas, or else the fixed arm. HC_FORMAT_COUNT: none. */
enum hc_format hc_half_format(const struct hc_bug *bug);

/* What it shows, by definition. *count becomes 0 if there is none: a play, or a bug without a
   16-bit format. HC_INVALID or HC_NO_MEMORY with a message. */
enum hc_status hc_half_implementation(const struct hc_bug *bug, double shown[HC_MAX_EXHIBITS],
                                      int *count);

#endif
