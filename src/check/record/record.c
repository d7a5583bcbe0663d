/* Writing records. */
#include "check/record/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/environment.h"
#include "op/memory_stream.h"
#include "op/output.h"
#include "check/record/json.h"

enum hc_verdict hc_row_verdict(const struct hc_row *row)
{
    bool within = hc_ratio(row->error, row->bound) <= 1;
    return row->verdict == HC_PASS && (!within || row->wrong > 0) ? HC_FAIL : row->verdict;
}

enum hc_bits hc_row_compare_bits(const struct hc_row *was, const struct hc_row *is)
{
    int bits = was->digest_bits < is->digest_bits ? was->digest_bits : is->digest_bits;
    if (bits == 0)
        return HC_BITS_UNKNOWN;
    return (was->digest ^ is->digest) >> (64 - bits) ? HC_BITS_OTHER : HC_BITS_SAME;
}

bool hc_row_is_bits(const struct hc_row *row)
{
    return row->verdict == HC_SKIPPED && row->digest_bits > 0;
}

struct hc_row hc_row_claim(const char *name, const char *backend, enum hc_verdict verdict,
                           double error, double bound, const char *unit)
{
    return (struct hc_row){.name = name,
                           .backend = backend,
                           .verdict = verdict,
                           .error = error,
                           .bound = bound,
                           .unit = unit,
                           .implementation = (double)NAN,
                           .format = (double)NAN,
                           .line = (double)NAN,
                           .note = "",
                           .repro = ""};
}

struct hc_row hc_row_of(const struct hc_result *result, const char *repro)
{
    return (struct hc_row){.name = result->what->name,
                           .backend = result->backend,
                           .verdict = result->verdict,
                           .checked = result->checked,
                           .wrong = result->wrong,
                           .looked_at = result->looked_at,
                           .looked_of = result->looked_of,
                           .special = result->special,
                           .largest = result->largest,
                           .digest = result->digest,
                           .digest_bits = result->digest ? 64 : 0,
                           .error = result->error,
                           .bound = result->bound,
                           .unit = result->unit,
                           .implementation = result->implementation,
                           .format = result->format,
                           .line = result->line,
                           .seed = result->seed,
                           .seconds = result->seconds,
                           .note = result->note,
                           .repro = repro};
}

json_t *hc_record_new(void)
{
    return json_pack("{s:i, s:o, s:[]}", "schema", HC_RECORD_SCHEMA, "environment",
                     hc_environment(), "results");
}

void hc_record_add(json_t *record, const struct hc_row *row)
{
    json_t *o = json_object();
    (void)json_object_set_new(o, "case", hc_json_text(row->name));
    (void)json_object_set_new(o, "backend", hc_json_text(row->backend));
    (void)json_object_set_new(o, "verdict", json_string(hc_verdict_names[row->verdict]));
    (void)json_object_set_new(o, "checked", json_integer(row->checked));
    if (row->wrong > 0)
        (void)json_object_set_new(o, "wrong", json_integer(row->wrong));
    if (row->looked_of > 0)
        (void)json_object_set_new(
            o, "looked_at",
            json_pack("{s:I, s:I, s:I}", "elements", (json_int_t)row->looked_at, "of",
                      (json_int_t)row->looked_of, "special", (json_int_t)row->special));
    if (row->largest.call[0] || row->largest.work > 0)
        (void)json_object_set_new(o, "largest",
                                  json_pack("{s:s, s:I}", "call", row->largest.call, "work",
                                            (json_int_t)row->largest.work));
    if (row->digest_bits > 0)
        (void)json_object_set_new(
            o, "digest",
            json_sprintf("%0*llx", row->digest_bits / 4,
                         (unsigned long long)row->digest >> (64 - row->digest_bits)));
    if (row->digits > 0)
        (void)json_object_set_new(o, "digits", json_integer(row->digits));
    (void)json_object_set_new(o, "error", hc_json_real(row->error));
    (void)json_object_set_new(o, "bound", hc_json_real(row->bound));
    (void)json_object_set_new(o, "unit", hc_json_text(row->unit));
    if (!isnan(row->implementation))
        (void)json_object_set_new(o, "implementation", hc_json_real(row->implementation));
    if (!isnan(row->format))
        (void)json_object_set_new(o, "format", hc_json_real(row->format));
    if (!isnan(row->line))
        (void)json_object_set_new(o, "line", hc_json_real(row->line));
    (void)json_object_set_new(o, "seed", json_sprintf("%llu", (unsigned long long)row->seed));
    (void)json_object_set_new(o, "seconds", json_real(row->seconds));
    (void)json_object_set_new(o, "note", hc_json_text(row->note));
    (void)json_object_set_new(o, "repro", hc_json_text(row->repro));
    if (row->pictures)
        (void)json_object_set(o, "pictures", row->pictures);
    if (row->spread)
        (void)json_object_set(o, "spread", row->spread);
    if (row->exhibits)
        (void)json_object_set(o, "exhibits", row->exhibits);
    (void)json_array_append_new(json_object_get(record, "results"), o);
}

enum hc_status hc_record_write(const json_t *record, const char *path)
{
    char *document = json_dumps(record, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    enum hc_status status = document && !hc_memory_lost() ? hc_json_status() : HC_NO_MEMORY;
    if (status == HC_OK) {
        size_t length = strlen(document);
        document[length] = '\n';
        status = hc_output_write(path, document, length + 1);
    } else
        status = hc_fail(HC_NO_MEMORY, "no memory for the record %s", path);
    free(document);
    return status;
}
