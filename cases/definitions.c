#include "cases/definitions.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/registry.h"
#include "define/draw.h"
#include "define/judge.h"
#include "define/library.h"
#include "define/plain.h"

enum { MAX_NAME = 96 };

static const enum hc_format formats[] = {HC_FP32, HC_BF16, HC_FP16};

enum { FORMATS = sizeof formats / sizeof formats[0] };

/* Which families a row of sizes has, as bits, and from which level on. */
#define EACH (~0U)
#define SOME                                                                                       \
    (1U << HC_FAMILY_NORMAL | 1U << HC_FAMILY_WHOLE | 1U << HC_FAMILY_LOGNORMAL |                  \
     1U << HC_FAMILY_CANCELLING)

static const struct {
    unsigned families;
    enum hc_level level;
} rows[HC_SIZE_ROWS] = {
    [HC_SIZES_USUAL] = {EACH, HC_STANDARD},   [HC_SIZES_ONES] = {SOME, HC_STANDARD},
    [HC_SIZES_ODD] = {SOME, HC_EXHAUSTIVE},   [HC_SIZES_LONG] = {SOME, HC_EXHAUSTIVE},
    [HC_SIZES_TILES] = {SOME, HC_EXHAUSTIVE},
};

/* Behind the rows of sizes: the calls of all borders, one after the other. */
enum { BORDERS = HC_SIZE_ROWS };

/* A case of one definition. */
struct row {
    const char *text;
    enum hc_format format;
    int sizes; /* a row of sizes, or BORDERS */
    enum hc_family family;
    char name[MAX_NAME + 64];
    char title[MAX_NAME + 96];
    const char *path; /* of a text of somebody's own, or NULL */
    char source[MAX_NAME];
};

/* Texts of somebody's own. */
enum { MAX_OWN = 16 };

static struct {
    const char *pattern[MAX_OWN];
    char name[MAX_OWN][sizeof "def/" + HC_LONGEST_DEFINED_NAME];
    char *text[MAX_OWN];
    const char *path[MAX_OWN];
    int count;
} own;

static struct hc_freedoms allowed;
static bool is_allowed;

/* One call, with the memory of its check. */
struct subject {
    const char *text;
    struct hc_definition *definition;
    struct hc_instance instance;
    struct hc_defined_operand in[HC_MAX_DEFINED_TENSORS];
    struct hc_defined_operand out[HC_MAX_DEFINED_TENSORS];
    struct hc_defined_call call;
};

static enum hc_status plainly(const struct hc_defined_call *call)
{
    struct hc_instance instance = *(const struct hc_instance *)call->self;
    struct hc_tensor out[HC_MAX_DEFINED_TENSORS];
    for (int i = 0; i < call->inputs; i++)
        instance.input[i].data = call->in[i].tensor.data;
    for (int i = 0; i < call->outputs; i++)
        out[i] = call->out[i].tensor;
    return hc_define_plain(&instance, out, NULL);
}

/* The call's inputs and outputs. */
static enum hc_status prepare(struct hc_check *check, const struct row *row, struct subject *s,
                              const int64_t extent[HC_MAX_AXES])
{
    const struct hc_definition *d = s->definition;
    struct hc_instance *in = &s->instance;
    *in = (struct hc_instance){.definition = d, .io = row->format, .freedoms = hc_usual_freedoms};
    if (is_allowed)
        in->freedoms = allowed;
    hc_define_shape_inputs(in, extent);
    for (int i = 0; i < d->inputs; i++) {
        in->input[i] = hc_check_tensor(check, in->input[i]);
        s->in[i] = (struct hc_defined_operand){d->tensor[i].name, in->input[i]};
    }
    hc_define_fill_inputs(in, extent, row->family, hc_check_seed(check));
    enum hc_status status = hc_instance_bind(in);
    for (int i = 0; i < d->results && status == HC_OK; i++) {
        struct hc_tensor out = hc_check_tensor(check, hc_instance_tensor(in, d->result[i]));
        s->out[i] = (struct hc_defined_operand){d->tensor[d->result[i]].name, out};
    }
    s->call = (struct hc_defined_call){.name = d->name,
                                       .digest = d->digest,
                                       .text = d->text,
                                       .format = row->format,
                                       .inputs = d->inputs,
                                       .in = s->in,
                                       .outputs = d->results,
                                       .out = s->out,
                                       .plainly = plainly,
                                       .self = in};
    return status;
}

