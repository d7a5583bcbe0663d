#include "check/record/refusals.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/json.h"
#include "check/record/record.h"
#include "op/text.h"

static int in_order(const void *a, const void *b)
{
    const struct hc_alike_calls *one = *(const struct hc_alike_calls *const *)a;
    const struct hc_alike_calls *other = *(const struct hc_alike_calls *const *)b;
    int names = strcmp(one->backend, other->backend);
    if (names || one->key == other->key)
        return names ? names : (int)one->alike - (int)other->alike;
    return one->key < other->key ? -1 : 1;
}

json_t *hc_calls_json(const struct hc_omissions *all, enum hc_alike from)
{
    json_t *list = json_array();
    /* Threads and ranks meet the sets in any order. */
    const struct hc_alike_calls **sets = calloc((size_t)all->set_count + 1, sizeof(void *));
    for (int i = 0; sets && i < all->set_count; i++)
        sets[i] = &all->set[i];
    if (sets)
        qsort(sets, (size_t)all->set_count, sizeof(void *), in_order);
    for (int i = 0; sets && i < all->set_count; i++) {
        const struct hc_alike_calls *set = sets[i];
        if (set->alike < from)
            continue;
        (void)json_array_append_new(
            list, json_pack("{s:s, s:i, s:o, s:I, s:I, s:o, s:s*, s:s*}", "backend", set->backend,
                            "alike", (int)set->alike, "key", json_sprintf("%016" PRIx64, set->key),
                            "taken", (json_int_t)set->taken, "refused", (json_int_t)set->refused,
                            "why", hc_json_text(set->why ? set->why : ""), "taker",
                            set->taker ? set->taker->name : NULL, "refuser",
                            set->refuser ? set->refuser->name : NULL));
    }
    if (!sets) {
        json_decref(list);
        list = NULL;
    }
    free(sets);
    return list;
}

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

static int64_t count_of(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

/* Keeps the case's name under the key if it comes first; returns whether it does. */
static bool keep_first(json_t *set, const char *key, const json_t *from)
{
    const char *name = text_of(from, key);
    const char *known = text_of(set, key);
    if (!name[0] || (known[0] && strcmp(known, name) <= 0))
        return false;
    (void)json_object_set(set, key, json_object_get(from, key));
    return true;
}

/* Adds the calls of part p to the sets, by backend and key. A set that the part alone has judged is
   marked so. */
static void join_part(json_t *sets, const json_t *calls, int p)
{
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *o = json_array_get(calls, i);
        char key[600];
        bool taken = count_of(o, "taken") > 0 && text_of(o, "taker")[0];
        bool refused = count_of(o, "refused") > 0 && text_of(o, "refuser")[0];
        if (count_of(o, "alike") != HC_ALIKE_BUT_NUMBERS || (!taken && !refused))
            continue;
        (void)snprintf(key, sizeof key, "%s %.500s", text_of(o, "key"), text_of(o, "backend"));
        json_t *set = json_object_get(sets, key);
        if (!set) {
            (void)json_object_set_new(sets, key, json_object());
            set = json_object_get(sets, key);
            (void)json_object_set(set, "backend", json_object_get(o, "backend"));
        }
        if (taken)
            (void)keep_first(set, "taker", o);
        if (refused && keep_first(set, "refuser", o)) {
            (void)json_object_set_new(set, "why", hc_json_text(text_of(o, "why")));
            (void)json_object_set_new(set, "part", json_integer(p));
        }
        if (taken && refused)
            (void)json_object_set_new(set, "judged", json_true());
    }
}

static bool is_of(const json_t *row, const char *name, const char *backend)
{
    return strcmp(text_of(row, "case"), name) == 0 && strcmp(text_of(row, "backend"), backend) == 0;
}

/* The command that repeats both cases: that of any result of the backend, with their names in place
   of its own. */
static void write_repro(const json_t *results, const json_t *set, char *text, size_t size)
{
    const char *backend = text_of(set, "backend");
    const char *options = NULL;
    char begin[512];
    for (size_t i = 0; i < json_array_size(results) && !options; i++) {
        const json_t *row = json_array_get(results, i);
        int length = snprintf(begin, sizeof begin, "halfcheck run %s ", text_of(row, "case"));
        if (strcmp(text_of(row, "backend"), backend) == 0 && length > 0 &&
            strncmp(text_of(row, "repro"), begin, (size_t)length) == 0)
            options = text_of(row, "repro") + length;
    }
    char word[512];
    char cases[2][512];
    (void)hc_text_shell(word, sizeof word, backend);
    (void)hc_text_shell(cases[0], sizeof cases[0], text_of(set, "refuser"));
    (void)hc_text_shell(cases[1], sizeof cases[1], text_of(set, "taker"));
    int length = snprintf(text, size, "halfcheck run %s %s ", cases[0], cases[1]);
    if (length > 0 && (size_t)length < size)
        (void)snprintf(text + length, size - (size_t)length, "%s%s", options ? "" : "--backend ",
                       options ? options : word);
}

