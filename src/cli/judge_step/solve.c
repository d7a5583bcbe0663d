/* Numbers of a contract, solved for. Every element leaves of an interval what would make it; what
   is left after all is the answer, if it then explains all of them. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/judge_step/cause.h"

/* One number: where it stands, and between which values it is looked for. */
struct unknown {
    const char *name;
    const char *what; /* in sentences */
    size_t at;
    double low;
    double high;
    bool adam;
    bool sgd;
};

static const struct unknown unknowns[] = {
    {"eps", "eps", offsetof(struct hc_step_contract, eps), 0, 1, true, false},
    {"beta1", "beta1", offsetof(struct hc_step_contract, beta1), 0, 1 - 0x1p-30, true, false},
    {"momentum", "the momentum", offsetof(struct hc_step_contract, beta1), 0, 1 - 0x1p-30, false,
     true},
    {"beta2", "beta2", offsetof(struct hc_step_contract, beta2), 0, 1 - 0x1p-30, true, false},
    {"dampening", "the dampening", offsetof(struct hc_step_contract, dampening), 0, 1 - 0x1p-10,
     false, true},
    {"weight_decay", "the weight decay", offsetof(struct hc_step_contract, weight_decay), -1000,
     1000, true, true},
    {"lr", "the learning rate (or another factor of the update)",
     offsetof(struct hc_step_contract, lr), -1000, 1000, true, true},
    {"gradient", "the factor of the gradients", offsetof(struct hc_step_contract, gradient_factor),
     0, 0x1p40, true, true},
};

static double *number(struct hc_step_contract *c, const struct unknown *u)
{
    return (double *)(void *)((char *)c + u->at);
}

/* One element's question: on which side of its ball the stored number lies, if the unknown is x. */
struct question {
    const struct hc_step_subject *subject;
    const struct unknown *unknown;
    const struct hc_step_state *state;
    int64_t index;
    int out;
};

static int side(const struct question *q, double x)
{
    struct hc_step_contract c = q->subject->stated;
    struct hc_ball out[HC_STEP_OUTPUTS];
    *number(&c, q->unknown) = x;
    hc_step_contract_element(&c, q->state, q->index, out);
    return hc_step_side(q->state, q->out, q->index, out[q->out]);
}

/* Between two numbers: by their exponents where these differ much, so that an eps of 1e-8 is found
   between 0 and 1 as fast as a beta. */
static double middle(double low, double high)
{
    if (low >= 0 && high > 4 * low && high > 0x1p-200)
        return low > 0x1p-200 ? sqrt(low) * sqrt(high) : high * 0x1p-20;
    return low + (high - low) / 2;
}

/* The last number, going from `inside` to `outside`, that fits. */
static double boundary(const struct question *q, double inside, double outside)
{
    for (int i = 0; i < 200; i++) {
        double x = middle(fmin(inside, outside), fmax(inside, outside));
        if (x == inside || x == outside)
            break;
        if (side(q, x) == 0)
            inside = x;
        else
            outside = x;
    }
    return inside;
}

/* A number between two of different sides that fits; NAN if the sides meet without one. */
static double between(const struct question *q, double low, double high, int at_low)
{
    for (int i = 0; i < 200; i++) {
        double x = middle(low, high);
        if (x == low || x == high)
            break;
        int s = side(q, x);
        if (s == 0)
            return x;
        if (s == at_low)
            low = x;
        else
            high = x;
    }
    return (double)NAN;
}

/* The same for ends on one side, between which a few numbers are tried. */
static double somewhere(const struct question *q, double low, double high, int at_ends)
{
    enum { PIECES = 16 };
    double last = low;
    for (int i = 1; i < PIECES; i++) {
        double x = low + (high - low) * i / PIECES;
        int s = side(q, x);
        if (s != at_ends)
            return s == 0 ? x : between(q, last, x, at_ends);
        last = x;
    }
    double x = middle(low, high);
    return side(q, x) == 0 ? x : (double)NAN;
}

