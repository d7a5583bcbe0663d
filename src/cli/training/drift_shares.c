#include "cli/training/drift_shares.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "check/record/json.h"
#include "cli/statistics/significance.h"
#include "cli/lines.h"
#include "op/text.h"
#include "train/drift/drift_shapley.h"

static const char *const quantities[HC_DRIFT_QUANTITIES] = {
    [HC_DRIFT_OF_GRADIENT] = "gradient", [HC_DRIFT_OF_WEIGHTS] = "weights"};

static const struct hc_drift_shares *of_seed(const struct hc_drift_report *r, int recipe, int q,
                                             int seed)
{
    return &r->shares[recipe + (ptrdiff_t)seed * r->c->recipes][q];
}

static void add_shares(struct hc_drift_shares *sum, const struct hc_drift_shares *more)
{
    sum->all += more->all;
    for (int i = 0; i < sum->players; i++) {
        sum->player[i].alone += more->player[i].alone;
        sum->player[i].share += more->player[i].share;
        for (int j = 0; j < sum->players; j++) {
            sum->pair[i][j] += more->pair[i][j];
            sum->interaction[i][j] += more->interaction[i][j];
        }
    }
}

static void divide(struct hc_drift_shares *sum, int n)
{
    sum->all /= n;
    for (int i = 0; i < sum->players; i++) {
        sum->player[i].alone /= n;
        sum->player[i].share /= n;
        for (int j = 0; j < sum->players; j++) {
            sum->pair[i][j] /= n;
            sum->interaction[i][j] /= n;
        }
    }
}

/* The one seed's; or the mean of those seeds whose squares are finite, with errors over seeds, and
   `steps` is how many they are. All seeds have the players of the first. */
static struct hc_drift_shares mean_of(const struct hc_drift_report *r, int recipe, int q)
{
    struct hc_drift_shares mean = *of_seed(r, recipe, q, 0);
    double *part = r->seeds > 1 ? calloc(2 * (size_t)r->seeds, sizeof *part) : NULL;
    if (!part)
        return mean;
    double *whole = part + r->seeds;
    int players = mean.players;
    int n = 0;
    mean = (struct hc_drift_shares){.players = players};
    for (int seed = 0; seed < r->seeds; seed++)
        if (isfinite(of_seed(r, recipe, q, seed)->all)) {
            whole[n++] = of_seed(r, recipe, q, seed)->all;
            add_shares(&mean, of_seed(r, recipe, q, seed));
        }
    divide(&mean, n);
    mean.steps = n;
    for (int i = 0; i < players; i++) {
        mean.player[i].sources = of_seed(r, recipe, q, 0)->player[i].sources;
        for (int seed = 0, k = 0; seed < r->seeds; seed++)
            if (isfinite(of_seed(r, recipe, q, seed)->all))
                part[k++] = of_seed(r, recipe, q, seed)->player[i].share;
        mean.player[i].error = hc_share_error(part, whole, n);
    }
    free(part);
    return mean;
}

/* Half of the 95 % interval of a share, as a part of all. */
static double half_interval(const struct hc_drift_shares *s, int i)
{
    return s->steps < 2 ? (double)NAN : hc_t_quantile(0.975, s->steps - 1) * s->player[i].error;
}

/* The player that a source belongs to; -1: to none. */
static int player_of(const struct hc_drift_shares *s, int source)
{
    for (int i = 0; i < s->players; i++)
        if (s->player[i].sources & UINT32_C(1) << source)
            return i;
    return -1;
}

static bool is_group(const struct hc_drift_shares *s, int i)
{
    return i >= 0 && hc_members(s->player[i].sources) > 1;
}

/* In per cent; "-" where nothing is known. */
static const char *percent(double x, char text[16])
{
    if (!isfinite(x))
        return "-";
    double y = fabs(x) < 5e-5 ? 0 : 100 * x;
    (void)hc_text_write(text, 16, fabs(y) < 1e5 ? "%.2f" : "%.1e", y);
    return text;
}

static void print_cells(const struct hc_drift_shares *s, int i, FILE *out)
{
    char text[3][16];
    hc_print(out, " %7s %7s %7s", percent(s->player[i].alone / s->all, text[0]),
             percent(s->player[i].share / s->all, text[1]), percent(half_interval(s, i), text[2]));
}

/* What is no player by itself is one with others, or touches no gradient. */
static void print_source(const struct hc_drift_shares *s, int source, FILE *out)
{
    int i = player_of(s, source);
    if (i >= 0 && !is_group(s, i))
        print_cells(s, i, out);
    else
        hc_print(out, " %7s %7s %7s", "-", i >= 0 ? "*" : "0", "-");
}

static const char *name_of(const struct hc_drift_shares *s, int i)
{
    int source = 0;
    while (!(s->player[i].sources & UINT32_C(1) << source))
        source++;
    return is_group(s, i) ? "those with *" : hc_drift_source(source);
}

/* How much more or less the squares of two sources are together than apart. */
static double beyond(const struct hc_drift_shares *s, int i, int j)
{
    return s->pair[i][j] - s->player[i].alone - s->player[j].alone;
}

