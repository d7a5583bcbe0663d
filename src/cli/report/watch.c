/* The page of what `halfcheck.torch.watch` has seen: seen.json of its report becomes the data that
   reports/page.watch.html is filled in with. Whatever the file says, each member of the template is
   set, texts are escaped by the template, and what is drawn is made of whole numbers. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/memory_stream.h"
#include "check/record/json.h"
#include "cli/lines.h"
#include "cli/report/page.h"
#include "cli/report/script.h"
#include "cli/report/template.h"

enum { MOST_ROWS = 400, PICTURE = 600, HISTOGRAM = 60 };

/* A member's text, number, list or row; what is not there or of another type is empty, NaN, or has
   nothing in it. */
static const char *text_of(const json_t *row, const char *name)
{
    const char *text = json_string_value(json_object_get(row, name));
    return text ? text : "";
}

static double real_of(const json_t *value)
{
    const char *word = json_string_value(value);
    if (word)
        return strcmp(word, "inf") == 0    ? (double)INFINITY
               : strcmp(word, "-inf") == 0 ? -(double)INFINITY
                                           : (double)NAN;
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static double number_of(const json_t *row, const char *name)
{
    return real_of(json_object_get(row, name));
}

static long long count_of(const json_t *row, const char *name)
{
    return json_integer_value(json_object_get(row, name));
}

static const json_t *rows_of(const json_t *seen, const char *view)
{
    return json_object_get(view ? json_object_get(seen, view) : seen, "rows");
}

/* A number in words: nothing where there is none. */
static void put_real(json_t *to, const char *name, const char *format, double value)
{
    if (isnan(value))
        hc_page_text(to, name, "");
    else
        hc_page_print(to, name, format, value);
}

/* How far a wrong element is beyond its bound: a ratio of 1.002 is not rounded to 1. */
static void put_times(json_t *to, double ratio)
{
    put_real(to, "times", ratio > 1 && ratio < 1.005 ? "%.6g" : "%.3g", ratio);
}

/* The same of a wrong element, whose numbers may be NaN. */
static void put_worst(json_t *to, const char *name, const char *format, const json_t *worst)
{
    put_real(to, name, format, number_of(worst, name));
    if (isnan(number_of(worst, name)))
        hc_page_text(to, name, "NaN");
}

static double larger(double a, double b)
{
    return isnan(a) || b > a ? b : a;
}

/* What is known of a layer in one pass. */
struct place {
    const char *name;
    long long judged;
    long long wrong;
    double ratio;  /* the worst error by its bound */
    double chain;  /* what has come together there, relative */
    double budget; /* what its roundings have moved the loss by */
};

struct places {
    struct place *all;
    size_t count;
};

static struct place *place_of(struct places *places, const char *name)
{
    for (size_t i = 0; i < places->count; i++)
        if (strcmp(places->all[i].name, name) == 0)
            return &places->all[i];
    struct place *more = realloc(places->all, (places->count + 1) * sizeof *more);
    if (!more)
        return NULL;
    places->all = more;
    more[places->count] = (struct place){
        .name = name, .ratio = (double)NAN, .chain = (double)NAN, .budget = (double)NAN};
    return &more[places->count++];
}

/* Whether memory was enough. */
static bool collect(struct places *places, const json_t *seen)
{
    size_t i;
    json_t *row;
    struct place *place;
    json_array_foreach(rows_of(seen, NULL), i, row)
    {
        if (!(place = place_of(places, text_of(row, "place"))))
            return false;
        place->judged += count_of(row, "calls");
        place->wrong += count_of(row, "wrong");
        place->ratio = larger(place->ratio, number_of(row, "ratio"));
    }
    json_array_foreach(rows_of(seen, "through"), i, row)
    {
        if (!(place = place_of(places, text_of(row, "place"))))
            return false;
        place->chain = larger(place->chain, number_of(row, "all"));
    }
    json_array_foreach(rows_of(seen, "budget"), i, row)
    {
        double size = number_of(row, "size");
        if (!(place = place_of(places, text_of(row, "place"))))
            return false;
        place->budget = isnan(place->budget) ? size : hypot(place->budget, size);
    }
    return true;
}

/* Wrong ones first, and those whose errors are nearest to their bounds. */
static int compare_places(const void *a, const void *b)
{
    const struct place *one = a, *two = b;
    double x = isnan(one->ratio) ? -1 : one->ratio, y = isnan(two->ratio) ? -1 : two->ratio;
    if ((one->wrong > 0) != (two->wrong > 0))
        return one->wrong > 0 ? -1 : 1;
    return x > y ? -1 : x < y ? 1 : strcmp(one->name, two->name);
}

static enum hc_status add_layers(json_t *data, const json_t *seen)
{
    struct places places = {0};
    json_t *list = hc_page_list(data, "layers");
    bool enough = collect(&places, seen);
    bool chained = false, moved = false; /* whether a layer has such a number */
    if (places.count > 1)
        qsort(places.all, places.count, sizeof *places.all, compare_places);
    for (size_t i = 0; enough && i < places.count && i < MOST_ROWS; i++) {
        const struct place *place = &places.all[i];
        json_t *one = hc_page_add(list);
        hc_page_text(one, "place", place->name);
        hc_page_text(one, "state", place->wrong ? "FAIL" : place->judged ? "PASS" : "NOTHING");
        hc_page_text(one, "verdict",
                     place->wrong    ? "wrong"
                     : place->judged ? "right"
                                     : "not judged");
        hc_page_number(one, "judged", place->judged);
        hc_page_number(one, "wrong", place->wrong);
        put_real(one, "ratio", "%.3g", place->ratio < 0 ? (double)NAN : place->ratio);
        put_real(one, "chain", "%.1e", place->chain);
        put_real(one, "budget", "%.1e", place->budget);
        chained |= !isnan(place->chain);
        moved |= !isnan(place->budget);
    }
    hc_page_flag(data, "chained", chained);
    hc_page_flag(data, "moved", moved);
    hc_page_number(data, "more_layers",
                   places.count > MOST_ROWS ? (long long)(places.count - MOST_ROWS) : 0);
    free(places.all);
    return enough ? HC_OK : hc_fail(HC_NO_MEMORY, "no memory for the page");
}

static int compare_ratios(const void *a, const void *b)
{
    double x = number_of(*(json_t *const *)a, "ratio"), y = number_of(*(json_t *const *)b, "ratio");
    x = isnan(x) ? (double)INFINITY : x;
    y = isnan(y) ? (double)INFINITY : y;
    return x > y ? -1 : x < y;
}

/* The wrong rows with their worst element, the worst first; returns how many there are. */
static long long add_wrong(json_t *data, const json_t *seen)
{
    size_t i, count = 0, all = json_array_size(rows_of(seen, NULL));
    json_t *row, **wrong = calloc(all + 1, sizeof *wrong);
    json_t *list = hc_page_list(data, "wrong_rows");
    if (!wrong) {
        hc_memory_lost_one();
        return 0;
    }
    json_array_foreach(rows_of(seen, NULL), i, row)
    {
        if (count_of(row, "wrong") > 0)
            wrong[count++] = row;
    }
    qsort(wrong, count, sizeof *wrong, compare_ratios);
    for (i = 0; i < count && i < MOST_ROWS; i++) {
        json_t *one = hc_page_add(list);
        const json_t *worst = json_object_get(wrong[i], "worst");
        static const char *const texts[] = {"operator", "output", "format", "place",
                                            "where",    "kept",   NULL};
        for (int t = 0; texts[t]; t++)
            hc_page_text(one, texts[t], text_of(wrong[i], texts[t]));
        hc_page_flag(one, "named", strcmp(text_of(wrong[i], "output"), "y") != 0);
        hc_page_number(one, "calls", count_of(wrong[i], "wrong"));
        put_times(one, number_of(wrong[i], "ratio"));
        put_worst(one, "real", "%.9g", worst);
        put_worst(one, "got", "%.9g", worst);
        put_worst(one, "bound", "%.3g", worst);
    }
    free(wrong);
    return (long long)count;
}

/* Lines of a member that has words, and where: what was used against PyTorch's rules, what is
   coarser than what is made of it, what is hardly to be trained. Returns how many there are. */
static long long add_lines(json_t *data, const char *name, json_t *lines)
{
    json_t *list = hc_page_list(data, name), *where;
    const char *words;
    json_object_foreach(lines, words, where)
    {
        json_t *one = hc_page_add(list);
        hc_page_text(one, "words", words);
        hc_page_text(one, "where", json_string_value(where) ? json_string_value(where) : "");
    }
    return (long long)json_object_size(lines);
}

/* Functions whose gradient is not their derivative: where each was called, which argument it is,
   what differences say and what it says. */
static void add_gradients(json_t *data, const json_t *seen)
{
    json_t *list = hc_page_list(data, "gradient_rows"), *row;
    const char *name;
    json_object_foreach(json_object_get(seen, "gradients"), name, row)
    {
        const char *where = json_string_value(json_array_get(row, 0));
        json_t *one = hc_page_add(list);
        hc_page_text(one, "name", name);
        hc_page_text(one, "where", where ? where : "");
        hc_page_number(one, "argument", json_integer_value(json_array_get(row, 1)));
        put_real(one, "want", "%.6g", real_of(json_array_get(row, 2)));
        put_real(one, "got", "%.6g", real_of(json_array_get(row, 3)));
    }
}

/* Where the first infinity and the first NaN were made. */
static void add_first(json_t *data, const json_t *seen)
{
    json_t *list = hc_page_list(data, "first_ones");
    static const char *const kinds[] = {"infinity", "NaN", NULL};
    for (int k = 0; kinds[k]; k++) {
        const json_t *line = json_object_get(json_object_get(seen, "first"), kinds[k]);
        if (!json_is_object(line))
            continue;
        json_t *one = hc_page_add(list);
        hc_page_text(one, "kind", kinds[k]);
        hc_page_text(one, "operator", text_of(line, "operator"));
        hc_page_text(one, "format", text_of(line, "format"));
        hc_page_text(one, "where", text_of(line, "where"));
        hc_page_text(one, "layer", text_of(line, "layer"));
        hc_page_text(one, "phase", text_of(line, "phase"));
        hc_page_number(one, "step", count_of(line, "step"));
        put_real(one, "largest", "%.6g", number_of(line, "largest"));
    }
}

/* A share of a length in whole numbers, at least 1 where there is something. */
static long long part_of(double value, double whole, int length)
{
    if (!(value > 0) || !(whole > 0))
        return 0;
    double part = isinf(value) ? 1 : value / whole;
    return part >= 1 ? length : part * length < 1 ? 1 : (long long)(part * length);
}

/* The budget as bars: what moved the loss, and beside it what chance would have. */
static void add_budget(json_t *data, const json_t *seen)
{
    const json_t *rows = rows_of(seen, "budget");
    json_t *list = hc_page_list(data, "budget_rows");
    double largest = 0;
    size_t i, shown = 0;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        double size = number_of(row, "size");
        if (isfinite(size) && size > largest)
            largest = size;
    }
    json_array_foreach(rows, i, row)
    {
        if (number_of(row, "size") == 0 || shown++ >= 40)
            continue;
        json_t *one = hc_page_add(list);
        hc_page_text(one, "operator", text_of(row, "operator"));
        hc_page_text(one, "format", text_of(row, "format"));
        hc_page_text(one, "place", text_of(row, "place"));
        hc_page_text(one, "where", text_of(row, "where"));
        put_real(one, "moved", "%+.1e", number_of(row, "moved"));
        put_real(one, "chance", "%.1e", number_of(row, "chance"));
        hc_page_number(one, "moved_width",
                       part_of(fabs(number_of(row, "moved")), largest, PICTURE));
        hc_page_number(one, "chance_width", part_of(number_of(row, "chance"), largest, PICTURE));
    }
    const json_t *losses = json_object_get(json_object_get(seen, "budget"), "losses");
    double sum = 0;
    for (i = 0; i < json_array_size(losses); i++)
        sum += real_of(json_array_get(losses, i));
    put_real(data, "loss", "%.6g", i ? sum / (double)i : (double)NAN);
}

