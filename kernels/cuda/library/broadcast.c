#include "kernels/cuda/kernel/arguments.h"

#include "kernels/cuda/launch.h"
#include "kernels/cuda/library/handles.h"

enum hc_status hc_cuda_broadcast(struct hc_queue *queue, const struct hc_tensor *from, float by,
                                 bool no_minus, const struct hc_tensor *to)
{
    struct hc_dk_broadcast a = {.from = *from, .to = *to, .by = by, .no_minus = no_minus};
    return hc_launch_elements(queue, HC_DK_broadcast, hc_tensor_count(to), &a, sizeof a);
}
