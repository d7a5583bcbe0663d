/* A record, as gate, merge, report and bounds read it. */
#include "check/record/record.h"

#include "fuzz.h"

static void fuzz_record(const uint8_t *data, size_t size)
{
    struct hc_record record;
    const char *path = hc_fuzz_file(data, size);
    if (path && hc_record_read(path, &record) == HC_OK)
        hc_record_free(&record);
}

const struct hc_fuzz_target hc_fuzz_record = {"record", fuzz_record};