/* The histogram of a row: one bar for each exponent between its ends, and its format's window. */
static void add_histogram(json_t *one, const json_t *row, const json_t *window)
{
    json_t *bars = hc_page_list(one, "bars");
    const json_t *exponents = json_object_get(row, "exponents");
    long long low = 0, high = 0, most = 0;
    size_t i;
    json_t *pair;
    json_array_foreach(exponents, i, pair)
    {
        long long exponent = json_integer_value(json_array_get(pair, 0));
        long long count = json_integer_value(json_array_get(pair, 1));
        if (exponent < -1100 || exponent > 1100)
            continue;
        low = most == 0 || exponent < low ? exponent : low;
        high = most == 0 || exponent > high ? exponent : high;
        most = count > most ? count : most;
    }
    double smallest = real_of(json_array_get(window, 0));
    double largest = real_of(json_array_get(window, 1));
    if (smallest < -2000 || smallest > 2000)
        smallest = (double)NAN;
    int top = 0;
    if (isfinite(largest) && largest > 0)
        (void)frexp(largest, &top);
    /* The window's ends are shown where they are near: a format of 8 bits is, fp32's are not. */
    if (isfinite(smallest) && smallest > (double)low - 24 && smallest < (double)low)
        low = (long long)smallest;
    if (top - 1 > high && top - 1 < high + 24)
        high = top - 1;
    low -= 1;
    high += 1;
    json_array_foreach(exponents, i, pair)
    {
        long long exponent = json_integer_value(json_array_get(pair, 0));
        double count = (double)json_integer_value(json_array_get(pair, 1));
        if (exponent < low || exponent > high || count <= 0)
            continue;
        json_t *bar = hc_page_add(bars);
        long long height = part_of(count, (double)most, HISTOGRAM - 2);
        hc_page_number(bar, "x", 4 * (exponent - low));
        hc_page_number(bar, "y", HISTOGRAM - height);
        hc_page_number(bar, "height", height);
        hc_page_text(bar, "side",
                     exponent < smallest          ? "below"
                     : exponent >= top - 4 && top ? "above"
                                                  : "in");
    }
    long long width = 4 * (high - low + 1);
    hc_page_number(one, "width", width);
    hc_page_number(one, "low", low + 1);
    hc_page_number(one, "high", high - 1);
    long long left =
        isfinite(smallest) && smallest > (double)low ? 4 * ((long long)smallest - low) : 0;
    left = left > width ? width : left;
    long long right = top && top <= high ? 4 * (top - low) : width;
    right = right < left ? left : right > width ? width : right;
    hc_page_number(one, "window_x", left);
    hc_page_number(one, "window_width", right - left);
    hc_page_flag(one, "drawn", most > 0);
}

