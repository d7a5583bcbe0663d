/* What tests ask of a comm of any kind. Each returns HC_OK, or HC_INVALID with a line that says
   what was wrong, so that a rank that is a process of its own may say it. */
#ifndef HC_COMM_TESTING_H
#define HC_COMM_TESTING_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm.h"

#define HC_EXPECT(held, what)                                                                      \
    do {                                                                                           \
        if (!(held))                                                                               \
            return hc_fail(HC_INVALID, "line %d: %s", __LINE__, what);                             \
    } while (0)

/* A byte that tells who sent it, to whom, and where it stood. */
static inline unsigned char byte_of(int from, int to, size_t i)
{
    return (unsigned char)(from * 31 + to * 7 + (int)(i % 251));
}

static inline void fill(unsigned char *data, size_t bytes, int from, int to)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = byte_of(from, to, i);
}

static inline int is_from(const unsigned char *data, size_t bytes, int from, int to)
{
    for (size_t i = 0; i < bytes; i++)
        if (data[i] != byte_of(from, to, i))
            return 0;
    return 1;
}

/* To this rank's neighbour at distance d, and from the one on the other side. */
static inline enum hc_status letter_arrives(struct hc_comm *comm, int d, unsigned char *out,
                                            unsigned char *in, size_t bytes)
{
    int to = (comm->rank + d) % comm->size;
    int from = (comm->rank + comm->size - d) % comm->size;
    fill(out, bytes, comm->rank, to);
    memset(in, 0xA5, bytes + 1);
    enum hc_status status = hc_comm_send_receive(comm, to, out, bytes, from, in, bytes);
    if (status == HC_OK && (!is_from(in, bytes, from, comm->rank) || in[bytes] != 0xA5))
        return hc_fail(HC_INVALID, "the letter of %zu bytes from %d is another", bytes, from);
    return status;
}

/* A letter from each to each, at every distance, also to oneself. */
static inline enum hc_status letters_arrive(struct hc_comm *comm, size_t bytes)
{
    unsigned char *room = malloc(2 * (bytes + 1));
    enum hc_status status = HC_OK;
    if (!room)
        return hc_fail(HC_NO_MEMORY, "no memory for letters");
    for (int d = 0; d < comm->size && status == HC_OK; d++)
        status = letter_arrives(comm, d, room, room + bytes + 1, bytes);
    free(room);
    return status;
}

/* One way along a line: the first rank only sends, the last only receives. */
static inline enum hc_status lines_pass(struct hc_comm *comm)
{
    int64_t token = comm->rank == 0 ? 42 : 0;
    int before = comm->rank - 1;
    int after = comm->rank + 1 < comm->size ? comm->rank + 1 : -1;
    enum hc_status status = hc_comm_send_receive(comm, -1, NULL, 0, before, &token, sizeof token);
    if (status == HC_OK)
        status = hc_comm_send_receive(comm, after, &token, sizeof token, -1, NULL, 0);
    if (status == HC_OK)
        HC_EXPECT(token == 42, "what went along the line is another");
    return status;
}

static inline enum hc_status gathered(struct hc_comm *comm, unsigned char *mine, size_t bytes,
                                      unsigned char *all)
{
    memset(all, 0, (size_t)comm->size * bytes);
    fill(mine, bytes, comm->rank, 0);
    enum hc_status status = hc_comm_all_gather(comm, mine, bytes, all);
    for (int r = 0; r < comm->size && status == HC_OK; r++)
        if (!is_from(all + (size_t)r * bytes, bytes, r, 0))
            status = hc_fail(HC_INVALID, "what rank %d gave is another", r);
    return status;
}

static inline enum hc_status broadcast_from(struct hc_comm *comm, int root, unsigned char *data,
                                            size_t bytes)
{
    memset(data, 0, bytes);
    if (comm->rank == root)
        fill(data, bytes, root, 1);
    enum hc_status status = hc_comm_broadcast(comm, root, data, bytes);
    if (status == HC_OK && !is_from(data, bytes, root, 1))
        return hc_fail(HC_INVALID, "what rank %d broadcast is another", root);
    return status;
}

/* What a rank gives may lie elsewhere, or in its place among all. */
static inline enum hc_status gathers_and_broadcasts(struct hc_comm *comm, size_t bytes)
{
    size_t size = (size_t)comm->size;
    unsigned char *room = malloc((size + 1) * bytes + 1);
    if (!room)
        return hc_fail(HC_NO_MEMORY, "no memory to gather");
    unsigned char *all = room + bytes;
    enum hc_status status = gathered(comm, room, bytes, all);
    if (status == HC_OK)
        status = gathered(comm, all + (size_t)comm->rank * bytes, bytes, all);
    for (int root = 0; root < comm->size && status == HC_OK; root++)
        status = broadcast_from(comm, root, room, bytes);
    free(room);
    return status;
}

static inline enum hc_status largest_is_found(struct hc_comm *comm)
{
    double most = 0;
    enum hc_status status = hc_comm_max(comm, comm->rank == comm->size / 2 ? 7.5 : -1.0, &most);
    HC_EXPECT(status != HC_OK || most == 7.5, "the largest is not 7.5");
    if (status == HC_OK)
        status = hc_comm_max(comm, comm->rank == comm->size - 1 ? (double)NAN : 1.0, &most);
    HC_EXPECT(status != HC_OK || isnan(most), "a NaN is lost");
    if (status == HC_OK)
        status = hc_comm_max(comm, comm->rank == 0 ? 0.0 : -0.0, &most);
    HC_EXPECT(status != HC_OK || (most == 0 && !signbit(most)), "0 is not above -0");
    if (status == HC_OK)
        status = hc_comm_max(comm, -HUGE_VAL, &most);
    HC_EXPECT(status != HC_OK || (isinf(most) && most < 0), "-inf is lost");
    return status;
}

/* All of them, with sizes below and above what libraries send at once. */
static inline enum hc_status comm_works(struct hc_comm *comm, void *context)
{
    static const size_t sizes[] = {0, 1, 7, 4096, 65537, 1 << 20};
    enum hc_status status = lines_pass(comm);
    (void)context;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && status == HC_OK; i++) {
        status = letters_arrive(comm, sizes[i]);
        if (status == HC_OK)
            status = gathers_and_broadcasts(comm, sizes[i] / 16);
        if (status == HC_OK)
            status = hc_comm_barrier(comm);
    }
    return status == HC_OK ? largest_is_found(comm) : status;
}

#endif
