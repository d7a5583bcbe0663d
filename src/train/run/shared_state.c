/* The state of a run that several ranks share: it begins with rank 0's, and stays the same on all
   of them.

   Rank 0 alone reads files, so that a cluster needs no common disk. What it has read, or begun
   with, goes to the others. At every checkpoint ranks compare hashes of each tensor: a rank whose
   weights have gone another way is found before its error reaches a file. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "train/run/checkpoint.h"
#include "train/run/shared.h"
#include "train/run/state_fields.h"
#include "train/run/state_tensors.h"

static const char statistics[] = "buffers.";

static bool is_statistic(const struct hc_state_row *row)
{
    return strncmp(row->name, statistics, sizeof statistics - 1) == 0;
}

/* Room in host memory for the largest of the rows. */
static unsigned char *make_room(const struct hc_state_rows *rows)
{
    size_t most = 1;
    for (int i = 0; i < rows->count; i++)
        if (hc_tensor_bytes(&rows->row[i].tensor) > most)
            most = hc_tensor_bytes(&rows->row[i].tensor);
    unsigned char *room = malloc(most);
    if (!room)
        (void)hc_fail(HC_NO_MEMORY, "no memory for the state of ranks");
    return room;
}

/* Even if a transfer of this rank's own fails, in which case *own says so, it takes its part, so
   that no other waits for it. Returns what the comm says. */
static enum hc_status broadcast_row(struct hc_run *run, const struct hc_state_row *row,
                                    unsigned char *room, enum hc_status *own)
{
    const struct hc_backend *backend = run->device.backend;
    size_t bytes = hc_tensor_bytes(&row->tensor);
    if (run->parallel.rank == 0 && *own == HC_OK)
        *own = backend->download(run->device.queue, room, row->tensor.data, bytes);
    enum hc_status status = hc_comm_broadcast(run->parallel.comm, 0, room, bytes);
    if (run->parallel.rank > 0 && *own == HC_OK && status == HC_OK)
        *own = backend->upload(run->device.queue, row->tensor.data, room, bytes);
    return status;
}

/* All rows, or the running statistics alone. */
static enum hc_status broadcast_rows(struct hc_run *run, bool all)
{
    enum hc_status own = HC_OK;
    struct hc_state_rows *rows = hc_state_list(run->net, run->update);
    unsigned char *room = rows ? make_room(rows) : NULL;
    enum hc_status status = hc_parallel_agree(&run->parallel, room ? HC_OK : HC_NO_MEMORY, NULL);
    for (int i = 0; room && status == HC_OK && i < rows->count; i++)
        if (all || is_statistic(&rows->row[i]))
            status = broadcast_row(run, &rows->row[i], room, &own);
    free(room);
    free(rows);
    return status == HC_OK ? hc_parallel_agree(&run->parallel, own, NULL) : status;
}

static enum hc_status broadcast_counters(struct hc_run *run)
{
    struct hc_counters counters = {0};
    enum hc_status own = hc_update_counters(run->update, &counters);
    enum hc_status status = hc_comm_broadcast(run->parallel.comm, 0, &counters, sizeof counters);
    if (own == HC_OK && status == HC_OK && run->parallel.rank > 0)
        own = hc_update_set_counters(run->update, &counters);
    return status == HC_OK ? hc_parallel_agree(&run->parallel, own, NULL) : status;
}

static enum hc_status broadcast_totals(struct hc_run *run)
{
    unsigned char packed[sizeof run->totals];
    size_t bytes = hc_state_bytes(hc_run_totals_fields);
    assert(bytes <= sizeof packed);
    hc_state_pack(hc_run_totals_fields, &run->totals, packed);
    enum hc_status status = hc_comm_broadcast(run->parallel.comm, 0, packed, bytes);
    if (status == HC_OK)
        hc_state_unpack(hc_run_totals_fields, packed, &run->totals);
    return status;
}

enum hc_status hc_shared_statistics(struct hc_run *run)
{
    return run->parallel.ranks > 1 ? broadcast_rows(run, false) : HC_OK;
}

enum hc_status hc_shared_begin(struct hc_run *run)
{
    if (run->parallel.ranks == 1)
        return HC_OK;
    enum hc_status status = broadcast_rows(run, true);
    if (status == HC_OK)
        status = broadcast_counters(run);
    if (status == HC_OK)
        status = broadcast_totals(run);
    return status == HC_OK ? hc_shared_compare(run) : status;
}

/* hashes[i] of the bits of row i. */
static enum hc_status hash_rows(struct hc_run *run, const struct hc_state_rows *rows,
                                uint64_t *hashes)
{
    const struct hc_backend *backend = run->device.backend;
    unsigned char *room = make_room(rows);
    enum hc_status status = room ? HC_OK : HC_NO_MEMORY;
    for (int i = 0; i < rows->count && status == HC_OK; i++) {
        const struct hc_tensor *t = &rows->row[i].tensor;
        status = backend->download(run->device.queue, room, t->data, hc_tensor_bytes(t));
        hashes[i] = hc_fnv(HC_FNV_START, room, hc_tensor_bytes(t));
    }
    free(room);
    return status;
}

/* all[rank * n + row]. Names the lowest rank that differs from rank 0, and its first row. */
static void find_other(struct hc_run *run, const struct hc_state_rows *rows, const uint64_t *all)
{
    int n = rows->count;
    for (int r = 1; r < run->parallel.ranks; r++)
        for (int i = 0; i < n && run->apart[0] == '\0'; i++)
            if (all[(ptrdiff_t)r * n + i] != all[i])
                (void)snprintf(run->apart, sizeof run->apart,
                               "rank %d has another %s than rank 0 after step %lld", r,
                               rows->row[i].name, (long long)run->totals.step);
}

static enum hc_status compare(struct hc_run *run, const struct hc_state_rows *rows,
                              uint64_t *hashes)
{
    size_t n = (size_t)rows->count;
    enum hc_status status = hash_rows(run, rows, hashes);
    status = hc_parallel_agree(&run->parallel, status, NULL);
    if (status == HC_OK)
        status = hc_comm_all_gather(run->parallel.comm, hashes, n * sizeof *hashes, hashes + n);
    if (status == HC_OK)
        find_other(run, rows, hashes + n);
    return status;
}

enum hc_status hc_shared_compare(struct hc_run *run)
{
    if (run->parallel.ranks == 1)
        return HC_OK;
    struct hc_state_rows *rows = hc_state_list(run->net, run->update);
    size_t n = rows ? (size_t)rows->count : 0;
    uint64_t *hashes = calloc((size_t)(run->parallel.ranks + 1) * n + 1, sizeof *hashes);
    enum hc_status status = rows && hashes ? compare(run, rows, hashes)
                                           : hc_parallel_agree(&run->parallel, HC_NO_MEMORY, NULL);
    free(hashes);
    free(rows);
    return status;
}