static void add_formats(json_t *data, const json_t *seen)
{
    const json_t *windows = json_object_get(json_object_get(seen, "formats"), "windows");
    json_t *list = hc_page_list(data, "format_rows");
    static const char *const shares[][2] = {{"nan", "NaN"},
                                            {"infinite", "infinite"},
                                            {"overflowed", "overflow in a cast"},
                                            {"saturated", "saturated"},
                                            {"flushed", "flushed to 0 by a cast"},
                                            {"subnormal", "subnormal"},
                                            {"near", "within 16 times of overflow"},
                                            {"lost", "lost, below half an ulp of the weight"}};
    size_t i;
    json_t *row;
    json_array_foreach(rows_of(seen, "formats"), i, row)
    {
        if (i >= MOST_ROWS)
            break;
        /* Updates of which none is lost. */
        if (!json_array_size(json_object_get(row, "exponents")) && !(number_of(row, "lost") > 0))
            continue;
        json_t *one = hc_page_add(list);
        double numbers = number_of(row, "numbers");
        hc_page_text(one, "layer", text_of(row, "layer"));
        hc_page_text(one, "operand", text_of(row, "operand"));
        hc_page_text(one, "format", text_of(row, "format"));
        hc_page_number(one, "numbers", count_of(row, "numbers"));
        json_t *costs = hc_page_list(one, "costs");
        for (size_t s = 0; s < sizeof shares / sizeof *shares; s++) {
            double share = number_of(row, shares[s][0]) / numbers;
            if (!(share > 0))
                continue;
            json_t *cost = hc_page_add(costs);
            hc_page_print(cost, "share", "%.2g %%", 100 * share);
            hc_page_text(cost, "what", shares[s][1]);
        }
        add_histogram(one, row, json_object_get(windows, text_of(row, "format")));
    }
}