/* Leaves of the interval what makes this element; false if that is nothing. */
static bool cut(const struct question *q, double interval[2])
{
    double low = interval[0];
    double high = interval[1];
    int at_low = side(q, low);
    int at_high = side(q, high);
    if (at_low == 0 && at_high == 0)
        return true;
    double inside = low;
    if (at_low != 0)
        inside = at_high == 0        ? high
                 : at_low != at_high ? between(q, low, high, at_low)
                                     : somewhere(q, low, high, at_low);
    if (isnan(inside))
        return false;
    if (at_low != 0)
        interval[0] = boundary(q, inside, low);
    if (at_high != 0)
        interval[1] = boundary(q, inside, high);
    return true;
}

/* What is wrong under the stated contract comes first, and of that the moments, which depend on a
   number in a simpler way than the weights do: that leaves little, or nothing. */
static bool narrow_at_spots(const struct hc_step_subject *subject, const struct unknown *u,
                            double interval[2])
{
    for (int out = 0; out < HC_STEP_OUTPUTS; out++)
        for (int k = 0; k < subject->spots[out]; k++) {
            const struct hc_step_spot *spot = &subject->spot[out][k];
            struct question q = {subject, u, &subject->states[spot->parameter], spot->index, out};
            if (!cut(&q, interval))
                return false;
        }
    return true;
}

/* Then all elements. Where all outputs fit at both ends, nothing is cut off. */
static bool narrow_at(const struct hc_step_subject *subject, const struct unknown *u, int p,
                      int64_t i, double interval[2])
{
    const struct hc_step_state *s = &subject->states[p];
    struct hc_ball balls[2][HC_STEP_OUTPUTS];
    for (int end = 0; end < 2; end++) {
        struct hc_step_contract c = subject->stated;
        *number(&c, u) = interval[end];
        hc_step_contract_element(&c, s, i, balls[end]);
    }
    for (int out = 0; out < HC_STEP_OUTPUTS; out++) {
        struct question q = {subject, u, s, i, out};
        bool fits = !s->after[out].data || (hc_step_side(s, out, i, balls[0][out]) == 0 &&
                                            hc_step_side(s, out, i, balls[1][out]) == 0);
        if (!fits && !hc_step_promises_nothing(subject, p, out, i) && !cut(&q, interval))
            return false;
    }
    return true;
}

static bool narrow(const struct hc_step_subject *subject, const struct unknown *u,
                   double interval[2])
{
    interval[0] = u->low;
    interval[1] = u->high;
    if (!narrow_at_spots(subject, u, interval))
        return false;
    for (int p = 0; p < subject->parameters; p++)
        for (int64_t i = 0; !subject->passed_over[p] && i < hc_tensor_count(&subject->states[p].w);
             i++)
            if (!narrow_at(subject, u, p, i, interval))
                return false;
    return interval[0] > u->low || interval[1] < u->high;
}

/* Values that have a story. */
struct point {
    double value;
    const char *text;
};

enum { MAX_POINTS = 12 };

static int points_of(const struct hc_step_subject *subject, const struct unknown *u,
                     struct point points[MAX_POINTS])
{
    const struct hc_step_contract *c = &subject->stated;
    struct hc_step *step = subject->step;
    double scale = hc_step_scalar(step, "scale", 1);
    double before = hc_step_number(step, "lr_before", (double)NAN);
    bool apart = c->decay == HC_STEP_DECAY_APART;
    double wd = c->weight_decay;
    double second = 1 - pow(c->beta2, c->step);
    const struct {
        const char *name;
        bool applies;
        struct point point;
    } rows[] = {
        {"eps", true, {0, "there is no eps"}},
        {"eps",
         !c->eps_inside,
         {c->eps / sqrt(second), "eps is added before the bias correction of the root"}},
        {"beta1", true, {0, "there is no first moment: the gradient is taken in its place"}},
        {"beta1", true, {1 - c->beta1, "beta1 and 1 - beta1 are exchanged"}},
        {"beta1", true, {c->beta2, "beta2 is taken in the place of beta1"}},
        {"momentum", true, {0, "there is no momentum"}},
        {"beta2", true, {c->beta1, "beta1 is taken in the place of beta2"}},
        {"beta2", true, {1 - c->beta2, "beta2 and 1 - beta2 are exchanged"}},
        {"dampening", true, {c->beta1, "the gradient enters the momentum times 1 - momentum"}},
        {"weight_decay", true, {0, "there is no weight decay"}},
        {"weight_decay",
         true,
         {apart ? 2 * wd - c->lr * wd * wd : 2 * wd, "weight decay is applied twice"}},
        {"weight_decay", true, {-wd, "weight decay has the wrong sign"}},
        {"weight_decay",
         apart && c->lr != 0,
         {wd / c->lr, "weight decay is not multiplied by the learning rate"}},
        {"weight_decay",
         !apart,
         {wd * c->lr, "weight decay is multiplied by the learning rate before the gradient is"}},
        {"lr", true, {0, "the weights are not updated"}},
        {"lr", true, {-c->lr, "the update has the wrong sign"}},
        {"lr", isfinite(before), {before, "the learning rate is that of the step before"}},
        {"gradient", true, {0, "the gradients are taken as 0"}},
        {"gradient", scale != 1, {scale, "the gradients are not divided by the loss scale"}},
        {"gradient", scale != 1, {1 / scale, "the gradients are divided by the loss scale twice"}},
    };
    int n = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].applies && strcmp(rows[i].name, u->name) == 0 && n < MAX_POINTS)
            points[n++] = rows[i].point;
    return n;
}

