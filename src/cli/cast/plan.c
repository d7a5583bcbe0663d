#include "cli/cast/plan.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "op/typed.h"

const char *const hc_cast_kinds[] = {"all", "ties", "specials", "every", NULL};

const char *const hc_cast_sources[] = {"fp32", "fp16", "bf16", NULL};

const char *const hc_cast_directions[] = {"nearest", "toward-zero", "upward", "downward", NULL};

static const char gen_beginning[] = "# halfcheck gen cast/";
static const char vectors_beginning[] = "# halfcheck vectors --format ";

static bool is_target(int format)
{
    return hc_formats[format].bytes == 1 && !hc_is_integer(&hc_formats[format]);
}

static int no_format(const char *command, const char *name)
{
    /* PyTorch and ml_dtypes say float8_e4m3fn for OCP's e4m3, where AMD's is nearer by letters. */
    const char *said = strncmp(name, "float8_", 7) == 0 ? name + 7 : name;
    said = strcmp(said, "e4m3fn") == 0 ? hc_formats[HC_E4M3].name : said;
    struct hc_nearest nearest = hc_nearest_to(said, strlen(said));
    for (int f = 0; f < HC_FORMAT_COUNT; f++)
        if (is_target(f))
            hc_nearest_try(&nearest, hc_formats[f].name);
    return hc_complain("%s: '%s' is no format of one byte%s; see: halfcheck list formats", command,
                       name, hc_nearest_hint(&nearest));
}

/* Refuses a plan that has more inputs than can be listed. */
static int check_kind(const char *command, const struct hc_cast_plan *plan)
{
    if (plan->kind == HC_CAST_EVERY && plan->from == HC_FP32)
        return hc_complain("%s: --kind every is for --from fp16 and bf16: fp32 has 2^32 inputs",
                           command);
    return HC_AS_CLAIMED;
}

int hc_cast_plan_for(const char *command, const char *format, const struct hc_cast_options *options,
                     struct hc_cast_plan *plan)
{
    const char *from = hc_cast_sources[options->from < 0 ? 0 : options->from];
    *plan = (struct hc_cast_plan){
        .to = hc_format_by_name(format),
        .from = hc_format_by_name(from),
        .kind = options->kind < 0 ? HC_CAST_ALL : (enum hc_cast_kind)options->kind,
        .direction = options->direction < 0 ? HC_NEAREST : (enum hc_direction)options->direction,
        .saturate = options->saturate};
    if (plan->to == HC_FORMAT_COUNT || !is_target((int)plan->to))
        return no_format(command, format);
    return check_kind(command, plan);
}

void hc_cast_plan_line(const struct hc_cast_plan *plan, bool vectors, char line[HC_CAST_LINE])
{
    int at = snprintf(line, HC_CAST_LINE, "%s%s --from %s --kind %s",
                      vectors ? vectors_beginning : gen_beginning, hc_formats[plan->to].name,
                      hc_formats[plan->from].name, hc_cast_kinds[plan->kind]);
    if (plan->direction != HC_NEAREST)
        at += snprintf(line + at, (size_t)(HC_CAST_LINE - at), " --round %s",
                       hc_cast_directions[plan->direction]);
    if (plan->saturate)
        (void)snprintf(line + at, (size_t)(HC_CAST_LINE - at), " --saturate");
}

static bool begins(const char *line, const char *beginning)
{
    return strncmp(line, beginning, strlen(beginning)) == 0;
}

bool hc_cast_plan_is(const char *line)
{
    return begins(line, gen_beginning) || begins(line, vectors_beginning);
}

/* There are few plans: the line is that of one of them, or of none. */
int hc_cast_plan_read(const char *line, struct hc_cast_plan *plan)
{
    bool vectors = begins(line, vectors_beginning);
    char again[HC_CAST_LINE];
    size_t length = strcspn(line, "\r\n");
    for (int to = 0; to < HC_FORMAT_COUNT; to++)
        for (int from = 0; hc_cast_sources[from] && is_target(to); from++)
            for (int rest = 0; rest < HC_CAST_KIND_COUNT * HC_DIRECTION_COUNT * 2; rest++) {
                *plan = (struct hc_cast_plan){
                    .to = (enum hc_format)to,
                    .from = hc_format_by_name(hc_cast_sources[from]),
                    .kind = (enum hc_cast_kind)(rest % HC_CAST_KIND_COUNT),
                    .direction =
                        (enum hc_direction)(rest / HC_CAST_KIND_COUNT % HC_DIRECTION_COUNT),
                    .saturate = rest / HC_CAST_KIND_COUNT / HC_DIRECTION_COUNT != 0};
                hc_cast_plan_line(plan, vectors, again);
                if (strlen(again) == length && strncmp(line, again, length) == 0)
                    return check_kind("verify", plan);
            }
    return hc_complain("verify: this is not a first line of gen or vectors: '%.*s'", (int)length,
                       line);
}

int hc_cast_digits(enum hc_format format)
{
    return 2 * hc_formats[format].bytes;
}

bool hc_cast_is_agreed(const struct hc_cast_plan *plan, uint32_t input)
{
    const struct hc_format_info *to = &hc_formats[plan->to];
    double x = hc_decode(plan->from, input);
    if (isnan(x))
        return to->special != HC_SPECIAL_NONE;
    return (to->sign || !signbit(x)) && (to->special != HC_SPECIAL_E8M0 || x != 0);
}

uint32_t hc_cast_want(const struct hc_cast_plan *plan, uint32_t input)
{
    double x = hc_decode(plan->from, input);
    return (uint32_t)(plan->saturate ? hc_encode_saturated(plan->to, x, 0, plan->direction)
                                     : hc_encode(plan->to, x, 0, plan->direction));
}

bool hc_cast_same(const struct hc_cast_plan *plan, uint32_t want, uint32_t got)
{
    uint32_t beyond = got >> hc_formats[plan->to].bits;
    return want == got ||
           (!beyond && isnan(hc_decode(plan->to, want)) && isnan(hc_decode(plan->to, got)));
}
