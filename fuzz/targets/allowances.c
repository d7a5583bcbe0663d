/* The allowances beside a baseline. */
#include "cli/gate/allowances.h"

#include "fuzz.h"

static void fuzz_allowances(const uint8_t *data, size_t size)
{
    struct hc_allowances allowances = {0};
    (void)hc_allowances_parse(&allowances, "fuzz", (const char *)data, size,
                              hc_date_read("2026-01-01"));
    hc_allowances_free(&allowances);
}

const struct hc_fuzz_target hc_fuzz_allowances = {"allowances", fuzz_allowances};