/* Pairs of less than a hundredth of the whole square are not worth a line. */
enum { LINES = 3 };
static const double least_worth = 0.01;

/* The pairs that differ most from their parts, largest first. */
static void print_pairs(const struct hc_drift_shares *s, const char *of, FILE *out)
{
    bool done[HC_MAX_PLAYERS][HC_MAX_PLAYERS] = {{false}};
    for (int line = 0; line < LINES; line++) {
        int a = -1;
        int b = -1;
        for (int i = 0; i < s->players; i++)
            for (int j = i + 1; j < s->players; j++)
                if (!done[i][j] && fabs(beyond(s, i, j)) >= least_worth * s->all &&
                    (a < 0 || fabs(beyond(s, i, j)) > fabs(beyond(s, a, b)))) {
                    a = i;
                    b = j;
                }
        if (a < 0)
            return;
        done[a][b] = true;
        struct hc_lines lines = {0};
        hc_lines_add(&lines, "%s: %s and %s %s: apart %.2e, together %.2e", of, name_of(s, a),
                     name_of(s, b), beyond(s, a, b) < 0 ? "cancel" : "reinforce each other",
                     sqrt(s->player[a].alone + s->player[b].alone), sqrt(s->pair[a][b]));
        hc_print(out, "  ");
        hc_print_folded(out, 2, 4, lines.text);
    }
}

static void print_sentences(const struct hc_drift_report *r, const struct hc_drift_shares *s,
                            int recipe, int q, FILE *out)
{
    double apart = 0;
    if (s->players == 0)
        return;
    for (int seed = 0; seed < r->seeds && q == HC_DRIFT_OF_GRADIENT; seed++)
        if (of_seed(r, recipe, q, seed)->steps < r->steps)
            hc_print(out,
                     "  gradient: seed %llu has %d of %d steps in which no set of these sources "
                     "overflows\n",
                     (unsigned long long)(r->seed + (uint64_t)seed),
                     of_seed(r, recipe, q, seed)->steps, r->steps);
    if (!isfinite(s->all)) {
        hc_print(out, "  %s: not finite, so there are no shares\n", quantities[q]);
        return;
    }
    for (int i = 0; i < s->players; i++)
        apart += s->player[i].alone;
    hc_print(out, "  %s: all of them apart %.2e, together %.2e\n", quantities[q], sqrt(apart),
             sqrt(s->all));
    print_pairs(s, quantities[q], out);
}

void hc_drift_print_shares(const struct hc_drift_report *r, int recipe, FILE *out)
{
    if (!r->shares)
        return;
    const struct hc_drift *d = &r->drift[recipe];
    struct hc_drift_shares s[HC_DRIFT_QUANTITIES];
    char label[HC_COMPARED_LABEL];
    bool group = false;
    uint32_t sources = hc_drift_sources(d);
    hc_comparison_label(r->c, recipe, label);
    if (sources == 0)
        return;
    for (int q = 0; q < HC_DRIFT_QUANTITIES; q++) {
        s[q] = mean_of(r, recipe, q);
        group |= is_group(&s[q], s[q].players - 1);
    }
    int width = sources & UINT32_C(1) << HC_SOURCE_UNIT ? 23 : 20;
    hc_print(out, "\n%s: shares of the squared error, in %%", label);
    if (r->seeds > 1)
        hc_print(out, ", mean over %d seeds", r->seeds);
    hc_print(out, "\n  %-*s    gradient (%.2e)^2     weights (%.2e)^2\n", width + 7, "",
             sqrt(s[HC_DRIFT_OF_GRADIENT].all), sqrt(s[HC_DRIFT_OF_WEIGHTS].all));
    hc_print(out, "  %-*s %-6s %7s %7s %7s %7s %7s %7s\n", width, "source", "format", "alone",
             "share", "+-", "alone", "share", "+-");
    for (int k = 0; k < HC_SOURCE_COUNT; k++) {
        if (!(sources & UINT32_C(1) << k))
            continue;
        hc_print(out, "  %-*s %-6s", width, hc_drift_source(k), hc_drift_format(d, k));
        for (int q = 0; q < HC_DRIFT_QUANTITIES; q++)
            print_source(&s[q], k, out);
        (void)fputc('\n', out);
    }
    if (group) {
        hc_print(out, "  %-*s %-6s", width, "those with *", "-");
        for (int q = 0; q < HC_DRIFT_QUANTITIES; q++)
            if (is_group(&s[q], s[q].players - 1))
                print_cells(&s[q], s[q].players - 1, out);
            else
                hc_print(out, " %7s %7s %7s", "-", "-", "-");
        (void)fputc('\n', out);
    }
    for (int q = 0; q < HC_DRIFT_QUANTITIES; q++)
        print_sentences(r, &s[q], recipe, q, out);
}

void hc_drift_print_shares_legend(const struct hc_drift_report *r, FILE *out)
{
    if (!r->shares)
        return;
    hc_print(out,
             "share: what the source adds to the squared error, mean over all orders in which\n"
             "sources are put in; shares sum to 100 %%, and one below 0 makes the error of the\n"
             "others smaller. +-: half of the 95 %% interval over %s (Student's t). apart:\n"
             "root of the sum of what each makes alone, squared\n",
             r->seeds > 1 ? "seeds" : "steps");
}

