#include "kernels/cuda/kernel/broadcast.h"

#include "kernels/cuda/launch.h"

enum hc_status hc_cuda_broadcast(struct hc_queue *queue, const struct hc_dk_broadcast *spread)
{
    return hc_launch(queue, HC_DK_broadcast, hc_blocks_for(spread->n, 256, 1024), 256, 0, spread,
                     sizeof *spread);
}