static void say_operand(struct hc_check *check, const char *what,
                        const struct hc_defined_operand *o)
{
    char shape[96] = "";
    for (int i = 0; i < o->tensor.rank; i++)
        (void)snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%lld",
                       i ? ", " : " [", (long long)o->tensor.shape[i]);
    hc_say(check, "%s  %s%s%s, %s", what, o->name, shape, shape[0] ? "]" : "",
           hc_formats[o->tensor.format].name);
}

/* The text's equations, and the call's tensors. */
static void tell(struct hc_check *check, const struct subject *s)
{
    const struct hc_definition *d = s->definition;
    for (int i = d->inputs; i < d->tensors; i++)
        hc_say(check, "%.*s", (int)strcspn(d->tensor[i].at, "\n"), d->tensor[i].at);
    for (int i = 0; i < d->inputs; i++)
        say_operand(check, i ? "       " : "inputs ", &s->in[i]);
    for (int i = 0; i < d->results; i++)
        say_operand(check, i ? "       " : "results", &s->out[i]);
}

/* What the judge finds of all results. */
struct finding {
    struct hc_defined_output output[HC_MAX_DEFINED_TENSORS];
    int64_t elements;
    int64_t judged;
    int64_t unbounded;
    int64_t wrong;
};

/* Judges the results by a definition whose inputs and results are those of the call: the text's own
   or a variant's. */
static enum hc_status find(struct hc_check *check, const struct subject *s,
                           const struct hc_definition *d, struct finding *f)
{
    struct hc_instance in = s->instance;
    in.definition = d;
    *f = (struct finding){.judged = 0};
    enum hc_status status = hc_instance_bind(&in);
    for (int i = 0; i < d->results && status == HC_OK; i++) {
        status = hc_define_judge(&in, d->result[i], &s->out[i].tensor,
                                 hc_check_level(check) == HC_EXHAUSTIVE, &f->output[i]);
        f->elements += f->output[i].elements;
        f->judged += f->output[i].judged;
        f->unbounded += f->output[i].unbounded;
        f->wrong += f->output[i].wrong;
    }
    return status;
}

/* Results that the text's own equations do not allow may keep to a variant, all of them to one. */
static enum hc_status find_variant(struct hc_check *check, const struct subject *s,
                                   struct finding *f)
{
    const struct hc_definition *d = s->definition;
    enum hc_status status = find(check, s, d, f);
    struct finding *of_variant = hc_check_memory(check, sizeof *of_variant);
    for (int i = 0; i < d->variants && status == HC_OK && f->wrong; i++) {
        struct hc_formula_error error;
        struct hc_definition *variant = hc_definition_read_variant(s->text, d->variant[i], &error);
        if (!variant)
            return hc_fail(HC_INVALID, "%s: %s", d->variant[i], error.what);
        status = find(check, s, variant, of_variant);
        hc_definition_free(variant);
        if (status == HC_OK && of_variant->wrong == 0) {
            *f = *of_variant;
            hc_remark(check, "all elements keep to the variant %s", d->variant[i]);
        }
    }
    return status;
}

static void claim(struct hc_check *check, const char *name, const struct hc_defined_output *output,
                  double line)
{
    const struct hc_defined_element *worst = &output->worst;
    double bound = worst->bound;
    if (output->judged == 0)
        return;
    /* The judge decides by rounding the ends of what is right; the claim repeats its word. */
    if (output->wrong && !(worst->error > bound))
        bound = nextafter(worst->error, 0);
    else if (!output->wrong && worst->error > bound)
        bound = worst->error;
    hc_claim_judged(check, &(struct hc_judged_elements){.what = name,
                                                        .checked = output->judged,
                                                        .of = output->elements,
                                                        .wrong = output->wrong,
                                                        .index = worst->index,
                                                        .want = worst->value.want.hi,
                                                        .got = worst->got,
                                                        .error = worst->error,
                                                        .bound = bound,
                                                        .line = line});
}

/* Whether the family's numbers have random bits below the last one of a sum. */
static bool is_random(enum hc_family family)
{
    return family == HC_FAMILY_NORMAL || family == HC_FAMILY_OFFSET || family == HC_FAMILY_FAR ||
           family == HC_FAMILY_SCALED;
}

