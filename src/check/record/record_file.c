/* Reading the file of a record, which is JSON or a baseline. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/baseline.h"
#include "check/record/record.h"

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
