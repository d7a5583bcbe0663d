/* What a bench file may use. A file benches/<name>.c exports one
   `const struct hc_bench_table hc_benches_<name>`; files are found by glob. */
#ifndef HC_BENCH_H
#define HC_BENCH_H

#include "backend.h"
#include "check/timing.h"
#include "num/bits.h"
#include "num/format.h"
#include "num/rng.h"
#include "op/call.h"
#include "reference.h"
#include "train/case.h"

#endif
