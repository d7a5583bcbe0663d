/* Cores of FPBench as definitions. */
#include <stdio.h>
#include <string.h>

#include "define/fpcore.h"
#include "define/testing.h"

struct taken {
    int count;
    char text[1024];
    char why[128];
};

static void take(void *context, const char *name, const char *text, const char *why)
{
    struct taken *t = context;
    (void)name;
    t->count++;
    (void)snprintf(t->text, sizeof t->text, "%s", text ? text : "");
    (void)snprintf(t->why, sizeof t->why, "%s", why ? why : "");
}

/* The last core's text. */
static struct taken taken(const char *cores)
{
    struct taken t = {.count = 0};
    cr_assert_eq(hc_fpcore_read(cores, take, &t), HC_OK, "%s: %s", cores, hc_message());
    return t;
}

/* The value of a core of x at 0.5. */
static double value(const char *body)
{
    char core[512];
    double x = 0.5;
    (void)snprintf(core, sizeof core, "(FPCore (x) %s)", body);
    struct taken t = taken(core);
    cr_assert(*t.text, "%s: %s", body, t.why);
    struct hc_instance instance = {
        .definition = defined(t.text), .io = HC_FP64, .freedoms = hc_usual_freedoms};
    struct hc_defined_value found;
    instance.freedoms.compute = HC_FP64;
    instance.input[0] = (struct hc_tensor){.format = HC_FP64, .data = &x};
    cr_assert_eq(hc_instance_bind(&instance), HC_OK, "%s", hc_message());
    struct hc_evaluator *evaluator = hc_evaluator_new(&instance);
    cr_assert_not_null(evaluator);
    int result = instance.definition->result[0];
    cr_assert_eq(hc_evaluator_element(evaluator, result, 0, &found), HC_OK, "%s", hc_message());
    hc_evaluator_free(evaluator);
    hc_definition_free((struct hc_definition *)instance.definition);
    return found.want.hi;
}

Test(fpcore, operators_are_what_fpcore_says)
{
    static const struct {
        const char *body;
        double want;
    } rows[] = {
        {"(+ x 1 2)", 3.5},
        {"(- x)", -0.5},
        {"(- x 2)", -1.5},
        {"(/ 1 x)", 2},
        {"(* x x -4)", -1},
        {"(pow x 3)", 0.125},
        {"(pow x -2)", 4},
        {"(+ x (pow x 0))", 1.5},
        {"(pow x 20)", 0x1p-20},
        {"(fmax x 1/4)", 0.5},
        {"(fma x 2 0x1p-1)", 1.5},
        {"(hypot (* x 6) (* x 8))", 5},
        {"(ceil x)", 1},
        {"(if (< 0 x 1) x (sqrt -1))", 0.5},
        {"(if (and (!= x 1 2) (not (== x 3))) 7 8)", 7},
        {"(let ([x 2] [y x]) (- x y))", 1.5},
        {"(let* ([z (* 2 x)] [y z]) (- y z))", 0},
        {"(let ([big (> x 1)]) (if big 1 2))", 2},
        {"(let () (! :precision binary32 (* 2 x)))", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect_eq(value(rows[i].body), rows[i].want, "%s: want %g, got %g", rows[i].body,
                     rows[i].want, value(rows[i].body));
}

Test(fpcore, a_core_that_is_no_definition_has_a_reason_and_does_not_hide_the_next)
{
    static const char *const rows[][2] = {
        {"(while (< x 1) ([y 0 x]) y)", "it uses while"},
        {"(atan x)", "it uses atan"},
        {"(pow x x)", "it uses pow but by a whole number"},
        {"(< x 1)", "it uses a truth as its result"},
        {"unknown", "it uses unknown"},
        {"1", "x is not used"},
        {"(if x 1 2)", "it uses an if of truths"},
        {"(+ x (< x 1))", "'(x < 1)' is a truth, and should be a number"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char cores[256];
        (void)snprintf(cores, sizeof cores, "(FPCore (x) %s)", rows[i][0]);
        struct taken t = taken(cores);
        cr_expect_str_empty(t.text, "%s", t.text);
        cr_expect(t.count == 1 && *t.why, "%s", cores);
        if (i + 1 < sizeof rows / sizeof rows[0])
            cr_expect_str_eq(t.why, rows[i][1]);
        (void)strncat(cores, " (FPCore ((! :precision binary32 z)) :name \"after\" z)",
                      sizeof cores - strlen(cores) - 1);
        t = taken(cores);
        cr_expect(t.count == 2 && strncmp(t.text, "op after(z)\n", 12) == 0, "%s", t.text);
    }
}

Test(fpcore, a_text_that_is_no_fpcore_is_refused)
{
    static const char *const rows[] = {
        "(FPCore (x) (+ x 1)",    "FPCore", "(FPCore (x) :pre)",   "(Core (x) x)",
        "(FPCore (x) (+ x 1) 2)", ")",      "(FPCore (x) \"open)", "(FPCore x)",
        "(FPCore (x) ())"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct taken t = {.count = 0};
        enum hc_status status = hc_fpcore_read(rows[i], take, &t);
        cr_expect(status == HC_INVALID || *t.why, "%s", rows[i]);
        cr_expect_str_empty(t.text, "%s", rows[i]);
    }
    char deep[3000] = "(FPCore (x) ";
    for (int i = 0; i < 200; i++)
        (void)strcat(deep, "(- x ");
    (void)strcat(deep, "x");
    for (int i = 0; i < 201; i++)
        (void)strcat(deep, ")");
    cr_expect_str_eq(taken(deep).why, "it uses that many brackets");
}
