#include "cli/cast/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/lines.h"
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
    (void)snprintf(line, HC_CAST_LINE, "%s%s --from %s --kind %s",
                   vectors ? vectors_beginning : gen_beginning, hc_formats[plan->to].name,
                   hc_formats[plan->from].name, hc_cast_kinds[plan->kind]);
    if (plan->direction != HC_NEAREST)
        hc_append(line, HC_CAST_LINE, " --round %s", hc_cast_directions[plan->direction]);
    if (plan->saturate)
        hc_append(line, HC_CAST_LINE, " --saturate");
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

/* Reads a word of up to `digits` hexadecimal digits. */
static bool read_bits(const char *word, int digits, uint32_t *bits)
{
    word += 2 * (word[0] == '0' && (word[1] == 'x' || word[1] == 'X'));
    size_t length = strspn(word, "0123456789abcdefABCDEF");
    *bits = (uint32_t)strtoul(word, NULL, 16);
    return length > 0 && word[length] == '\0' && length <= (size_t)digits;
}

const char *hc_cast_answer_read(const struct hc_cast_plan *plan, const char *line, uint32_t *input,
                                uint32_t *code)
{
    char word[2][24];
    int end = 0;
    if (sscanf(line, "%23s %23s %n", word[0], word[1], &end) != 2 || line[end] != '\0')
        return "the line is not INPUT CODE";
    if (!read_bits(word[0], hc_cast_digits(plan->from), input))
        return "INPUT is not the bits of a number in hexadecimal digits";
    if (!read_bits(word[1], 2, code))
        return "CODE is not one byte in hexadecimal digits";
    return NULL;
}

/* Which inputs show a wrong conversion. Between two neighbours of the format, from 0 on to one step
   beyond its largest number, these matter: the neighbours, the midpoint, the quarter points, and
   for each of them the inputs directly before and behind. Next to a midpoint lie numbers that a
   conversion by way of fp16, bf16 or tf32 would round onto it first: up to half of that format's
   ulp away. A sweep over all exponents of the source with some fractions shows what happens far
   away from the format's own range. */

struct set {
    const struct hc_cast_plan *plan;
    uint32_t *bits;
    size_t count, room;
    bool lost; /* no memory */
};

static uint32_t sign_of(const struct set *s)
{
    return (uint32_t)1 << (hc_formats[s->plan->from].bits - 1);
}

static void add_one(struct set *s, uint32_t bits)
{
    if (s->lost || !hc_cast_is_agreed(s->plan, bits))
        return;
    if (s->count == s->room) {
        size_t room = s->room ? 2 * s->room : 1024;
        uint32_t *more = realloc(s->bits, room * sizeof *more);
        if (!more) {
            s->lost = true;
            return;
        }
        s->bits = more;
        s->room = room;
    }
    s->bits[s->count++] = bits;
}

static void add_both_signs(struct set *s, uint32_t magnitude)
{
    add_one(s, magnitude);
    add_one(s, magnitude | sign_of(s));
}

/* A positive number, or what is next to it below and above; and one more on each side. */
static void around(struct set *s, double x)
{
    uint32_t below = (uint32_t)hc_encode(s->plan->from, x, 0, HC_TOWARD_ZERO);
    int last = hc_decode(s->plan->from, below) == x ? 1 : 2;
    for (int i = below > 0 ? -1 : 0; i <= last; i++)
        add_both_signs(s, below + (uint32_t)i);
}

/* Where a conversion by way of another format stops to round to this place. */
static void around_by_way_of(struct set *s, enum hc_format way, double x)
{
    uint64_t at = hc_encode(way, x, 0, HC_TOWARD_ZERO);
    uint64_t step = (uint64_t)1 << hc_format_shift(&hc_formats[way]);
    double here = hc_decode(way, at);
    double next = hc_decode(way, at + step);
    around(s, next);
    around(s, (here + next) / 2);
    if (at >= step) {
        double before = hc_decode(way, at - step);
        around(s, before);
        around(s, (before + here) / 2);
    }
}

