#include "check/record/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/memory_stream.h"
#include "op/output.h"

static void *(*allocate_for_json)(size_t bytes);
static bool failed;

static void *watched(size_t bytes)
{
    void *memory = allocate_for_json(bytes);
    failed = failed || !memory;
    return memory;
}

void hc_json_watch(void *(*allocate)(size_t bytes))
{
    allocate_for_json = allocate;
    failed = false;
    json_set_alloc_funcs(watched, free);
}

enum hc_status hc_json_status(void)
{
    return failed ? hc_fail(HC_NO_MEMORY, "no memory for a JSON document") : HC_OK;
}

json_t *hc_json_text(const char *text)
{
    json_t *string = json_string(text);
    if (string)
        return string;
    char clean[1024];
    size_t used = 0;
    for (; *text && used + 5 < sizeof clean; text++) {
        bool plain = (unsigned char)*text < 0x80;
        used += (size_t)snprintf(clean + used, sizeof clean - used, plain ? "%c" : "\\x%02x",
                                 (unsigned char)*text);
    }
    return json_stringn(clean, used);
}

json_t *hc_json_real(double value)
{
    return isnan(value) ? json_string("nan") : json_sprintf("%a", value);
}

enum hc_status hc_json_print(FILE *out, const json_t *document)
{
    enum hc_status status = hc_json_status();
    if (status != HC_OK)
        return status;
    bool printed = json_dumpf(document, out, JSON_INDENT(1)) == 0 && fputc('\n', out) != EOF;
    status = hc_json_status();
    if (status == HC_OK && !printed)
        status = hc_fail(HC_IO, "cannot write standard output: %s", strerror(errno));
    return status;
}

enum hc_status hc_json_write(const char *path, const json_t *document)
{
    bool whole = hc_json_status() == HC_OK && !hc_memory_lost();
    char *text = whole ? json_dumps(document, JSON_INDENT(1)) : NULL;
    if (!text || hc_json_status() != HC_OK) {
        free(text);
        return hc_fail(HC_NO_MEMORY, "no memory for the document %s", path);
    }
    size_t length = strlen(text);
    text[length] = '\n';
    enum hc_status status = hc_output_write(path, text, length + 1);
    free(text);
    return status;
}