static json_t *row_of(const json_t *document, const json_t *set, const json_t *part)
{
    char note[320];
    char repro[2048];
    json_t *alone = json_pack("{s:[]}", "results");
    struct hc_row row =
        hc_row_claim(text_of(set, "refuser"), text_of(set, "backend"), HC_FAIL, 1, 0, "claims");
    (void)hc_text_write(note, sizeof note,
                        "refuses inputs by their values: %s has a call that differs in nothing "
                        "else, and it was taken in another part of the run; the refusal: %s",
                        text_of(set, "taker"), text_of(set, "why"));
    write_repro(json_object_get(document, "results"), set, repro, sizeof repro);
    row.checked = row.wrong = 1;
    row.note = note;
    row.repro = repro;
    hc_record_add(alone, &row);
    json_t *made = json_incref(json_array_get(json_object_get(alone, "results"), 0));
    json_t *seed = json_object_get(json_object_get(part, "run"), "seed");
    if (json_is_string(seed))
        (void)json_object_set(made, "seed", seed);
    json_decref(alone);
    return made;
}

/* One case fewer was left out. */
static void count_one_less(json_t *part, const json_t *set)
{
    char component[64];
    const char *name = text_of(set, "refuser");
    (void)snprintf(component, sizeof component, "%.*s", (int)strcspn(name, "/"), name);
    json_t *of_backend =
        json_object_get(json_object_get(part, "left_out"), text_of(set, "backend"));
    json_t *counts = json_object_get(of_backend, component);
    int64_t refused = count_of(counts, "refused");
    if (refused > 0)
        (void)json_object_set_new(counts, "refused", json_integer(refused - 1));
}

/* The result takes the place of what the case has, or stands behind the last one of its part. False
   if the case fails already. */
static bool put(json_t *document, const json_t *set)
{
    json_t *results = json_object_get(document, "results");
    json_t *parts = json_object_get(document, "parts");
    int64_t at = count_of(set, "part");
    json_t *part = json_array_get(parts, (size_t)at);
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *row = json_array_get(results, i);
        if (!is_of(row, text_of(set, "refuser"), text_of(set, "backend")))
            continue;
        if (strcmp(text_of(row, "verdict"), hc_verdict_names[HC_FAIL]) == 0)
            return false;
        (void)json_array_set_new(results, i, row_of(document, set, part));
        return true;
    }
    size_t end = 0;
    for (size_t p = 0; p <= (size_t)at; p++)
        end += (size_t)count_of(json_array_get(parts, p), "result_count");
    if (json_array_insert_new(results, end, row_of(document, set, part)) != 0)
        return false;
    (void)json_object_set_new(part, "result_count",
                              json_integer(count_of(part, "result_count") + 1));
    count_one_less(part, set);
    return true;
}

int hc_refusals_judge(json_t *document, char *text, size_t bytes)
{
    int found = 0;
    const char *key;
    json_t *set;
    const json_t *first = NULL;
    json_t *sets = json_object();
    const json_t *parts = json_object_get(document, "parts");
    for (size_t p = 0; p < json_array_size(parts); p++)
        join_part(sets, json_object_get(json_array_get(parts, p), "calls"), (int)p);
    json_object_foreach(sets, key, set)
    {
        if (!text_of(set, "taker")[0] || !text_of(set, "refuser")[0] ||
            json_object_get(set, "judged") || !put(document, set))
            continue;
        found++;
        if (!first || strcmp(text_of(set, "refuser"), text_of(first, "refuser")) < 0)
            first = set;
    }
    if (first)
        (void)hc_text_write(text, bytes,
                            "%d %s refused by %s numbers, the first %s on %s: %s has a call that "
                            "differs in nothing else, and it was taken",
                            found, found == 1 ? "case was" : "cases were",
                            found == 1 ? "its" : "their", text_of(first, "refuser"),
                            text_of(first, "backend"), text_of(first, "taker"));
    json_decref(sets);
    return found;
}
