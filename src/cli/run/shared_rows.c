#include "cli/run/shared_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/json.h"
#include "check/record/refusals.h"
#include "cli/ranks/ranks.h"
#include "cli/lines.h"
#include "cli/stop.h"

static json_t *texts(const char *first, size_t size, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        (void)json_array_append_new(list, hc_json_text(first + (size_t)i * size));
    return list;
}

static json_t *omissions_json(const struct hc_omissions *all)
{
    json_t *list = json_array();
    for (int i = 0; i < all->count; i++) {
        const struct hc_omission *o = &all->row[i];
        json_t *counts = json_array();
        for (int kind = 0; kind < HC_OMITTED_KINDS; kind++)
            (void)json_array_append_new(counts, json_integer(o->count[kind]));
        (void)json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:o, s:o, s:o}", "backend", o->backend, "component", o->component,
                      "count", counts, "why", texts(o->why[0], sizeof o->why[0], HC_OMITTED_KINDS),
                      "first", texts(o->first[0], sizeof o->first[0], HC_OMITTED_KINDS)));
    }
    return list;
}

enum hc_status hc_shared_rows_text(const struct hc_run_command *s, char **text)
{
    json_t *document =
        json_pack("{s:i, s:{}, s:[], s:o, s:o, s:O, s:i, s:i}", "schema", HC_RECORD_SCHEMA,
                  "environment", "results", "left_out", omissions_json(&s->rows.omissions), "calls",
                  hc_calls_json(&s->rows.omissions, HC_ALIKE_FORMATS), "facts", s->facts, "started",
                  s->started, "signal", hc_stop_signal());
    for (int i = 0; document && i < s->rows.count; i++)
        hc_record_add(document, &s->rows.row[i]);
    *text = document ? json_dumps(document, JSON_COMPACT) : NULL;
    json_decref(document);
    if (*text && hc_json_status() == HC_OK)
        return HC_OK;
    return hc_fail(HC_NO_MEMORY, "no memory for the results");
}

/* The name of a backend of the run, which lives as long as it; NULL: it has none of that name. */
static const char *backend_of(const struct hc_run_command *s, const json_t *o)
{
    const char *name = json_string_value(json_object_get(o, "backend"));
    for (int b = 0; name && b < s->options.backend_count; b++)
        if (strcmp(s->options.backends[b]->name, name) == 0)
            return s->options.backends[b]->name;
    return NULL;
}

static void copy(char *to, size_t size, const json_t *text)
{
    const char *from = json_string_value(text);
    (void)snprintf(to, size, "%s", from ? from : "");
}

static void join_omissions(struct hc_run_command *s, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        struct hc_omission row = {.backend = backend_of(s, o)};
        copy(row.component, sizeof row.component, json_object_get(o, "component"));
        for (size_t kind = 0; kind < HC_OMITTED_KINDS; kind++) {
            row.count[kind] =
                (int)json_integer_value(json_array_get(json_object_get(o, "count"), kind));
            copy(row.why[kind], sizeof row.why[kind],
                 json_array_get(json_object_get(o, "why"), kind));
            copy(row.first[kind], sizeof row.first[kind],
                 json_array_get(json_object_get(o, "first"), kind));
        }
        if (row.backend)
            hc_omissions_join(&s->rows.omissions, &row);
    }
}

static int by_case_name(const void *name, const void *element)
{
    return strcmp(name, (*(const struct hc_case *const *)element)->name);
}

/* The run's case of that name, or NULL. */
static const struct hc_case *case_of(const struct hc_run_command *s, const json_t *name)
{
    const char *text = json_string_value(name);
    const struct hc_case *const *found =
        text && s->options.case_count
            ? bsearch(text, s->options.cases, (size_t)s->options.case_count,
                      sizeof(const struct hc_case *), by_case_name)
            : NULL;
    return found ? *found : NULL;
}

