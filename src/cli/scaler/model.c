#include "cli/scaler/model.h"

#include <math.h>

struct hc_scaler_model hc_scaler_model_of(const struct hc_scaler_plan *plan)
{
    const struct hc_scaler own = {.rule = plan->rule, .interval = plan->interval};
    return (struct hc_scaler_model){.rule = hc_scaler_params(&own),
                                    .initial = plan->initial,
                                    .held = hc_oracle_held(plan->rule),
                                    .seen = {false, true, true, true}};
}

void hc_scaler_model_begin(struct hc_scaler_model *m)
{
    m->scale = m->initial;
    m->clean = 0;
    m->held_back = 0;
    m->raised = false;
}

static double held(const struct hc_scaler_model *m, double x)
{
    return m->held == HC_HELD_SINGLE ? (double)(float)x : x;
}

static double grown(const struct hc_scaler_model *m)
{
    double x = held(m, m->scale * (double)m->rule.growth);
    if (m->rule.cap == HC_CAP_CLAMP && x > (double)m->rule.max_scale)
        return (double)m->rule.max_scale;
    return m->rule.cap == HC_CAP_FINITE && !isfinite(x) ? m->scale : x;
}

static bool due(const struct hc_scaler_model *m)
{
    int64_t n = m->clean - m->rule.delay;
    if (m->rule.interval == 0 ||
        (m->rule.cap == HC_CAP_BELOW && !(m->scale < (double)m->rule.max_scale)))
        return false;
    if (m->rule.when == HC_WHEN_EQUAL)
        return n == m->rule.interval;
    if (m->rule.when == HC_WHEN_REACHED)
        return n >= m->rule.interval;
    return n > 0 && n % m->rule.interval == 0;
}

static void back_off(struct hc_scaler_model *m)
{
    bool divides_by_zero = m->rule.error_at_floor && m->scale == 0;
    m->clean = m->rule.keep_clean ? m->clean : m->restart;
    if (!divides_by_zero && m->held_back + 1 < m->rule.hysteresis) {
        m->held_back++;
        return;
    }
    m->raised = divides_by_zero || (m->rule.error_at_floor && m->scale == (double)m->rule.floor);
    if (!m->raised)
        m->scale = fmax(held(m, m->scale * (double)m->rule.backoff), (double)m->rule.floor);
}

static void count(struct hc_scaler_model *m)
{
    m->clean++;
    if (m->rule.refill_hysteresis)
        m->held_back = 0;
    if (!due(m))
        return;
    m->held_back = 0;
    m->clean = m->rule.when == HC_WHEN_MULTIPLE ? m->clean : 0;
    m->scale = grown(m);
}

double hc_scaler_model_step(struct hc_scaler_model *m, enum hc_gradients sent)
{
    double before = m->scale;
    bool found = m->seen[sent] && !(before <= (double)m->rule.min_checked_scale);
    if (found || (m->rule.error_at_floor && before == 0))
        back_off(m);
    else
        count(m);
    bool late = m->shows_before || (m->grows_late && m->scale > before);
    return late ? before : m->scale;
}

int hc_scaler_model_gives(struct hc_scaler_model m, const struct hc_scaler_answers *a)
{
    hc_scaler_model_begin(&m);
    for (int i = 0; i < a->count; i++) {
        double scale = hc_scaler_model_step(&m, (enum hc_gradients)a->sent[i]);
        bool raises = a->raised && i == a->count - 1;
        if (m.raised || raises ? m.raised != raises : scale != a->scale[i])
            return i;
        if (m.raised)
            return i + 1;
    }
    return a->count;
}
