#include "check/record/spread.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "num/ulp.h"

/* The bin of an error: 0 for 0; 1 up to a half; then each up to twice as much. */
static int bin_of(double ulps)
{
    int exponent;
    if (ulps == 0)
        return 0;
    if (ulps <= 0.5)
        return 1;
    double fraction = frexp(ulps, &exponent); /* ulps = fraction 2^exponent, 0.5 <= fraction < 1 */
    int bin = exponent + 1 + (fraction > 0.5);
    return bin < HC_ULP_BINS ? bin : HC_ULP_BINS - 1;
}

void hc_spread_count(struct hc_spread *s, enum hc_format format, double want, double error,
                     double input)
{
    if (!isfinite(want) || !isfinite(error) || fabs(want) > hc_format_max(format))
        return;
    double ulps = error / hc_ulp(format, want);
    s->ulps[bin_of(ulps)]++;
    if (input == 0 || !isfinite(input))
        return;
    int bin = (ilogb(input) - HC_INPUT_LEAST) / HC_INPUT_STEP;
    bin = ilogb(input) < HC_INPUT_LEAST ? 0 : bin < HC_INPUT_BINS ? bin : HC_INPUT_BINS - 1;
    s->input[bin].seen = true;
    s->input[bin].ulps = fmax(s->input[bin].ulps, ulps);
}

json_t *hc_spread_write(const struct hc_spread *s)
{
    char ulps[HC_ULP_BINS * 21 + 1];
    char inputs[HC_INPUT_BINS * 40 + 1] = "";
    size_t used = 0;
    int last = HC_ULP_BINS - 1;
    while (last >= 0 && s->ulps[last] == 0)
        last--;
    if (last < 0)
        return NULL;
    for (int b = 0; b <= last; b++)
        used += (size_t)snprintf(ulps + used, sizeof ulps - used, "%s%" PRId64, b ? " " : "",
                                 s->ulps[b]);
    used = 0;
    for (int b = 0; b < HC_INPUT_BINS; b++)
        if (s->input[b].seen)
            used +=
                (size_t)snprintf(inputs + used, sizeof inputs - used, "%s%d:%a", used ? " " : "",
                                 HC_INPUT_LEAST + b * HC_INPUT_STEP, s->input[b].ulps);
    json_t *member = json_pack("{s:s}", "ulps", ulps);
    if (used > 0)
        (void)json_object_set_new(member, "inputs", json_string(inputs));
    return member;
}

/* Reads the texts into `s`; returns what is wrong with them, or NULL. */
static const char *read(struct hc_spread *s, const json_t *member)
{
    const char *ulps = json_string_value(json_object_get(member, "ulps"));
    const char *inputs = json_string_value(json_object_get(member, "inputs"));
    char *end;
    int bin = 0;
    if (!ulps)
        return "\"spread\" has no text \"ulps\"";
    for (; *ulps; ulps = end) {
        long long n = strtoll(ulps, &end, 10);
        if (end == ulps || n < 0 || bin == HC_ULP_BINS || INT64_MAX - s->ulps[bin] < n)
            return "\"ulps\" is not a list of counts";
        s->ulps[bin++] += n;
    }
    for (; inputs && *inputs; inputs = end) {
        long exponent = strtol(inputs, &end, 10);
        long at = exponent - HC_INPUT_LEAST;
        if (end == inputs || *end != ':' || at % HC_INPUT_STEP != 0 || at < 0 ||
            at / HC_INPUT_STEP >= HC_INPUT_BINS)
            return "\"inputs\" is not a list of exponents and errors";
        const char *number = end + 1;
        double error = strtod(number, &end);
        if (end == number || !(error >= 0) || (*end && *end != ' '))
            return "\"inputs\" is not a list of exponents and errors";
        s->input[at / HC_INPUT_STEP].seen = true;
        s->input[at / HC_INPUT_STEP].ulps = fmax(s->input[at / HC_INPUT_STEP].ulps, error);
    }
    return NULL;
}

const char *hc_spread_wrong(const json_t *member)
{
    struct hc_spread s = {0};
    return read(&s, member);
}

void hc_spread_add(struct hc_spread *spread, const json_t *member)
{
    (void)read(spread, member);
}
