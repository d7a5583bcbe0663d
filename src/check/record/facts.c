#include "check/record/facts.h"

#include "check/record/json.h"

static const char *const of_machine[] = {"gpu", "capability", "driver", "cuda", "cublas", "cudnn"};

void hc_facts_add(const char *name, const char *fact, void *facts)
{
    (void)json_object_set_new(facts, name, hc_json_text(fact));
}

void hc_record_set_facts(json_t *record, const char *backend, json_t *facts)
{
    json_t *environment = json_object_get(record, "environment");
    json_t *backends = json_object_get(record, "backends");
    if (json_object_size(facts) == 0) {
        json_decref(facts);
        return;
    }
    if (!backends) {
        backends = json_object();
        (void)json_object_set_new(record, "backends", backends);
    }
    for (size_t i = 0; i < sizeof of_machine / sizeof of_machine[0]; i++) {
        json_t *fact = json_object_get(facts, of_machine[i]);
        if (fact)
            (void)json_object_set(environment, of_machine[i], fact);
    }
    (void)json_object_set_new(backends, backend, facts);
}

void hc_record_describe(json_t *record, const struct hc_backend *backend, struct hc_queue *queue)
{
    if (!backend->describe || (backend->unavailable && backend->unavailable()))
        return;
    json_t *facts = json_object();
    backend->describe(queue, hc_facts_add, facts);
    hc_record_set_facts(record, backend->name, facts);
}

const char *hc_facts_wrong(const json_t *backends)
{
    const char *name;
    const char *key;
    json_t *facts;
    json_t *fact;
    if (backends && !json_is_object(backends))
        return "\"backends\" is not an object";
    json_object_foreach((json_t *)backends, name, facts)
    {
        if (!json_is_object(facts))
            return "in \"backends\" there is something else than objects";
        json_object_foreach(facts, key, fact)
        {
            if (!json_is_string(fact))
                return "in \"backends\" there is a fact that is not a string";
        }
    }
    return NULL;
}
