/* Reading a protocol. */
#include "cli/protocol/protocol.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/typed.h"

enum { FILE_BYTES = 1 << 16 };

const char *const hc_claim_names[HC_CLAIMS] = {"equivalent", "worse", "lost", "open"};

/* Where a line of the file stands, and what is left of it. */
struct line {
    const char *path;
    int number;
    const char *name;
    char *rest;
};

typedef enum hc_status take_line(struct hc_protocol *p, struct line *line);

static const char blanks[] = " \t\r";

static char *next_word(struct line *line)
{
    char *word = line->rest + strspn(line->rest, blanks);
    char *end = word + strcspn(word, blanks);
    line->rest = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

static enum hc_status refuse_line(const struct line *line, const char *what)
{
    return hc_fail(HC_INVALID, "%s:%d: %s %s", line->path, line->number, line->name, what);
}

/* What is left of the line, without blanks around it. */
static enum hc_status take_text(struct line *line, char *text, size_t bytes)
{
    char *from = line->rest + strspn(line->rest, blanks);
    size_t length = strlen(from);
    while (length > 0 && strchr(blanks, from[length - 1]))
        length--;
    if (length == 0)
        return refuse_line(line, "has nothing behind it");
    if (length >= bytes)
        return refuse_line(line, "has too long a text behind it");
    for (size_t i = 0; i < length; i++)
        if (iscntrl((unsigned char)from[i]))
            return refuse_line(line, "has a control character behind it");
    memcpy(text, from, length);
    text[length] = '\0';
    line->rest = from + length;
    return HC_OK;
}

static bool read_real(const char *word, double least, double most, double *value)
{
    if (!isdigit((unsigned char)word[0]))
        return false;
    char *end;
    *value = strtod(word, &end);
    return *value >= least && *value <= most && *end == '\0';
}

static enum hc_status take_real(struct line *line, double least, double most, double *value)
{
    char what[100];
    (void)snprintf(what, sizeof what, "takes a number from %g to %g", least, most);
    return read_real(next_word(line), least, most, value) ? HC_OK : refuse_line(line, what);
}

static enum hc_status take_count(struct line *line, int least, int most, int *value)
{
    double real = 0;
    char what[100];
    (void)snprintf(what, sizeof what, "takes a whole number from %d to %d", least, most);
    bool good = read_real(next_word(line), least, most, &real) && real == floor(real);
    *value = good ? (int)real : 0;
    return good ? HC_OK : refuse_line(line, what);
}

static enum hc_status question(struct hc_protocol *p, struct line *l)
{
    return take_text(l, p->question, sizeof p->question);
}

static enum hc_status data(struct hc_protocol *p, struct line *l)
{
    const char *kind = next_word(l);
    p->synthetic = strcmp(kind, "synthetic") == 0;
    if (p->synthetic)
        return take_count(l, 1, 5000, &p->images);
    p->text = strcmp(kind, "text") == 0;
    return p->text || strcmp(kind, "cifar10") == 0
               ? HC_OK
               : refuse_line(l, "is cifar10, synthetic IMAGES or text");
}

static enum hc_status classes(struct hc_protocol *p, struct line *l)
{
    enum hc_status status = take_text(l, p->classes, sizeof p->classes);
    if (strcmp(p->classes, "all") == 0)
        p->classes[0] = '\0';
    return status;
}

static enum hc_status network(struct hc_protocol *p, struct line *l)
{
    return take_text(l, p->network, sizeof p->network);
}

static enum hc_status epochs(struct hc_protocol *p, struct line *l)
{
    return take_count(l, 1, 10000, &p->epochs);
}

static enum hc_status batch(struct hc_protocol *p, struct line *l)
{
    return take_count(l, 2, 4096, &p->batch);
}

static enum hc_status lr(struct hc_protocol *p, struct line *l)
{
    return take_real(l, 1e-12, 1e6, &p->lr);
}

static enum hc_status set(struct hc_protocol *p, struct line *l)
{
    if (p->sets == HC_MAX_WORDS)
        return refuse_line(l, "stands there too often");
    return take_text(l, p->set[p->sets++], sizeof p->set[0]);
}

static enum hc_status measure(struct hc_protocol *p, struct line *l)
{
    return take_count(l, 1, 1000000, &p->measure);
}

static enum hc_status backend(struct hc_protocol *p, struct line *l)
{
    return take_text(l, p->backend, sizeof p->backend);
}

static enum hc_status seed(struct hc_protocol *p, struct line *l)
{
    int value;
    enum hc_status status = take_count(l, 0, 1000000000, &value);
    p->seed = (uint64_t)value;
    return status;
}

static enum hc_status margin(struct hc_protocol *p, struct line *l)
{
    return take_real(l, 1e-6, 100, &p->margin);
}

static enum hc_status level(struct hc_protocol *p, struct line *l)
{
    return take_real(l, 1e-6, 0.4, &p->plan.level);
}

static enum hc_status power(struct hc_protocol *p, struct line *l)
{
    return take_real(l, 0.01, 0.999999, &p->power);
}

static enum hc_status spread(struct hc_protocol *p, struct line *l)
{
    return take_real(l, 1e-6, 100, &p->spread);
}

static enum hc_status reach(struct hc_protocol *p, struct line *l)
{
    return take_real(l, 0, 100, &p->reach);
}

static enum hc_status looks(struct hc_protocol *p, struct line *l)
{
    do {
        int pairs;
        if (p->plan.looks == HC_MAX_LOOKS)
            return refuse_line(l, "has too many of them");
        enum hc_status status = take_count(l, 2, HC_MAX_LOOK_PAIRS, &pairs);
        if (status != HC_OK)
            return status;
        if (p->plan.looks > 0 && pairs <= p->plan.pairs[p->plan.looks - 1])
            return refuse_line(l, "must grow");
        p->plan.pairs[p->plan.looks++] = pairs;
        l->rest += strspn(l->rest, blanks);
    } while (*l->rest);
    return HC_OK;
}

static enum hc_status take_recipe(struct line *l, char recipe[HC_PROTOCOL_RECIPE])
{
    const char *word = next_word(l);
    if (word[0] == '\0' || strlen(word) >= HC_PROTOCOL_RECIPE)
        return refuse_line(l, "takes the name of a recipe");
    (void)snprintf(recipe, HC_PROTOCOL_RECIPE, "%s", word);
    return HC_OK;
}

static enum hc_status base(struct hc_protocol *p, struct line *l)
{
    return take_recipe(l, p->base);
}

static enum hc_status take_claim(struct line *l, enum hc_claim *claim)
{
    const char *word = next_word(l);
    int c = 0;
    while (c < HC_CLAIMS && strcmp(word, hc_claim_names[c]) != 0)
        c++;
    *claim = (enum hc_claim)c;
    return c < HC_CLAIMS ? HC_OK : refuse_line(l, "claims one of equivalent, worse, lost, open");
}

static enum hc_status arm(struct hc_protocol *p, struct line *l)
{
    if (p->arms == HC_MAX_ARMS)
        return refuse_line(l, "stands there too often");
    struct hc_protocol_arm *a = &p->arm[p->arms];
    const char *name = next_word(l);
    size_t plain = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");
    if (name[0] == '\0' || name[plain] != '\0' || plain >= sizeof a->name)
        return refuse_line(l, "takes a name of letters, digits and dashes, at most 31");
    for (int i = 0; i < p->arms; i++)
        if (strcmp(p->arm[i].name, name) == 0)
            return refuse_line(l, "has this name twice");
    (void)snprintf(a->name, sizeof a->name, "%s", name);
    enum hc_status status = take_recipe(l, a->recipe);
    if (status == HC_OK)
        status = take_claim(l, &a->claim);
    if (status != HC_OK)
        return status;
    l->rest += strspn(l->rest, blanks);
    if (l->rest[0] == '-' && strchr(blanks, l->rest[1]))
        (void)next_word(l);
    else if ((status = take_count(l, 1, HC_MAX_LOOK_PAIRS, &a->pairs)) != HC_OK)
        return status;
    a->stage = p->stages;
    p->arms++;
    return take_text(l, a->words, sizeof a->words);
}

static enum hc_status then(struct hc_protocol *p, struct line *l)
{
    if (p->arms == 0 || p->arm[p->arms - 1].stage < p->stages)
        return refuse_line(l, "has no arm above it");
    p->stages++;
    return HC_OK;
}

static const struct {
    const char *name;
    take_line *take;
    bool repeats;
    bool optional;
} rows[] = {
    {"question", question, false, false},
    {"data", data, false, false},
    {"classes", classes, false, true},
    {"network", network, false, false},
    {"epochs", epochs, false, false},
    {"batch", batch, false, false},
    {"lr", lr, false, false},
    {"set", set, true, true},
    {"measure", measure, false, true},
    {"backend", backend, false, true},
    {"seed", seed, false, false},
    {"margin", margin, false, false},
    {"level", level, false, false},
    {"power", power, false, false},
    {"spread", spread, false, false},
    {"reach", reach, false, true},
    {"looks", looks, false, false},
    {"base", base, false, false},
    {"arm", arm, true, false},
    {"then", then, true, true},
};

enum { ROWS = sizeof rows / sizeof *rows };

static enum hc_status take(struct hc_protocol *p, struct line *line, int seen[ROWS])
{
    struct hc_nearest nearest = hc_nearest_to(line->name, strlen(line->name));
    for (int r = 0; r < ROWS; r++) {
        hc_nearest_try(&nearest, rows[r].name);
        if (strcmp(line->name, rows[r].name) != 0)
            continue;
        if (seen[r]++ > 0 && !rows[r].repeats)
            return refuse_line(line, "stands there twice");
        enum hc_status status = rows[r].take(p, line);
        if (status == HC_OK && line->rest[strspn(line->rest, blanks)] != '\0')
            status = refuse_line(line, "has more behind it than it takes");
        return status;
    }
    return hc_fail(HC_INVALID, "%s:%d: a protocol has no '%.40s'%s", line->path, line->number,
                   line->name, hc_nearest_hint(&nearest));
}

/* What only the whole file shows. */
static enum hc_status check(struct hc_protocol *p, const char *path, const int seen[ROWS])
{
    for (int r = 0; r < ROWS; r++)
        if (!seen[r] && !rows[r].optional)
            return hc_fail(HC_INVALID, "%s: the line '%s' is missing", path, rows[r].name);
    int most = p->plan.pairs[p->plan.looks - 1];
    for (int a = 0; a < p->arms; a++) {
        if (p->arm[a].pairs > most)
            return hc_fail(HC_INVALID, "%s: arm %s has more pairs than the last look", path,
                           p->arm[a].name);
        p->arm[a].pairs = p->arm[a].pairs ? p->arm[a].pairs : most;
    }
    p->stages = p->arm[p->arms - 1].stage + 1;
    hc_sequential_plan(&p->plan);
    return HC_OK;
}

enum hc_status hc_protocol_parse(const char *path, const char *text, struct hc_protocol *p)
{
    int seen[ROWS] = {0};
    enum hc_status status = HC_OK;
    *p = (struct hc_protocol){.measure = 100, .backend = "host"};
    char *copy = strdup(text);
    if (!copy)
        return hc_fail(HC_NO_MEMORY, "%s: no memory for the protocol", path);
    struct line line = {.path = path};
    for (char *at = copy, *end; *at && status == HC_OK; at = end) {
        size_t length = strcspn(at, "\n");
        end = at + length + (at[length] == '\n');
        at[length] = '\0';
        at[strcspn(at, "#")] = '\0';
        line.number++;
        line.rest = at;
        line.name = next_word(&line);
        if (line.name[0])
            status = take(p, &line, seen);
    }
    free(copy);
    return status == HC_OK ? check(p, path, seen) : status;
}

enum hc_status hc_protocol_read(const char *path, struct hc_protocol *p)
{
    static char text[FILE_BYTES + 1];
    FILE *file = fopen(path, "r");
    if (!file)
        return hc_fail(HC_IO, "%s: %s", path, strerror(errno));
    size_t bytes = fread(text, 1, FILE_BYTES, file);
    bool failed = ferror(file) != 0;
    bool whole = bytes < FILE_BYTES;
    (void)fclose(file);
    text[bytes] = '\0';
    if (failed)
        return hc_fail(HC_IO, "%s: %s", path, strerror(errno));
    if (!whole || strlen(text) != bytes)
        return hc_fail(HC_INVALID, "%s: %s", path,
                       whole ? "it has a zero byte" : "it is too long for a protocol");
    return hc_protocol_parse(path, text, p);
}

struct hc_sequential hc_protocol_plan(const struct hc_protocol *p, int arm)
{
    struct hc_sequential plan = p->plan;
    int pairs = p->arm[arm].pairs;
    if (pairs == plan.pairs[plan.looks - 1])
        return plan;
    while (plan.looks > 0 && plan.pairs[plan.looks - 1] >= pairs)
        plan.looks--;
    if (pairs < 2)
        return plan;
    plan.pairs[plan.looks++] = pairs;
    hc_sequential_plan(&plan);
    return plan;
}