static void join_calls(struct hc_run_command *s, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        const char *key = json_string_value(json_object_get(o, "key"));
        char why[320];
        struct hc_alike_calls set = {
            .backend = backend_of(s, o),
            .alike = (enum hc_alike)json_integer_value(json_object_get(o, "alike")),
            .key = key ? strtoull(key, NULL, 16) : 0,
            .taken = json_integer_value(json_object_get(o, "taken")),
            .refused = json_integer_value(json_object_get(o, "refused")),
            .taker = case_of(s, json_object_get(o, "taker")),
            .refuser = case_of(s, json_object_get(o, "refuser")),
            .why = why};
        copy(why, sizeof why, json_object_get(o, "why"));
        if (set.backend)
            hc_omissions_join_calls(&s->rows.omissions, &set);
    }
}

enum hc_status hc_shared_rows_join(struct hc_run_command *s, int rank, const char *text,
                                   size_t bytes)
{
    char name[32];
    json_error_t error;
    struct hc_record record;
    (void)snprintf(name, sizeof name, "rank %d", rank);
    json_t *document = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
    if (!document)
        return hc_fail(HC_INVALID, "%s: its results are cut short: %s", name, error.text);
    enum hc_status status = hc_record_of(name, document, &record);
    if (status != HC_OK)
        return status;
    for (int i = 0; i < record.count && status == HC_OK; i++)
        status = hc_rows_take(&s->rows, &record.rows[i]);
    join_omissions(s, json_object_get(document, "left_out"));
    join_calls(s, json_object_get(document, "calls"));
    (void)json_object_update_missing(s->facts, json_object_get(document, "facts"));
    s->started += (int)json_integer_value(json_object_get(document, "started"));
    if (!s->signal)
        s->signal = (int)json_integer_value(json_object_get(document, "signal"));
    hc_record_free(&record);
    if (status == HC_OK && s->rows.omissions.lost)
        status = hc_fail(HC_NO_MEMORY, "no memory to count what was left out");
    return status;
}

/* A row with the place of its backend among those of the run. */
struct placed {
    struct hc_row row;
    char *text;
    int backend;
};

static int by_place(const void *a, const void *b)
{
    const struct placed *x = a;
    const struct placed *y = b;
    int order = strcmp(x->row.name, y->row.name);
    return order ? order : x->backend - y->backend;
}

static int place_of(const struct hc_run_command *s, const char *backend)
{
    int b = 0;
    while (b < s->options.backend_count && strcmp(s->options.backends[b]->name, backend) != 0)
        b++;
    return b;
}

/* The first case that an omission counts. */
static const char *first_of(const struct hc_omission *o)
{
    const char *first = NULL;
    for (int kind = 0; kind < HC_OMITTED_KINDS; kind++)
        if (o->count[kind] > 0 && (!first || strcmp(o->first[kind], first) < 0))
            first = o->first[kind];
    return first ? first : "";
}

static bool comes_before(const struct hc_run_command *s, const struct hc_omission *a,
                         const struct hc_omission *b)
{
    int order = strcmp(first_of(a), first_of(b));
    return order ? order < 0 : place_of(s, a->backend) < place_of(s, b->backend);
}

/* There are few: one for each component and backend at most. */
static void order_omissions(struct hc_run_command *s)
{
    struct hc_omission *row = s->rows.omissions.row;
    for (int i = 1; i < s->rows.omissions.count; i++) {
        struct hc_omission moved = row[i];
        int at = i;
        for (; at > 0 && comes_before(s, &moved, &row[at - 1]); at--)
            row[at] = row[at - 1];
        row[at] = moved;
    }
}

/* Cases run in the order of their names, and each on the backends in theirs. */
enum hc_status hc_shared_rows_order(struct hc_run_command *s)
{
    struct hc_rows *rows = &s->rows;
    struct placed *all = malloc(((size_t)rows->count + 1) * sizeof *all);
    if (!all)
        return hc_fail(HC_NO_MEMORY, "no memory to sort %d results", rows->count);
    for (int i = 0; i < rows->count; i++)
        all[i] = (struct placed){rows->row[i], rows->text[i], place_of(s, rows->row[i].backend)};
    qsort(all, (size_t)rows->count, sizeof *all, by_place);
    for (int i = 0; i < rows->count; i++) {
        rows->row[i] = all[i].row;
        rows->text[i] = all[i].text;
    }
    free(all);
    order_omissions(s);
    return HC_OK;
}

