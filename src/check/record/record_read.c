/* Reading records: the file, which is JSON or a baseline, and then its document. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/baseline.h"
#include "check/record/record.h"
#include "check/record/former.h"
#include "check/record/exhibits.h"
#include "check/record/facts.h"
#include "check/record/picture.h"
#include "check/record/parts.h"
#include "check/record/spread.h"

enum { MAX_BYTES = 1 << 28 };

/* The whole file. NULL, with *status set, if it cannot be read. */
static char *load(const char *path, size_t *bytes, enum hc_status *status)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;
    *bytes = 0;
    *status = file ? HC_OK : hc_fail(HC_IO, "cannot read %s: %s", path, strerror(errno));
    while (*status == HC_OK && !feof(file)) {
        if (*bytes == room) {
            room = room ? 2 * room : 1 << 16;
            char *more = room <= MAX_BYTES ? realloc(text, room) : NULL;
            text = more ? more : text;
            *status =
                more ? HC_OK : hc_fail(HC_NO_MEMORY, "%s: no memory for so large a record", path);
        }
        if (*status == HC_OK)
            *bytes += fread(text + *bytes, 1, room - *bytes, file);
        if (*status == HC_OK && ferror(file))
            *status = hc_fail(HC_IO, "cannot read %s: %s", path, strerror(errno));
    }
    if (file)
        (void)fclose(file);
    if (*status == HC_OK)
        return text;
    free(text);
    return NULL;
}

enum hc_status hc_record_read(const char *path, struct hc_record *record)
{
    json_error_t error;
    enum hc_status status;
    size_t bytes;
    json_t *document = NULL;
    *record = (struct hc_record){0};
    char *text = load(path, &bytes, &status);
    if (status != HC_OK)
        return status;
    if (hc_baseline_begins(text, bytes)) {
        status = hc_baseline_parse(path, text, bytes, &document);
    } else {
        document = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
        if (!document)
            status = hc_fail(HC_INVALID, "%s: not a record, or cut short: line %d: %s", path,
                             error.line, error.text);
    }
    free(text);
    return status == HC_OK ? hc_record_of(path, document, record) : status;
}

struct reader {
    const char *path;
    size_t index; /* of the result that is being read */
    enum hc_status status;
};

static const char *text_of(struct reader *r, const json_t *object, const char *key)
{
    const json_t *member = json_object_get(object, key);
    if (json_is_string(member))
        return json_string_value(member);
    if (r->status == HC_OK)
        r->status = hc_fail(HC_INVALID, "%s: result %zu: \"%s\" is not a string", r->path,
                            r->index + 1, key);
    return "";
}

static double number_of(struct reader *r, const json_t *object, const char *key)
{
    char *end;
    const char *text = text_of(r, object, key);
    double value = strtod(text, &end);
    if (r->status == HC_OK && (end == text || *end))
        r->status = hc_fail(HC_INVALID, "%s: result %zu: \"%s\" is not a number: '%s'", r->path,
                            r->index + 1, key, text);
    return value;
}

static enum hc_verdict verdict_of(struct reader *r, const json_t *object)
{
    const char *name = text_of(r, object, "verdict");
    for (int v = 0; v < HC_VERDICT_COUNT; v++)
        if (strcmp(hc_verdict_names[v], name) == 0)
            return (enum hc_verdict)v;
    if (r->status == HC_OK)
        r->status = hc_fail(HC_INVALID, "%s: result %zu: unknown verdict '%s'", r->path,
                            r->index + 1, name);
    return HC_ERROR;
}

static uint64_t seed_of(struct reader *r, const json_t *object)
{
    char *end;
    const char *text = text_of(r, object, "seed");
    unsigned long long seed = strtoull(text, &end, 10);
    if (r->status == HC_OK && (end == text || *end))
        r->status = hc_fail(HC_INVALID, "%s: result %zu: \"seed\" is not a number: '%s'", r->path,
                            r->index + 1, text);
    return seed;
}

/* A count of the optional member "looked_at". */
static int64_t looked_at(const json_t *o, const char *name)
{
    return json_integer_value(json_object_get(json_object_get(o, "looked_at"), name));
}

/* The optional member "digest": 1 to 16 hex digits, the upper ones of 64 bits. */
static void read_digest(struct reader *r, const json_t *o, struct hc_row *row)
{
    if (!json_object_get(o, "digest"))
        return;
    const char *text = text_of(r, o, "digest");
    size_t length = strspn(text, "0123456789abcdef");
    if (r->status == HC_OK && (length == 0 || length > 16 || text[length]))
        r->status = hc_fail(HC_INVALID, "%s: result %zu: \"digest\" is not 1 to 16 hex digits",
                            r->path, r->index + 1);
    if (r->status != HC_OK)
        return;
    row->digest_bits = 4 * (int)length;
    row->digest = (uint64_t)strtoull(text, NULL, 16) << (64 - row->digest_bits);
}

/* The optional member "largest". */
static struct hc_largest largest_of(const json_t *o)
{
    const json_t *member = json_object_get(o, "largest");
    const char *call = json_string_value(json_object_get(member, "call"));
    struct hc_largest largest = {.work = json_integer_value(json_object_get(member, "work"))};
    (void)snprintf(largest.call, sizeof largest.call, "%s", call ? call : "");
    return largest;
}

