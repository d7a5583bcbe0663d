#include "cli/run/shard.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/record.h"

/* The cases that take longest, by level and name; and, without names, what each other one takes.
   .ci/seconds makes the file from records. */
static const struct {
    enum hc_level level;
    double seconds;
    const char *backend;
    const char *name;
} measured[] = {
#include "cli/run/seconds.def"
};

enum { MEASURED = sizeof measured / sizeof measured[0] };

static struct hc_record times;

static bool read_number(const char **at, int *number)
{
    char *end;
    long value = strtol(*at, &end, 10);
    bool read = end != *at && **at >= '0' && **at <= '9' && value >= 1 && value <= HC_MAX_SHARDS;
    *at = end;
    *number = read ? (int)value : 0;
    return read;
}

enum hc_status hc_shard_read(const char *text, struct hc_shard *shard)
{
    const char *at = text;
    bool read = read_number(&at, &shard->index) && *at++ == '/' && read_number(&at, &shard->of) &&
                !*at && shard->index <= shard->of;
    return read ? HC_OK
                : hc_fail(HC_INVALID,
                          "--shard wants I/N with I from 1 to N and N up to %d, not '%s'",
                          HC_MAX_SHARDS, text);
}

enum hc_status hc_shard_read_times(const char *path)
{
    enum hc_status status = hc_record_read(path, &times);
    if (status == HC_OK && times.count == 0)
        status = hc_fail(HC_INVALID, "--times: %s has no results", path);
    return status;
}

double hc_shard_seconds(const char *name, const char *backend, enum hc_level level)
{
    double seconds = 0;
    double others = 0;
    double least = HUGE_VAL; /* of those that are listed */
    bool known = false;      /* the backend was measured */
    const struct hc_row *row = hc_record_find(&times, name, backend);
    if (row)
        return row->seconds;
    for (int i = 0; i < MEASURED && !times.count; i++) {
        if (measured[i].level != level)
            continue;
        if (!measured[i].name[0])
            others = measured[i].seconds;
        else
            least = fmin(least, measured[i].seconds);
        known = known || strcmp(measured[i].backend, backend) == 0;
        if (strcmp(measured[i].name, name) != 0)
            continue;
        if (strcmp(measured[i].backend, backend) == 0)
            return measured[i].seconds;
        seconds = fmax(seconds, measured[i].seconds);
    }
    /* What is long on another backend, but was too short here to be listed. */
    if (seconds > 0 && known)
        return fmin(seconds, least);
    return seconds > 0 ? seconds : others;
}
