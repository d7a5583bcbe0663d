/* A record is what was measured, as one JSON document:
     {"schema": 1, "environment": {...}, "backends": {...}, "run": {...}, "results": [{...}, ...]}
   "run" says how the results were made (check/record/invocation.h). A merged record has no "run",
   but
     "parts": [{"name": "...", "result_count": 9, "environment": {...}, "run": {...}, ...}, ...]
   where the first part has the first 9 results, and so on. Older records without these members
   can be read, too. Real numbers are strings in hex ("0x1.8p-12", "inf", "nan") and seeds are
   strings in decimal, so that no bit is lost; `seconds` and `checked` are plain numbers. */
#ifndef HC_CHECK_RECORD_RECORD_H
#define HC_CHECK_RECORD_RECORD_H

#include <jansson.h>

#include "check/check.h"

#define HC_RECORD_SCHEMA 1

/* One result. The strings belong to the record that it was read from, or to the caller. */
struct hc_row {
    const char *name; /* "case" in the file */
    const char *backend;
    enum hc_verdict verdict;
    int64_t checked;
    int64_t wrong;     /* of these, those that do not hold; absent if that is 0 */
    int64_t looked_at; /* elements compared with MPFR, of looked_of; absent if that is 0 */
    int64_t looked_of;
    int64_t special;
    struct hc_largest largest; /* absent if no call was judged */
    uint64_t digest; /* of the bits that the kernels gave (check/digest.h); absent if that is 0 */
    int digest_bits; /* how many upper bits of it are known: 64, fewer in a baseline's rows, or 0 */
    int digits;      /* decimal digits to which error and bound were rounded up; 0: not rounded */
    double error;
    double bound;
    const char *unit;
    double implementation; /* NaN: not measured; absent from the file then */
    double format;
    double line;
    uint64_t seed;
    double seconds;
    const char *note;
    const char *repro; /* the command that reproduces the result */
    json_t *pictures;  /* NULL: none; check/record/picture.h */
    json_t *spread;    /* NULL: none; check/record/spread.h */
    json_t *exhibits;  /* NULL: none; check/record/exhibits.h */
    int part;          /* reading: which of the record's parts it belongs to */
};

/* The row's verdict, but FAIL if the file says PASS and the error is not within the bound, or some
   comparisons do not hold. */
enum hc_verdict hc_row_verdict(const struct hc_row *row);

enum hc_bits { HC_BITS_UNKNOWN, HC_BITS_SAME, HC_BITS_OTHER };

/* Whether the kernels of both results gave the same bits, as far as both digests are known. */
enum hc_bits hc_row_compare_bits(const struct hc_row *was, const struct hc_row *is);

/* Whether the result holds bits alone: kernels ran, but nothing was claimed (run --bits-only). */
bool hc_row_is_bits(const struct hc_row *row);

/* A row without notes and measures beside its error and bound. */
struct hc_row hc_row_claim(const char *name, const char *backend, enum hc_verdict verdict,
                           double error, double bound, const char *unit);

/* The row of a result, with nothing copied. */
struct hc_row hc_row_of(const struct hc_result *result, const char *repro);

/* A new document with the environment and no results; json_decref frees it. More members may be set
   beside "results"; readers ignore those that they do not know. */
json_t *hc_record_new(void);
void hc_record_add(json_t *record, const struct hc_row *row);

/* Replaces the file in one step (op/output.h). HC_IO; HC_NO_MEMORY if any part of the document
   could not be made. */
enum hc_status hc_record_write(const json_t *record, const char *path);

struct hc_record_part; /* check/record/parts.h */

/* A record that was read, and is well-formed. */
struct hc_record {
    json_t *document;
    const json_t *environment;
    const json_t *backends; /* check/record/facts.h; NULL: none */
    struct hc_record_part *parts;
    int part_count;      /* at least one: a record that was not merged is its own part */
    struct hc_row *rows; /* by name and backend */
    int count;
};

/* HC_IO. HC_INVALID, with a line that names the file and what is wrong with it: it is not JSON
   (it was cut short, say), it has another schema, a member is missing or of another type, an
   error, bound or count is negative, or a result is duplicated. */
enum hc_status hc_record_read(const char *path, struct hc_record *record);

/* The same for a document in memory, which messages call `name`. Takes the reference. */
enum hc_status hc_record_of(const char *name, json_t *document, struct hc_record *record);
void hc_record_free(struct hc_record *record);

/* The row of a case on a backend, or NULL. */
const struct hc_row *hc_record_find(const struct hc_record *record, const char *name,
                                    const char *backend);

#endif
