#include "comm/comm.h"

#include <assert.h>
#include <math.h>

/* One rank has nothing to wait for: whatever its kind, memory moves as in `self`. */
static struct hc_comm *chosen(struct hc_comm *comm)
{
    return comm->size == 1 ? hc_comm_self() : comm;
}

enum hc_status hc_comm_send_receive(struct hc_comm *comm, int to, const void *out, size_t out_bytes,
                                    int from, void *in, size_t in_bytes)
{
    assert(to >= -1 && to < comm->size && from >= -1 && from < comm->size);
    assert((to == comm->rank) == (from == comm->rank));
    comm = chosen(comm);
    return comm->kind->send_receive(comm, to, out, out_bytes, from, in, in_bytes);
}

enum hc_status hc_comm_all_gather(struct hc_comm *comm, const void *mine, size_t bytes, void *all)
{
    comm = chosen(comm);
    return comm->kind->all_gather(comm, mine, bytes, all);
}

enum hc_status hc_comm_broadcast(struct hc_comm *comm, int root, void *data, size_t bytes)
{
    assert(root >= 0 && root < comm->size);
    comm = chosen(comm);
    return comm->kind->broadcast(comm, root, data, bytes);
}

enum hc_status hc_comm_barrier(struct hc_comm *comm)
{
    comm = chosen(comm);
    return comm->kind->barrier(comm);
}

/* The order is total, so that all ranks get the same bits: -0 is below 0, and a NaN, of which only
   one kind comes out, is above everything. */
static double larger(double a, double b)
{
    if (isnan(a) || isnan(b))
        return (double)NAN;
    return a > b || (a == b && !signbit(a)) ? a : b;
}

/* After the round of distance d a rank knows the largest of the 2 d ranks up to itself. Rounds may
   see a rank twice, which changes no maximum. */
enum hc_status hc_comm_max(struct hc_comm *comm, double mine, double *most)
{
    double known = larger(mine, mine);
    enum hc_status status = HC_OK;
    for (int d = 1; d < comm->size && status == HC_OK; d *= 2) {
        double other = known;
        int to = (comm->rank + d) % comm->size;
        int from = (comm->rank + comm->size - d) % comm->size;
        status = hc_comm_send_receive(comm, to, &known, sizeof known, from, &other, sizeof other);
        known = larger(known, other);
    }
    *most = known;
    return status;
}