static void add_unjudged(json_t *data, const json_t *seen)
{
    json_t *list = hc_page_list(data, "unjudged_rows");
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(seen, "unjudged"), i, row)
    {
        const char *operator= json_string_value(json_array_get(row, 0));
        const char *why = json_string_value(json_array_get(row, 1));
        if (i >= MOST_ROWS)
            break;
        json_t *one = hc_page_add(list);
        hc_page_text(one, "operator", operator? operator: "");
        hc_page_text(one, "why", why ? why : "");
        hc_page_number(one, "calls", json_integer_value(json_array_get(row, 2)));
    }
}

static void add_verdict(json_t *data, const json_t *seen, long long wrong, long long misused)
{
    long long elements = count_of(seen, "elements");
    const char *word = wrong || misused ? "FAIL" : elements > 0 ? "PASS" : "NOTHING";
    hc_page_text(data, "word", word);
    if (wrong)
        hc_page_print(data, "reason", "%s of operators %s", hc_count(wrong, "result").text,
                      wrong == 1 ? "is beyond its bound" : "are beyond their bounds");
    else if (misused)
        hc_page_text(data, "reason", "the rules of PyTorch are broken");
    else
        hc_page_text(data, "reason",
                     elements > 0 ? "nothing that was judged is wrong" : "nothing was judged");
    hc_page_number(data, "steps", count_of(seen, "steps"));
    hc_page_number(data, "made", count_of(seen, "made"));
    hc_page_number(data, "asked", count_of(seen, "asked"));
    hc_page_number(data, "elements", elements);
    hc_page_text(data, "begins", text_of(json_object_get(seen, "through"), "begins"));
}

