#include "comm/all_reduce.h"

#include <assert.h>

#include "comm/partial.h"
#include "comm/schedule.h"

/* The partial sums of this rank, and what arrives to be added to them. */
struct sums {
    char *mine;
    char *arriving;
    enum hc_format format;
    size_t bytes; /* of a number */
};

size_t hc_all_reduce_room(const struct hc_all_reduce *how, int64_t count)
{
    return 2 * (size_t)count * (size_t)hc_formats[how->sum].bytes;
}

static enum hc_status move(struct hc_comm *comm, const struct sums *s, const struct hc_move *m)
{
    char *out = s->mine + (size_t)m->out.first * s->bytes;
    char *own = s->mine + (size_t)m->in.first * s->bytes;
    char *in = m->adds ? s->arriving : own;
    if (m->to < 0 && m->from < 0)
        return HC_OK;
    enum hc_status status = hc_comm_send_receive(comm, m->to, out, (size_t)m->out.count * s->bytes,
                                                 m->from, in, (size_t)m->in.count * s->bytes);
    if (status == HC_OK && m->adds)
        hc_partial_add(s->format, own, in, m->in.count);
    return status;
}

static enum hc_status moves(struct hc_comm *comm, enum hc_collective algorithm,
                            const struct sums *s, int64_t count, struct hc_sent *sent)
{
    enum hc_status status = HC_OK;
    for (int i = 0; i < hc_schedule_moves(algorithm, comm->size) && status == HC_OK; i++) {
        struct hc_move m = hc_schedule_move(algorithm, comm->size, comm->rank, count, i);
        status = move(comm, s, &m);
        if (sent && m.to >= 0) {
            sent->messages++;
            sent->bytes += m.out.count * (int64_t)s->bytes;
        }
    }
    return status;
}

/* How the library sends its messages is not known: one call counts as one. */
static enum hc_status anyhow(struct hc_comm *comm, const struct sums *s, int64_t count,
                             struct hc_sent *sent)
{
    if (comm->size == 1 || count == 0)
        return HC_OK;
    if (!comm->kind->sum_anyhow)
        return hc_fail(HC_UNSUPPORTED, "no sum over ranks comes with %s", comm->kind->title);
    if (sent) {
        sent->messages++;
        sent->bytes += count * (int64_t)s->bytes;
    }
    return comm->kind->sum_anyhow(comm, s->format, s->mine, count);
}

enum hc_status hc_comm_all_reduce(struct hc_comm *comm, const struct hc_all_reduce *how,
                                  enum hc_format format, void *data, int64_t count, void *room,
                                  struct hc_sent *sent)
{
    size_t bytes = (size_t)hc_formats[how->sum].bytes;
    struct sums s = {room, (char *)room + (size_t)count * bytes, how->sum, bytes};
    assert((unsigned)how->algorithm < HC_COLLECTIVE_COUNT && count >= 0);
    assert((format == HC_FP64) == (how->sum == HC_FP64));
    hc_partial_begin(how, format, data, count, s.mine);
    enum hc_status status = how->algorithm == HC_COLLECTIVE_LIBRARY
                                ? anyhow(comm, &s, count, sent)
                                : moves(comm, how->algorithm, &s, count, sent);
    if (status == HC_OK)
        hc_partial_end(how, format, s.mine, count, data);
    return status;
}