static struct hc_row row_of(struct reader *r, const json_t *o)
{
    struct hc_row row = {.name = text_of(r, o, "case"),
                         .backend = text_of(r, o, "backend"),
                         .verdict = verdict_of(r, o),
                         .checked = json_integer_value(json_object_get(o, "checked")),
                         .wrong = json_integer_value(json_object_get(o, "wrong")),
                         .looked_at = looked_at(o, "elements"),
                         .looked_of = looked_at(o, "of"),
                         .special = looked_at(o, "special"),
                         .largest = largest_of(o),
                         .error = number_of(r, o, "error"),
                         .bound = number_of(r, o, "bound"),
                         .unit = text_of(r, o, "unit"),
                         .implementation = (double)NAN,
                         .format = (double)NAN,
                         .line = (double)NAN,
                         .seed = seed_of(r, o),
                         .seconds = json_number_value(json_object_get(o, "seconds")),
                         .note = text_of(r, o, "note"),
                         .repro = text_of(r, o, "repro")};
    if (json_object_get(o, "implementation"))
        row.implementation = number_of(r, o, "implementation");
    if (json_object_get(o, "format"))
        row.format = number_of(r, o, "format");
    if (json_object_get(o, "line"))
        row.line = number_of(r, o, "line");
    read_digest(r, o, &row);
    row.digits = (int)json_integer_value(json_object_get(o, "digits"));
    row.pictures = json_object_get(o, "pictures");
    row.spread = json_object_get(o, "spread");
    row.exhibits = json_object_get(o, "exhibits");
    const char *wrong = row.pictures ? hc_pictures_wrong(row.pictures) : NULL;
    if (row.spread && !wrong)
        wrong = hc_spread_wrong(row.spread);
    if (row.exhibits && !wrong)
        wrong = hc_exhibits_wrong(row.exhibits);
    if (r->status == HC_OK && wrong)
        r->status = hc_fail(HC_INVALID, "%s: result %zu: %s", r->path, r->index + 1, wrong);
    if (r->status == HC_OK && !json_is_integer(json_object_get(o, "checked")))
        r->status = hc_fail(HC_INVALID, "%s: result %zu: \"checked\" is not a whole number",
                            r->path, r->index + 1);
    if (r->status == HC_OK &&
        (row.checked < 0 || row.wrong < 0 || row.looked_at < 0 || row.looked_at > row.looked_of ||
         row.special < 0 || row.special > row.looked_at || row.error < 0 || row.bound < 0))
        r->status = hc_fail(HC_INVALID, "%s: result %zu has a negative count, error or bound",
                            r->path, r->index + 1);
    return row;
}

static int by_name(const void *a, const void *b)
{
    const struct hc_row *x = a;
    const struct hc_row *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->backend, y->backend);
}

/* Sorts the results by name and backend; HC_INVALID if one is there twice. */
static enum hc_status sort(const char *path, struct hc_record *record)
{
    if (record->count == 0)
        return HC_OK;
    qsort(record->rows, (size_t)record->count, sizeof *record->rows, by_name);
    for (int i = 1; i < record->count; i++)
        if (by_name(&record->rows[i - 1], &record->rows[i]) == 0)
            return hc_fail(HC_INVALID, "%s: duplicate result of %s on %s", path,
                           record->rows[i].name, record->rows[i].backend);
    return HC_OK;
}

/* Result i, with the name that its case has today. */
static json_t *result_at(const json_t *results, size_t i)
{
    hc_case_name current;
    json_t *o = json_array_get(results, i);
    const char *name = json_string_value(json_object_get(o, "case"));
    if (name && hc_current_name(name, current))
        (void)json_object_set_new(o, "case", json_string(current));
    return o;
}

static enum hc_status read_rows(const char *path, struct hc_record *record, const json_t *results)
{
    struct reader r = {.path = path};
    size_t count = json_array_size(results);
    record->rows = calloc(count ? count : 1, sizeof *record->rows);
    if (!record->rows)
        return hc_fail(HC_NO_MEMORY, "no memory for %zu results", count);
    for (; r.index < count && r.status == HC_OK; r.index++)
        record->rows[r.index] = row_of(&r, result_at(results, r.index));
    record->count = (int)count;
    if (r.status != HC_OK)
        return r.status;
    const char *wrong = hc_record_find_parts(record);
    return wrong ? hc_fail(HC_INVALID, "%s: %s", path, wrong) : sort(path, record);
}

static enum hc_status read_document(const char *path, struct hc_record *record)
{
    const json_t *schema = json_object_get(record->document, "schema");
    const json_t *results = json_object_get(record->document, "results");
    record->environment = json_object_get(record->document, "environment");
    record->backends = json_object_get(record->document, "backends");
    if (!json_is_integer(schema))
        return hc_fail(HC_INVALID, "%s: not a record (no \"schema\")", path);
    if (json_integer_value(schema) != HC_RECORD_SCHEMA)
        return hc_fail(HC_INVALID, "%s: schema %lld; this halfcheck reads schema %d", path,
                       (long long)json_integer_value(schema), HC_RECORD_SCHEMA);
    if (!json_is_object(record->environment) || !json_is_array(results))
        return hc_fail(HC_INVALID, "%s: not a record (no \"environment\" or no \"results\")", path);
    const char *wrong = hc_facts_wrong(record->backends);
    if (wrong)
        return hc_fail(HC_INVALID, "%s: %s", path, wrong);
    return read_rows(path, record, results);
}

enum hc_status hc_record_of(const char *name, json_t *document, struct hc_record *record)
{
    *record = (struct hc_record){.document = document};
    enum hc_status status = read_document(name, record);
    if (status != HC_OK)
        hc_record_free(record);
    return status;
}

void hc_record_free(struct hc_record *record)
{
    free(record->rows);
    free(record->parts);
    json_decref(record->document);
    *record = (struct hc_record){0};
}

const struct hc_row *hc_record_find(const struct hc_record *record, const char *name,
                                    const char *backend)
{
    struct hc_row key = {.name = name, .backend = backend};
    return record->count ? bsearch(&key, record->rows, (size_t)record->count, sizeof key, by_name)
                         : NULL;
}