/* "momenta + master copy". */
static void full_name(const struct hc_drift_shares *s, int i, char *text, size_t bytes)
{
    size_t length = 0;
    text[0] = '\0';
    for (int k = 0; k < HC_SOURCE_COUNT && length < bytes; k++)
        if (s->player[i].sources & UINT32_C(1) << k)
            length += (size_t)snprintf(text + length, bytes - length, "%s%s",
                                       length > 0 ? " + " : "", hc_drift_source(k));
}

enum { FULL_NAME = 32 * HC_SOURCE_COUNT };

void hc_drift_shares_rows(FILE *file, const struct hc_drift_report *r, int recipe,
                          hc_drift_row_end *end)
{
    char name[FULL_NAME];
    for (int q = 0; q < HC_DRIFT_QUANTITIES; q++) {
        struct hc_drift_shares s = mean_of(r, recipe, q);
        for (int i = 0; i < s.players; i++) {
            double share = s.player[i].share / s.all;
            full_name(&s, i, name, sizeof name);
            hc_print(file, "%s,%s,%s,%.9g,%.9g,%.9g,%.9g,%.9g", r->c->recipe[recipe]->name,
                     quantities[q], name, s.all, s.player[i].alone, s.player[i].share,
                     share - half_interval(&s, i), share + half_interval(&s, i));
            end(file, r, recipe);
        }
    }
}

void hc_drift_pairs_rows(FILE *file, const struct hc_drift_report *r, int recipe,
                         hc_drift_row_end *end)
{
    char one[FULL_NAME];
    char other[FULL_NAME];
    for (int q = 0; q < HC_DRIFT_QUANTITIES; q++) {
        struct hc_drift_shares s = mean_of(r, recipe, q);
        for (int i = 0; i < s.players; i++)
            for (int j = i + 1; j < s.players; j++) {
                full_name(&s, i, one, sizeof one);
                full_name(&s, j, other, sizeof other);
                hc_print(file, "%s,%s,%s,%s,%.9g,%.9g,%.9g,%.9g,%.9g", r->c->recipe[recipe]->name,
                         quantities[q], one, other, s.all, s.player[i].alone, s.player[j].alone,
                         s.pair[i][j], s.interaction[i][j]);
                end(file, r, recipe);
            }
    }
}

static json_t *players_json(const struct hc_drift_shares *s)
{
    char name[FULL_NAME];
    json_t *list = json_array();
    for (int i = 0; i < s->players; i++) {
        double share = s->player[i].share / s->all;
        full_name(s, i, name, sizeof name);
        (void)json_array_append_new(list,
                                    json_pack("{s:s, s:o, s:o, s:o, s:o}", "source", name, "alone",
                                              hc_json_real(s->player[i].alone), "share",
                                              hc_json_real(s->player[i].share), "low",
                                              hc_json_real(share - half_interval(s, i)), "high",
                                              hc_json_real(share + half_interval(s, i))));
    }
    return list;
}

static json_t *pairs_json(const struct hc_drift_shares *s)
{
    char one[FULL_NAME];
    char other[FULL_NAME];
    json_t *list = json_array();
    for (int i = 0; i < s->players; i++)
        for (int j = i + 1; j < s->players; j++) {
            full_name(s, i, one, sizeof one);
            full_name(s, j, other, sizeof other);
            (void)json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:o}", "source", one,
                                                        "other", other, "together",
                                                        hc_json_real(s->pair[i][j]), "interaction",
                                                        hc_json_real(s->interaction[i][j])));
        }
    return list;
}

/* `over` says of what the interval is. */
static json_t *shares_json(const struct hc_drift_shares *s, const char *over)
{
    return json_pack("{s:s, s:i, s:o, s:o, s:o}", "over", over, "count", s->steps, "square",
                     hc_json_real(s->all), "sources", players_json(s), "pairs", pairs_json(s));
}

json_t *hc_drift_shares_json(const struct hc_drift_report *r, int recipe)
{
    json_t *shares = json_object();
    for (int q = 0; q < HC_DRIFT_QUANTITIES; q++)
        (void)json_object_set_new(
            shares, quantities[q],
            shares_json(of_seed(r, recipe, q, 0), q == HC_DRIFT_OF_GRADIENT ? "steps" : "seeds"));
    return shares;
}

void hc_drift_shares_add(json_t *list, const struct hc_drift_report *r)
{
    for (int i = 0; i < r->c->recipes; i++) {
        char name[HC_DRIFT_NAME];
        hc_drift_name(&r->drift[i], name);
        json_t *one = json_pack("{s:s, s:s}", "recipe", name, "backend",
                                hc_comparison_training(r->c, i)->backend->name);
        for (int q = 0; q < HC_DRIFT_QUANTITIES; q++) {
            struct hc_drift_shares mean = mean_of(r, i, q);
            (void)json_object_set_new(one, quantities[q], shares_json(&mean, "seeds"));
        }
        (void)json_array_append_new(list, one);
    }
}
