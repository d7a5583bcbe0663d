/* What tests ask of a comm of any kind. Each returns HC_OK, or HC_INVALID with a line that says
   what was wrong, so that a rank that is a process of its own may say it. */
#ifndef HC_COMM_TESTING_H
#define HC_COMM_TESTING_H

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "comm/comm.h"
#include "comm/schedule.h"
#include "num/rng.h"

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

/* Sends to this rank's neighbour at distance d, and receives from the one on the other side. */
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

/* Ranks that average vectors, held to the op all_reduce on all of these vectors: for tests of a
   comm of any kind. */

/* What all ranks of a trial share: their vectors, side by side, and what they are to become. */
struct trial {
    struct hc_all_reduce how;
    enum hc_format format;
    int64_t count;
    char *x;
    char *want;
};

static inline size_t vector_bytes(const struct trial *t)
{
    return (size_t)t->count * (size_t)hc_formats[t->format].bytes;
}

/* Numbers of many sizes, so that every other order gives other bits; now and then -0, an infinity
   and a NaN. */
static inline double number(uint64_t seed, int64_t i)
{
    double u = hc_random_uniform(seed, 1, (uint64_t)i);
    if (u < 0.01)
        return -0.0;
    if (u < 0.012)
        return u < 0.011 ? (double)INFINITY : (double)NAN;
    return hc_random_normal(seed, 0, (uint64_t)i) * (u < 0.5 ? 1 : 64);
}

static inline struct trial trial_of(struct hc_all_reduce how, enum hc_format format, int ranks,
                                    int64_t count)
{
    struct trial t = {how, format, count, NULL, NULL};
    struct hc_call call = {.op = HC_OP_all_reduce, .params.all_reduce = how};
    t.x = calloc(1, (size_t)ranks * vector_bytes(&t) + 1);
    t.want = calloc(1, vector_bytes(&t) + 1);
    assert(t.x && t.want);
    call.in[HC_ALL_REDUCE_X] = hc_tensor2(format, ranks, count, t.x);
    call.out[HC_ALL_REDUCE_OUT] = hc_tensor1(format, count, t.want);
    for (int64_t i = 0; i < ranks * count; i++)
        hc_tensor_set(&call.in[HC_ALL_REDUCE_X], i, number((uint64_t)ranks, i));
    enum hc_status status = hc_call_check(&call);
    if (status == HC_OK)
        status = hc_backend_by_name("exact")->kernel[call.op](NULL, &call);
    assert(status == HC_OK);
    return t;
}

static inline void free_trial(struct trial *t)
{
    free(t->x);
    free(t->want);
}

/* The same bits, or both NaN. */
static inline bool is_same(const struct hc_tensor *want, const struct hc_tensor *got, int64_t i)
{
    return hc_tensor_bits(want, i) == hc_tensor_bits(got, i) ||
           (isnan(hc_tensor_get(want, i)) && isnan(hc_tensor_get(got, i)));
}

/* A rank's part: the bits, and the messages that the schedule has for it. Nothing is written
   behind the vector or behind the room. */
static inline enum hc_status average(struct hc_comm *comm, void *context)
{
    const struct trial *t = context;
    size_t bytes = vector_bytes(t);
    size_t room_bytes = hc_all_reduce_room(&t->how, t->count);
    struct hc_sent sent = {0, 0};
    char *data = malloc(bytes + 1);
    char *room = malloc(room_bytes + 1);
    enum hc_status status = data && room ? HC_OK : hc_fail(HC_NO_MEMORY, "no memory");
    if (status == HC_OK) {
        memcpy(data, t->x + (size_t)comm->rank * bytes, bytes);
        data[bytes] = room[room_bytes] = 77;
        status = hc_comm_all_reduce(comm, &t->how, t->format, data, t->count, room, &sent);
    }
    struct hc_tensor got = hc_tensor1(t->format, t->count, data);
    struct hc_tensor want = hc_tensor1(t->format, t->count, t->want);
    for (int64_t i = 0; i < t->count && status == HC_OK; i++)
        if (!is_same(&want, &got, i))
            status =
                hc_fail(HC_INVALID, "%s, %s in %s, %d ranks, element %d of %d: want %a, got %a",
                        hc_collective_names[t->how.algorithm], hc_formats[t->format].name,
                        hc_formats[t->how.sum].name, comm->size, (int)i, (int)t->count,
                        hc_tensor_get(&want, i), hc_tensor_get(&got, i));
    if (status == HC_OK && (data[bytes] != 77 || room[room_bytes] != 77))
        status = hc_fail(HC_INVALID, "something is written behind the memory");
    struct hc_sent plan = sent;
    if (t->how.algorithm != HC_COLLECTIVE_LIBRARY)
        plan = hc_schedule_sent(t->how.algorithm, comm->size, comm->rank, t->count,
                                (size_t)hc_formats[t->how.sum].bytes);
    if (status == HC_OK && (plan.messages != sent.messages || plan.bytes != sent.bytes))
        status = hc_fail(HC_INVALID, "%d bytes are sent, and %d in the schedule", (int)sent.bytes,
                         (int)plan.bytes);
    free(data);
    free(room);
    return status;
}

/* The same trial on ranks that are processes: each makes all of it by itself. */
static inline enum hc_status average_of(struct hc_comm *comm, struct hc_all_reduce how,
                                        enum hc_format format, int64_t count)
{
    struct trial t = trial_of(how, format, comm->size, count);
    enum hc_status status = average(comm, &t);
    free_trial(&t);
    return status;
}

/* Compares averages in each order, in several formats and lengths. */
static inline enum hc_status averages_agree(struct hc_comm *comm)
{
    static const struct {
        enum hc_format format;
        enum hc_format sum;
        int64_t count;
    } trials[] = {{HC_FP32, HC_FP32, 0},    {HC_FP32, HC_FP32, 1},    {HC_FP32, HC_FP32, 20011},
                  {HC_FP16, HC_FP16, 4099}, {HC_BF16, HC_FP32, 4099}, {HC_BF16, HC_BF16, 5},
                  {HC_FP32, HC_BF16, 9001}, {HC_FP64, HC_FP64, 1031}};
    enum hc_status status = HC_OK;
    for (int a = 0; a < HC_COLLECTIVE_LIBRARY; a++)
        for (size_t i = 0; i < sizeof trials / sizeof *trials && status == HC_OK; i++) {
            struct hc_all_reduce how = {(enum hc_collective)a, trials[i].sum, i % 2 ? 3 : 1,
                                        comm->size, i % 3 == 0};
            status = average_of(comm, how, trials[i].format, trials[i].count);
        }
    return status;
}

#endif
