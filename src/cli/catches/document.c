/* The table as JSON. */
#include "check/record/json.h"
#include "cli/catches/inquiry.h"

static const char *const judgements[] = {
    [HC_ACCEPTED] = "accepted", [HC_REFUSED] = "refused", [HC_NOT_APPLIED] = "not applied"};

static void set_text(json_t *object, const char *key, const char *text)
{
    (void)json_object_set_new(object, key, hc_json_text(text));
}

static void set_count(json_t *object, const char *key, int count)
{
    (void)json_object_set_new(object, key, json_integer(count));
}

static json_t *rule_document(const struct hc_inquiry *inquiry, int r)
{
    json_t *o = json_object();
    struct hc_catch_counts c = hc_catch_count(inquiry->row, inquiry->count, r);
    set_text(o, "name", hc_rules[r].name);
    set_text(o, "what", hc_rules[r].what);
    set_text(o, "threshold", hc_rules[r].threshold);
    set_text(o, "source", hc_rules[r].source);
    set_count(o, "bugs", c.bugs);
    set_count(o, "missed", c.missed);
    set_count(o, "right_arms", c.right);
    set_count(o, "false_alarms", c.alarms);
    set_count(o, "told_apart", c.apart);
    set_count(o, "not_applied", c.not_applied);
    return o;
}

static json_t *row_document(const struct hc_catch *row)
{
    json_t *o = json_object();
    json_t *verdicts = json_object();
    set_text(o, "case", row->name);
    (void)json_object_set_new(o, "negative_control", json_boolean(row->control));
    (void)json_object_set_new(o, "play", json_boolean(row->play));
    set_count(o, "shown", row->shown);
    for (int r = 0; r < HC_CATCH_RULES; r++) {
        json_t *verdict = json_object();
        set_text(verdict, "buggy", judgements[row->buggy[r]]);
        set_text(verdict, "fixed", judgements[row->fixed[r]]);
        set_text(verdict, "word", hc_catch_word(row, r));
        (void)json_object_set_new(verdicts, hc_rules[r].name, verdict);
    }
    (void)json_object_set_new(o, "rules", verdicts);
    return o;
}

json_t *hc_inquiry_document(const struct hc_inquiry *inquiry)
{
    json_t *o = json_object();
    json_t *rules = json_array();
    json_t *rows = json_array();
    set_text(o, "backend", inquiry->backend);
    for (int r = 0; r < HC_CATCH_RULES; r++)
        (void)json_array_append_new(rules, rule_document(inquiry, r));
    for (int i = 0; i < inquiry->count; i++)
        (void)json_array_append_new(rows, row_document(&inquiry->row[i]));
    (void)json_object_set_new(o, "rules", rules);
    (void)json_object_set_new(o, "bugs", rows);
    return o;
}
