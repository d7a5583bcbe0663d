#include "cli/run/shard.h"

#include <criterion/criterion.h>

/* The table lists what takes long. A case that it lists for `exact` alone was too short on `host`,
   not unknown there. */
Test(run_shard, expects_little_of_a_case_that_is_long_on_another_backend_alone)
{
    double on_exact = hc_shard_seconds("rounding/fp16/sub", "exact", HC_EXHAUSTIVE);
    double on_host = hc_shard_seconds("rounding/fp16/sub", "host", HC_EXHAUSTIVE);
    double elsewhere = hc_shard_seconds("rounding/fp16/sub", "a-backend", HC_EXHAUSTIVE);
    cr_expect_gt(on_exact, 10);
    cr_expect_lt(on_host, 5, "%g", on_host);
    cr_expect_eq(elsewhere, on_exact);
}