void hc_run_share_out(struct hc_run_command *s)
{
    const struct hc_comm *comm = hc_ranks()->comm;
    if (comm->size < 2)
        return;
    s->share = (struct hc_shard){.index = comm->rank + 1, .of = comm->size};
    s->options.share = &s->share;
}

/* What this rank would run, with the digest of the plan, in which every case counts. */
static void describe_plan(const struct hc_run_command *s, struct hc_lines *t)
{
    const struct hc_run_options *o = &s->options;
    hc_lines_add(t, "%s on", hc_count(s->length, "result").text);
    for (int b = 0; b < o->backend_count; b++)
        hc_lines_add(t, "%s %s", b ? "," : "", o->backends[b]->name);
    hc_lines_add(t, " (plan %016llx)", (unsigned long long)s->share.plan);
}

enum hc_status hc_run_share_begin(struct hc_run_command *s, enum hc_status mine)
{
    struct hc_lines plan = {.used = 0};
    if (!hc_ranks_several())
        return mine;
    if (mine == HC_OK)
        mine = hc_run_possible(&s->options);
    char *sums = mine == HC_OK ? json_dumps(s->fingerprints, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    if (mine == HC_OK && !sums)
        mine = hc_fail(HC_NO_MEMORY, "no memory for the fingerprints");
    if (mine == HC_OK)
        describe_plan(s, &plan);
    const struct hc_ranks_fact facts[] = {{"would run", plan.text},
                                          {"has the fingerprints", sums ? sums : ""}};
    enum hc_status status = hc_ranks_agree("plan", mine, facts, 2);
    free(sums);
    return status;
}

/* Rank 0 gets the documents of the others, one after the other, and joins them to its own rows. */
static enum hc_status receive(struct hc_run_command *s, struct hc_comm *comm, int rank,
                              int64_t bytes)
{
    char *text = malloc((size_t)bytes + 1);
    if (!text)
        return hc_fail(HC_NO_MEMORY, "no memory for the results of rank %d", rank);
    enum hc_status status = hc_comm_send_receive(comm, -1, NULL, 0, rank, text, (size_t)bytes);
    if (status == HC_OK)
        status = hc_shared_rows_join(s, rank, text, (size_t)bytes);
    free(text);
    return status;
}

static enum hc_status exchange(struct hc_run_command *s, const char *text)
{
    struct hc_comm *comm = hc_ranks()->comm;
    int64_t mine = text ? (int64_t)strlen(text) : 0;
    int64_t *bytes = calloc((size_t)comm->size, sizeof *bytes);
    enum hc_status status = bytes ? HC_OK : hc_fail(HC_NO_MEMORY, "no memory for the results");
    /* What one rank has no memory for ends all, because the others wait for it. */
    status = hc_ranks_agree("results", status, NULL, 0);
    if (!bytes || status != HC_OK) {
        free(bytes);
        return status;
    }
    status = hc_comm_all_gather(comm, &mine, sizeof mine, bytes);
    if (status == HC_OK && comm->rank > 0)
        status = hc_comm_send_receive(comm, 0, text, (size_t)mine, -1, NULL, 0);
    for (int r = 1; r < comm->size && comm->rank == 0 && status == HC_OK; r++)
        status = receive(s, comm, r, bytes[r]);
    free(bytes);
    return status;
}

enum hc_status hc_run_share_end(struct hc_run_command *s, enum hc_status mine)
{
    if (!hc_ranks_several())
        return mine;
    char *text = NULL;
    if (mine == HC_OK && !hc_ranks_speaks())
        mine = hc_shared_rows_text(s, &text);
    enum hc_status status = hc_ranks_agree("results", mine, NULL, 0);
    if (status == HC_OK)
        status = exchange(s, text);
    free(text);
    if (status != HC_OK || !hc_ranks_speaks())
        return status;
    status = hc_shared_rows_order(s);
    for (int i = 0; i < s->rows.count && status == HC_OK; i++)
        hc_run_command_print(s, i);
    return status;
}