/* Judges the results, and says how many elements no right order is bound to. */
static enum hc_status judge(struct hc_check *check, const struct subject *s, bool random)
{
    struct finding *f = hc_check_memory(check, sizeof *f);
    enum hc_status status = find_variant(check, s, f);
    for (int i = 0; i < s->definition->results && status == HC_OK; i++)
        claim(check, s->out[i].name, &f->output[i], random ? f->output[i].excess : (double)NAN);
    for (int i = 0; i < s->definition->results && status == HC_OK && random; i++)
        if (f->wrong == 0 && f->output[i].excess > 1)
            hc_mistrust(check,
                        "the errors of %s are %.3g times what independent roundings of sums "
                        "come to with a chance of one in a million",
                        s->out[i].name, f->output[i].excess);
    if (status == HC_OK && f->elements && hc_define_says_little(f->judged, f->unbounded))
        hc_mistrust(check, "right orders may overflow or differ in NaN in %lld of %lld elements",
                    (long long)f->unbounded, (long long)f->judged);
    else if (status == HC_OK && f->unbounded)
        hc_remark(check,
                  "not judged: %lld of %lld elements, where right orders may overflow or "
                  "differ in NaN",
                  (long long)f->unbounded, (long long)f->judged);
    return status;
}

/* Calls the backend once, with inputs of these sizes. */
static enum hc_status call_once(struct hc_check *check, const struct row *row, struct subject *s,
                                const int64_t extent[HC_MAX_AXES])
{
    enum hc_status status = prepare(check, row, s, extent);
    if (status != HC_OK)
        return status;
    tell(check, s);
    if (hc_do_defined(check, &s->call) == HC_OK && !hc_check_bits_only(check))
        status = judge(check, s, is_random(row->family) && row->sizes != BORDERS);
    return status;
}

/* The sizes of a row. The cases of a definition follow one another, and have them in common: what
   was found for the last one of this thread is kept. */
static enum hc_status sizes_of(const struct row *row, const struct hc_definition *d,
                               int64_t extent[HC_MAX_AXES])
{
    static _Thread_local struct {
        const char *text;
        int64_t extent[HC_MAX_AXES];
    } last[HC_SIZE_ROWS];
    enum hc_status status = HC_OK;
    if (last[row->sizes].text != row->text) {
        last[row->sizes].text = NULL;
        status = hc_define_sizes(d, (enum hc_size_row)row->sizes, last[row->sizes].extent);
        last[row->sizes].text = status == HC_OK ? row->text : NULL;
    }
    memcpy(extent, last[row->sizes].extent, sizeof last[row->sizes].extent);
    return status;
}

static void run(struct hc_check *check)
{
    const struct row *row = hc_check_case(check)->data;
    struct hc_formula_error error;
    struct subject *s = hc_check_memory(check, sizeof *s);
    int64_t extent[HC_MAX_AXES];
    enum hc_status status = HC_OK;
    s->text = row->text;
    s->definition = hc_definition_read(row->text, &error);
    if (!s->definition)
        status = hc_fail(HC_INVALID, "%s: %s", row->name, error.what);
    if (s->definition && row->path)
        hc_remark(check, "definition %s", s->definition->digest);
    if (s->definition && row->sizes != BORDERS)
        status = sizes_of(row, s->definition, extent);
    int borders = row->sizes == BORDERS && s->definition ? hc_define_borders(s->definition) : 0;
    for (int i = 0; i < borders && status == HC_OK; i++)
        if (hc_define_border(s->definition, i, extent))
            status = call_once(check, row, s, extent);
    if (row->sizes != BORDERS && status == HC_OK)
        status = call_once(check, row, s, extent);
    if (status != HC_OK)
        hc_check_failed(check);
    hc_definition_free(s->definition);
}

/* The table. */

static struct hc_case_table table;
static struct row *all_rows;
static struct hc_case *all_cases;
static bool added;

static void release(void)
{
    for (int i = 0; i < own.count; i++)
        free(own.text[i]);
    free(all_rows);
    free(all_cases);
}