enum hc_status hc_page_write_watch(FILE *file, const char *path)
{
    json_error_t error;
    json_t *seen = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!seen)
        return hc_fail(HC_INVALID, "cannot read %s: %s", path, error.text);
    enum hc_status status = HC_OK;
    if (!json_is_array(rows_of(seen, NULL)) || !json_is_integer(json_object_get(seen, "made")))
        status = hc_fail(HC_INVALID, "%s is not the seen.json of a watch", path);
    json_t *data = json_object();
    if (status == HC_OK)
        status = add_layers(data, seen);
    if (status == HC_OK) {
        long long wrong = add_wrong(data, seen);
        add_verdict(data, seen, wrong,
                    add_lines(data, "misused_rows", json_object_get(seen, "misused")));
        add_gradients(data, seen);
        add_lines(data, "coarse_rows", json_object_get(seen, "coarse"));
        add_lines(data, "doubtful_rows", json_object_get(seen, "doubtful"));
        add_first(data, seen);
        add_budget(data, seen);
        add_formats(data, seen);
        add_unjudged(data, seen);
        status =
            hc_memory_lost() ? hc_fail(HC_NO_MEMORY, "no memory for the page") : hc_json_status();
    }
    if (status == HC_OK)
        hc_template_fill(file, hc_script("page.watch.html"), false, data);
    json_decref(data);
    json_decref(seen);
    return status;
}
