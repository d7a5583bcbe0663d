#include "cli/calc/call.h"

#include "check/run_call.h"
#include "cli/calc/calc.h"

enum hc_status hc_calc_call(const struct hc_call *call, void *context)
{
    const struct hc_calc *calc = context;
    struct hc_breach breach;
    enum hc_status status = hc_run_call(calc->backend, calc->queue, call, &breach);
    if (breach.text[0])
        return hc_fail(HC_DEVICE, "%s: %s", calc->backend->name, breach.text);
    return status;
}