static void append(const char *name, const char *text, const char *path, int f, int sizes,
                   int family)
{
    struct row *row = &all_rows[table.count];
    const char *of_sizes = sizes == BORDERS ? "borders" : hc_size_row_names[sizes];
    *row = (struct row){.text = text,
                        .path = path,
                        .format = formats[f],
                        .sizes = sizes,
                        .family = (enum hc_family)family};
    (void)snprintf(row->name, sizeof row->name, "def/%s/%s/%s/%s", name,
                   hc_formats[formats[f]].name, of_sizes, hc_family_names[family]);
    (void)snprintf(row->title, sizeof row->title,
                   "%s of %s %s numbers, %s sizes: within the bound of its definition", name,
                   hc_family_names[family], hc_formats[formats[f]].name, of_sizes);
    if (path)
        (void)snprintf(row->source, sizeof row->source, "%s", path);
    else
        (void)snprintf(row->source, sizeof row->source, "definitions/%s.op", name);
    bool quick = sizes == HC_SIZES_USUAL && family == HC_FAMILY_NORMAL;
    /* A search takes longer than what it is for; and a tile's border is the same in all formats. */
    bool rare = family == HC_FAMILY_ASKED || (sizes == BORDERS && formats[f] != HC_FP32);
    all_cases[table.count++] = (struct hc_case){.name = row->name,
                                                .title = row->title,
                                                .source = row->source,
                                                .level = quick              ? HC_QUICK
                                                         : rare             ? HC_EXHAUSTIVE
                                                         : sizes == BORDERS ? HC_STANDARD
                                                                            : rows[sizes].level,
                                                .run = run,
                                                .data = row,
                                                .defined = true};
}

static void append_all(const char *name, const char *text, const char *path)
{
    for (int f = 0; f < FORMATS; f++) {
        append(name, text, path, f, BORDERS, HC_FAMILY_NORMAL);
        for (int sizes = 0; sizes < HC_SIZE_ROWS; sizes++)
            for (int family = 0; family < HC_FAMILIES; family++)
                if (rows[sizes].families >> family & 1)
                    append(name, text, path, f, sizes, family);
    }
}

enum hc_status hc_cases_of_definitions(void)
{
    size_t texts = 0;
    if (added)
        return HC_OK;
    while (hc_library[texts].name)
        texts++;
    assert(texts > 0); /* the library is built in */
    size_t most = (texts + (size_t)own.count) * FORMATS * (HC_SIZE_ROWS * HC_FAMILIES + 1);
    all_rows = malloc(most * sizeof *all_rows);
    all_cases = malloc(most * sizeof *all_cases);
    if (!all_rows || !all_cases) {
        release();
        return hc_fail(HC_NO_MEMORY, "no memory for the cases of definitions");
    }
    (void)atexit(release);
    for (size_t i = 0; i < texts; i++)
        append_all(hc_library[i].name, hc_library[i].text, NULL);
    for (int i = 0; i < own.count; i++)
        append_all(own.name[i] + strlen("def/"), own.text[i], own.path[i]);
    table.cases = all_cases;
    added = true;
    return hc_cases_add(&table);
}

enum hc_status hc_definitions_own(const char *name, char *text, const char *path)
{
    int i = own.count;
    if (i == MAX_OWN)
        return hc_fail(HC_INVALID, "there are more than %d texts", MAX_OWN);
    (void)snprintf(own.name[i], sizeof own.name[i], "def/%s", name);
    for (int k = 0; k < i; k++)
        if (strcmp(own.name[k], own.name[i]) == 0)
            return hc_fail(HC_INVALID, "%s: the op %s is defined twice", path, name);
    if (hc_library_find(name))
        return hc_fail(HC_INVALID, "%s: the library has a definition %s: call the op otherwise",
                       path, name);
    own.text[i] = text;
    own.path[i] = path;
    own.pattern[i] = own.name[i];
    own.count++;
    return HC_OK;
}

void hc_definitions_allow(const struct hc_freedoms *freedoms)
{
    allowed = *freedoms;
    is_allowed = true;
}

const char *const *hc_definitions_own_patterns(int *count)
{
    *count = own.count;
    return own.pattern;
}

bool hc_is_of_definitions(const char *pattern)
{
    return strncmp(pattern, "def", 3) == 0 && !isalnum((unsigned char)pattern[3]);
}

enum hc_status hc_cases_for_patterns(const char *const *patterns, int count)
{
    for (int i = 0; i < count; i++)
        if (hc_is_of_definitions(patterns[i]))
            return hc_cases_of_definitions();
    return HC_OK;
}
