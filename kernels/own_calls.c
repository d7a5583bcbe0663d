#include "kernels/own_calls.h"

#include "kernels/fallback.h"
#include "kernels/pipe/pipe.h"

static _Thread_local int64_t made;

bool hc_own_calls_counted(const struct hc_backend *backend)
{
    struct hc_fallback_counts counts;
    return (backend->spelled && hc_pipe_is_spelled(backend->spelled)) ||
           hc_fallback_count(backend, &counts);
}

int64_t hc_own_calls(void)
{
    return made;
}

void hc_own_calls_add(int64_t calls)
{
    made += calls;
}