/* The shortest decimal number in the interval. */
static double roundest(const double interval[2])
{
    double x = middle(interval[0], interval[1]);
    char text[40];
    for (int digits = 1; digits < 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, x);
        double round = strtod(text, NULL);
        if (round >= interval[0] && round <= interval[1])
            return round;
    }
    return x;
}

static bool explains_as(const struct hc_step_subject *subject, const struct unknown *u, double x)
{
    struct hc_step_contract c = subject->stated;
    *number(&c, u) = x;
    return hc_step_explains(subject, &c);
}

/* Whether some right factor of clipping times some factor of the interval is 1. */
static bool undoes_clipping(const struct hc_step_subject *subject, const double interval[2])
{
    const struct hc_step_factor *clipping = &subject->clipping;
    return clipping->value != 1 && interval[0] * clipping->value * (1 - clipping->slack) <= 1 &&
           interval[1] * clipping->value * (1 + clipping->slack) >= 1;
}

static void solve_one(const struct hc_step_subject *subject, const struct unknown *u,
                      struct hc_step_causes *causes)
{
    struct point points[MAX_POINTS];
    struct hc_step_contract stated = subject->stated;
    double interval[2];
    char text[120];
    if (!narrow(subject, u, interval))
        return;
    const char *story = NULL;
    double value = roundest(interval);
    int n = points_of(subject, u, points);
    for (int i = 0; i < n && !story; i++)
        if (points[i].value >= interval[0] && points[i].value <= interval[1]) {
            story = points[i].text;
            value = points[i].value;
        }
    if (u->at == offsetof(struct hc_step_contract, gradient_factor) && !story &&
        undoes_clipping(subject, interval))
        story = "the gradients are not clipped";
    if (!explains_as(subject, u, value)) {
        value = middle(interval[0], interval[1]);
        story = NULL;
        if (!explains_as(subject, u, value))
            return;
    }
    (void)snprintf(text, sizeof text, "%s is another", u->what);
    struct hc_step_cause *cause = hc_step_add_cause(causes, u->name, story ? story : text);
    if (!cause)
        return;
    cause->solved = true;
    cause->what = story ? NULL : u->what;
    cause->in_file = u->at != offsetof(struct hc_step_contract, gradient_factor) &&
                     u->at != offsetof(struct hc_step_contract, dampening);
    for (int p = 0; p < subject->parameters; p++)
        cause->in_proportion |= (u->at == offsetof(struct hc_step_contract, lr) &&
                                 subject->states[p].lr != stated.lr) ||
                                (u->at == offsetof(struct hc_step_contract, weight_decay) &&
                                 subject->states[p].weight_decay != stated.weight_decay);
    cause->value = value;
    cause->low = interval[0];
    cause->high = interval[1];
    cause->stated = *number(&stated, u);
}

void hc_step_solve(const struct hc_step_subject *subject, struct hc_step_causes *causes)
{
    bool sgd = subject->stated.op == HC_OP_sgd;
    for (size_t i = 0; i < sizeof unknowns / sizeof unknowns[0]; i++)
        if (sgd ? unknowns[i].sgd : unknowns[i].adam) {
            causes->changes++;
            solve_one(subject, &unknowns[i], causes);
        }
}