static void between(struct set *s, double low, double high)
{
    static const enum hc_format ways[] = {HC_FP16, HC_BF16, HC_TF32};
    double middle = (low + high) / 2;
    around(s, middle);
    if (s->plan->kind != HC_CAST_ALL)
        return;
    around(s, low);
    around(s, high);
    around(s, (low + middle) / 2);
    around(s, (middle + high) / 2);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        around_by_way_of(s, ways[i], middle);
}

static double ulp_at_most(const struct hc_cast_plan *plan)
{
    const struct hc_format_info *to = &hc_formats[plan->to];
    return ldexp(1, to->emax - to->precision + 1);
}

static void add_neighbours(struct set *s)
{
    double most = hc_format_max(s->plan->to);
    double low = 0;
    for (uint32_t code = 0; low < most; code++) {
        double high = hc_decode(s->plan->to, code);
        if (high > low)
            between(s, low, high);
        low = high;
    }
    between(s, most, most + ulp_at_most(s->plan));
}

/* Adds the source's 0, 1, subnormals' ends, largest number, infinity and NaNs (a quiet one, a
   signalling one, payloads at either end), and the target's ends and where its overflow begins. */
static void add_specials(struct set *s)
{
    const struct hc_format_info *from = &hc_formats[s->plan->from];
    const struct hc_format_info *to = &hc_formats[s->plan->to];
    uint32_t quiet = (uint32_t)1 << (from->precision - 2);
    uint32_t infinity = (sign_of(s) - 1) & ~(2 * quiet - 1);
    const uint32_t bits[] = {0,
                             1,
                             quiet,
                             2 * quiet - 1,
                             2 * quiet,
                             (uint32_t)hc_encode(s->plan->from, 1, 0, HC_NEAREST),
                             infinity - 1,
                             infinity,
                             infinity | quiet,
                             infinity | 1,
                             infinity | (quiet - 1),
                             infinity | quiet >> 1,
                             sign_of(s) - 1};
    double most = hc_format_max(s->plan->to);
    double tiny = hc_format_tiny(s->plan->to);
    double normal = tiny;
    for (int i = 1; i < to->precision; i++)
        normal *= 2;
    const double points[] = {tiny / 2,
                             tiny,
                             1.5 * tiny,
                             normal - tiny / 2,
                             normal,
                             most,
                             most + ulp_at_most(s->plan) / 2,
                             most + ulp_at_most(s->plan)};
    for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++)
        add_both_signs(s, bits[i]);
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
        around(s, points[i]);
}

/* Every exponent, with fractions of all zeros, all ones, and some between. */
static void add_exponents(struct set *s)
{
    int fraction = hc_formats[s->plan->from].precision - 1;
    uint32_t exponents = (sign_of(s) - 1) >> fraction;
    for (uint32_t e = 0; e <= exponents; e++)
        for (uint32_t f = 0; f < 16; f += 5) {
            add_both_signs(s, e << fraction | f << (fraction - 4));
            add_both_signs(s, e << fraction | f << (fraction - 4) |
                                  (((uint32_t)1 << (fraction - 4)) - 1));
        }
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

uint32_t *hc_cast_inputs(const struct hc_cast_plan *plan, size_t *count)
{
    struct set s = {.plan = plan};
    if (plan->kind == HC_CAST_EVERY)
        for (uint32_t i = 0; i < sign_of(&s); i++)
            add_both_signs(&s, i);
    if (plan->kind == HC_CAST_ALL || plan->kind == HC_CAST_TIES)
        add_neighbours(&s);
    if (plan->kind == HC_CAST_ALL || plan->kind == HC_CAST_SPECIALS)
        add_specials(&s);
    if (plan->kind == HC_CAST_ALL)
        add_exponents(&s);
    if (s.lost || !s.bits) {
        free(s.bits);
        return NULL;
    }
    qsort(s.bits, s.count, sizeof *s.bits, ascending);
    *count = 0;
    for (size_t i = 0; i < s.count; i++)
        if (i == 0 || s.bits[i] != s.bits[*count - 1])
            s.bits[(*count)++] = s.bits[i];
    return s.bits;
}
