/* For the tests of calls: vectors without data, and what becomes of a call. */
#ifndef HC_OP_TESTING_H
#define HC_OP_TESTING_H

#include <criterion/criterion.h>
#include <string.h>

#include "op/call.h"

static inline struct hc_tensor vector(enum hc_format format, int64_t n)
{
    return hc_tensor1(format, n, NULL);
}

static inline void accepted(const struct hc_call *call)
{
    cr_assert_eq(hc_call_check(call), HC_OK, "%s", hc_message());
}

static inline void refused(const struct hc_call *call, const char *line)
{
    cr_assert_eq(hc_call_check(call), HC_INVALID, "accepted: %s", line);
    cr_assert_eq(strcmp(hc_message(), line), 0, "%s", hc_message());
}

#endif
