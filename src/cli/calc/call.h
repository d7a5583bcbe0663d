/* Operations of a formula on a backend. */
#ifndef HC_CLI_CALC_CALL_H
#define HC_CLI_CALC_CALL_H

#include "formula/evaluate.h"

/* Runs a call on calc->backend, between guards (check/guarded.h). `calc` is a struct hc_calc. */
enum hc_status hc_calc_call(const struct hc_call *call, void *calc);

#endif
