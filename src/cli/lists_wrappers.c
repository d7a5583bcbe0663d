/* Wrappers of data parallel training as rows. */
#include <stdio.h>

#include "check/record/json.h"
#include "cli/lists.h"
#include "train/parallel/wrapper.h"

static void put(json_t *o, const char *key, const char *text)
{
    (void)json_object_set_new(o, key, text ? hc_json_text(text) : json_null());
}

static void put_buckets(json_t *o, const struct hc_wrapper *w)
{
    static const char *const units[] = {[HC_UNIT_ELEMENTS] = "elements", [HC_UNIT_BYTES] = "bytes"};
    char text[128];
    if (w->bucketing == HC_BUCKET_OF_FORMAT)
        (void)snprintf(text, sizeof text, "one of each format");
    else if (w->bucketing == HC_BUCKET_OF_LAYER)
        (void)snprintf(text, sizeof text, "one of each layer and format");
    else if (w->first_bucket == w->bucket)
        (void)snprintf(text, sizeof text, "at %s %lld %s",
                       w->bucketing == HC_BUCKET_AT_LEAST ? "least" : "most", (long long)w->bucket,
                       units[w->unit]);
    else
        (void)snprintf(text, sizeof text, "at least %lld %s, then %lld", (long long)w->first_bucket,
                       units[w->unit], (long long)w->bucket);
    put(o, "buckets", text);
}

void hc_list_wrappers(json_t *rows)
{
    static const char *const divisions[] = {
        [HC_DIVIDE_SPLIT] = "before by predivide, after by the rest",
        [HC_DIVIDE_BEFORE] = "before",
        [HC_DIVIDE_ROOT] = "before by about the root, after by the rest",
        [HC_DIVIDE_ROOT_OF_FP16] = "before; in fp16 by about the root, after by the rest",
    };
    int n;
    const struct hc_wrapper *wrappers = hc_wrappers(&n);
    for (int i = 0; i < n; i++) {
        const struct hc_wrapper *w = &wrappers[i];
        json_t *o = json_object();
        put(o, "name", w->name);
        put_buckets(o, w);
        put(o, "algorithm", hc_collective_names[w->algorithm]);
        put(o, "sums in", hc_reduce_names[w->reduce]);
        put(o, "divides", divisions[w->division]);
        put(o, "title", w->title);
        put(o, "source", w->source);
        put(o, "defects", w->defects);
        (void)json_array_append_new(rows, o);
    }
}
