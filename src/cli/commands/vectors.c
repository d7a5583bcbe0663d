#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cast/plan.h"
#include "cli/command.h"
#include "num/sha256.h"

const struct hc_command hc_command_vectors;

static void print_nans(const struct hc_cast_plan *plan)
{
    printf("# columns: bits of the input, its code, both in hexadecimal digits");
    const char *before = "; of a NaN any of these is right: ";
    for (uint32_t code = 0; code < (uint32_t)1 << hc_formats[plan->to].bits; code++)
        if (hc_decode(plan->to, code) != hc_decode(plan->to, code)) {
            printf("%s%02" PRIx32, before, code);
            before = " ";
        }
    puts("");
}

static int print_vectors(const struct hc_cast_plan *plan)
{
    char line[HC_CAST_LINE];
    char sum[HC_SHA256_TEXT];
    struct hc_sha256 hash;
    size_t count = 0;
    uint32_t *inputs = hc_cast_inputs(plan, &count);
    if (!inputs)
        return hc_complain("vectors: no memory for the inputs");
    hc_cast_plan_line(plan, true, line);
    puts(line);
    print_nans(plan);
    hc_sha256_start(&hash);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(line, sizeof line, "%0*" PRIx32 " %02" PRIx32 "\n",
                       hc_cast_digits(plan->from), inputs[i], hc_cast_want(plan, inputs[i]));
        (void)fputs(line, stdout);
        hc_sha256_add(&hash, line, strlen(line));
    }
    hc_sha256_end(&hash, sum);
    printf("# %zu lines; sha256 of the lines without #: %s\n", count, sum);
    free(inputs);
    return HC_AS_CLAIMED;
}

static int run_vectors(int argc, char **argv)
{
    const char *format = NULL;
    struct hc_cast_options chosen = {.from = -1, .kind = -1, .direction = -1};
    const struct hc_option options[] = {
        {.name = "format",
         .value = "FORMAT",
         .text = &format,
         .help = "the format of the codes: e4m3, e5m2, e4m3fnuz, e2m1, ... (required)"},
        {.name = "kind",
         .value = "K",
         .choice = &chosen.kind,
         .choices = hc_cast_kinds,
         .help = "which inputs: all, ties, specials or every (default all)"},
        {.name = "from",
         .value = "FORMAT",
         .choice = &chosen.from,
         .choices = hc_cast_sources,
         .help = "the format of the inputs: fp32, fp16 or bf16 (default fp32)"},
        {.name = "round",
         .value = "DIRECTION",
         .choice = &chosen.direction,
         .choices = hc_cast_directions,
         .help = "nearest, toward-zero, upward or downward (default nearest, ties to even)"},
        {.name = "saturate",
         .flag = &chosen.saturate,
         .help = "what is too large, and infinity, become the largest number"},
        {0},
    };
    struct hc_cast_plan plan;
    int words;
    int status;
    if (!hc_read_options(&hc_command_vectors, options, argc, argv, &words, &status))
        return status;
    if (words > 0)
        return hc_complain("vectors takes options alone, not '%s'", argv[1]);
    if (!format)
        return hc_complain("vectors: --format is missing; see: halfcheck list formats");
    status = hc_cast_plan_for("vectors", format, &chosen, &plan);
    return status == HC_AS_CLAIMED ? print_vectors(&plan) : status;
}

const struct hc_command hc_command_vectors = {
    .name = "vectors",
    .usage = "--format FORMAT [options]",
    .summary = "print conformance vectors of a conversion to a format below half",
    .text =
        "Prints inputs and the codes that they become, one pair a line, in hexadecimal digits:\n\n"
        "  INPUT CODE\n\n"
        "Lines that begin with # say what is printed, which codes are NaN, and at the end how\n"
        "many lines there are, with their SHA-256:\n\n"
        "  halfcheck vectors --format e4m3 >v; grep -v '^#' v | sha256sum\n\n"
        "`all` has every number of the format and every midpoint, the inputs next to them,\n"
        "those that rounding by way of another format gets wrong, the ends of all ranges,\n"
        "infinities and NaNs, and all exponents, with both signs. `ties` and `specials` are\n"
        "parts of that, and `every` is every number of fp16 or bf16.\n\n"
        "They leave out what tools do not agree on: a NaN in a format without one, a negative\n"
        "number in a format without a sign, and 0 in e8m0.\n\n"
        "Without --saturate, overflow and infinity become infinity, or NaN if the format has no\n"
        "infinity, or the largest number if it has neither. Overflow is what is beyond the\n"
        "largest number after rounding. With --round toward-zero, and for a negative number\n"
        "upward or a positive one downward, a finite number beyond the largest becomes the\n"
        "largest, as in IEEE 754; an infinity becomes what it becomes by rounding to nearest.\n\n"
        "To have a conversion judged, and its mistake named, use halfcheck gen and verify.",
    .run = run_vectors,
};
