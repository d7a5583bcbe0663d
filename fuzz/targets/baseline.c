/* The text of a baseline. */
#include "check/record/baseline.h"

#include "fuzz.h"

static void fuzz_baseline(const uint8_t *data, size_t size)
{
    json_t *document = NULL;
    if (hc_baseline_parse("fuzz", (const char *)data, size, &document) == HC_OK)
        json_decref(document);
}

const struct hc_fuzz_target hc_fuzz_baseline = {"baseline", fuzz_baseline};
