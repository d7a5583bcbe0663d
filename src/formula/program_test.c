#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formula/testing.h"

/* The tree as text: (function operands), names as they are, an index with its number. */
static void dump(const struct hc_program *program, const struct hc_node *node, char *text)
{
    char *end = text + strlen(text);
    const char *name = node->function < HC_FUNCTION_COUNT ? hc_functions[node->function].name : "?";
    if (node->kind == HC_NODE_NUMBER)
        (void)sprintf(end, "%.*s", node->length, node->at);
    else if (node->kind == HC_NODE_STEP)
        (void)strcpy(end, "step");
    else if (node->kind == HC_NODE_NAME)
        (void)sprintf(end, "%s", hc_program_name(program, node->name));
    else if (node->kind == HC_NODE_OVER)
        (void)sprintf(end, "(%s %s:", name, hc_program_name(program, node->name));
    else if (node->kind == HC_NODE_APPLY && node->function == HC_FN_cast)
        (void)sprintf(end, "(%s-%s",
                      node->format == HC_FORMAT_COUNT ? node->cast_name
                                                      : hc_formats[node->format].name,
                      hc_direction_names[node->direction]);
    else
        (void)sprintf(end, "(%s",
                      node->kind == HC_NODE_LIST ? "list"
                      : node->kind == HC_NODE_AT ? "at"
                                                 : name);
    for (int i = 0; i < node->operands; i++) {
        (void)strcat(text, " ");
        dump(program, node->operand[i], text);
    }
    if (node->operands > 0)
        (void)strcat(text, ")");
}

static void expect_tree(const char *text, const char *want)
{
    struct hc_formula_error error;
    char got[4096] = "";
    struct hc_program *program = hc_some_program();
    const struct hc_block *block = hc_program_parse(program, text, true, &error);
    cr_assert_not_null(block, "%s: %s", text, error.what);
    cr_assert_eq(block->count, 1);
    dump(program, block->statement[0].value, got);
    cr_expect_str_eq(got, want, "%s: want %s, got %s", text, want, got);
    hc_program_free(program);
}

Test(program, operators_bind_as_in_python)
{
    expect_tree("-2^2", "(negate (power 2 2))");
    expect_tree("2^3^2", "(power 2 (power 3 2))");
    expect_tree("2^-24", "(power 2 (negate 24))");
    expect_tree("2^-3^2*4", "(mul (power 2 (negate (power 3 2))) 4)");
    expect_tree("w - grad - 1", "(sub (sub w grad) 1)");
    expect_tree("w / grad * 2", "(mul (div w grad) 2)");
    expect_tree("w + grad * 2", "(add w (mul grad 2))");
    expect_tree("(w + grad) * 2", "(mul (add w grad) 2)");
    expect_tree("-w * grad", "(mul (negate w) grad)");
    expect_tree("w * -grad", "(mul w (negate grad))");
    expect_tree("w - -grad", "(sub w (negate grad))");
    expect_tree("--w", "(negate (negate w))");
    expect_tree("w + 1 <= grad * 2", "(less_equal (add w 1) (mul grad 2))");
    expect_tree("-x[0]", "(negate (at x 0))");
    expect_tree("-w**2", "(negate (power w 2))");
    expect_tree("2**-w**3*grad", "(mul (power 2 (negate (power w 3))) grad)");
    expect_tree("w^grad", "(power w grad)");
    expect_tree("not w < 1 and grad or w", "(or (and (not (less w 1)) grad) w)");
    expect_tree("w or grad and not not w", "(or w (and grad (not (not w))))");
    expect_tree("1 < w <= 2", "(and (less 1 w) (less_equal w 2))");
    expect_tree("1 < w < 2 == grad", "(and (and (less 1 w) (less w 2)) (equal 2 grad))");
    expect_tree("(1 < w) < 2", "(less (less 1 w) 2)");
    expect_tree("1 if w else 2 if grad else 3", "(select w 1 (select grad 2 3))");
    expect_tree("w + 1 if w > 1 or grad else -w", "(select (or (greater w 1) grad) (add w 1) "
                                                  "(negate w))");
    expect_tree("[w if 1 else 2][0 if 0 else 1]", "(at (list (select 1 w 2)) (select 0 0 1))");
}

Test(program, words_of_python_are_known)
{
    expect_tree("torch.sqrt(w) + np.sqrt(w)", "(add (sqrt w) (sqrt w))");
    expect_tree("math.exp(-np.pi)", "(exp (negate pi))");
    expect_tree("jnp.where(w, torch.inf, math.nan)", "(select w inf nan)");
    expect_tree("pow(w, 2) * np.power(w, 3)", "(mul (power w 2) (power w 3))");
    expect_tree("torch.float8_e4m3fn(np.float32(w))", "(e4m3-nearest (fp32-nearest w))");
    expect_tree("F.softmax(x) + torch.nn.functional.sigmoid(w)", "(add (softmax x) (sigmoid w))");
    expect_tree("torch.maximum(w, grad, 3)", "(max (max w grad) 3)");
    expect_tree("min(1, w, grad, 4)", "(min (min (min 1 w) grad) 4)");
    expect_tree("torch.mean(x) + np.mean(j: 3, j)", "(add (mean x) (mean j: 3 j))");
    refuse("v = np.w", "    ^~~~", "there is no 'np.w'; did you mean 'w'?");
    refuse("v = np.step", "    ^~~~~~~", "there is no 'np.step'; did you mean 'step'?");
    refuse("v = torch.matmul(w)", "    ^~~~~~~~~~~~", "there is no function 'torch.matmul'");
    refuse("v = torch.sqr(w)", "    ^~~~~~~~~",
           "there is no function 'torch.sqr'; did you mean 'sqrt'?");
    refuse("np.v = 1", "^~~~", "'np.v' can be no name");
    refuse("v = tf.sqrt(w)", "    ^~", "there is no 'tf'");
    refuse("v = np.", "    ^~", "there is no 'np'; did you mean 'n'?");
}

Test(program, functions_that_came_late_may_be_names)
{
    struct hc_formula_error error;
    struct hc_program *program = hc_program_new();
    const struct hc_block *block = hc_program_parse(
        program, "mean = 1; round = 2; where = mean + mean(2, round); power = where", false,
        &error);
    cr_assert_not_null(block, "%s", error.what);
    cr_expect_eq(block->statement[2].value->operand[1]->kind, HC_NODE_OVER);
    hc_program_free(program);
    refuse("if = 1", "^~", "'if' is a word of the language and can be no name");
    refuse("v = 1 + else", "        ^~~~", "an expression is missing before 'else'");
    refuse("v = w if 1", "          ^", "'else' is missing");
    refuse("v = (w if 1)", "           ^", "'else' is missing before ')'");
    refuse("v = if w else 1", "    ^~", "an expression is missing before 'if'");
    refuse("v = 1 and", "         ^", "an expression is missing");
}

/* Minus signs of pages and editors; each is three bytes of UTF-8. */
Test(program, a_pasted_minus_sign_is_made_plain)
{
    char text[] = "a −= 1e−4 – b‐c‑d; é — x−";
    hc_formula_plain(text);
    cr_expect_str_eq(text, "a -= 1e-4 - b-c-d; é — x-");
    char cut[] = "a \xe2\x88";
    hc_formula_plain(cut);
    cr_expect_str_eq(cut, "a \xe2\x88");
}

Test(program, every_operator_and_function_has_its_own_node)
{
    expect_tree("w < grad", "(less w grad)");
    expect_tree("w <= grad", "(less_equal w grad)");
    expect_tree("w > grad", "(greater w grad)");
    expect_tree("w >= grad", "(greater_equal w grad)");
    expect_tree("w == grad", "(equal w grad)");
    expect_tree("w != grad", "(not_equal w grad)");
    for (int f = 0; f < HC_FUNCTION_COUNT; f++) {
        const struct hc_function_info *info = &hc_functions[f];
        for (int n = info->least; n <= info->most; n++) {
            if (info->word == HC_FUNCTION_SIGN)
                continue;
            char text[64];
            char want[64];
            bool over = info->kind == HC_FUNCTION_LIST && n == 2;
            const char *rule = info->kind != HC_FUNCTION_SCALE               ? ""
                               : n == info->least && f != HC_FN_tensor_scale ? "mx-rp, e4m3, "
                                                                             : "nvfp4-te, e2m1, ";
            (void)snprintf(text, sizeof text, "%s(%s%s", info->spelling, rule, over ? "n" : "w");
            (void)snprintf(want, sizeof want, "(%s%s %s", info->name, over ? " i:" : "",
                           over ? "n" : "w");
            for (int i = 1; i < n; i++) {
                (void)strcat(text, ", grad");
                (void)strcat(want, " grad");
            }
            expect_tree(strcat(text, ")"), strcat(want, ")"));
        }
    }
}

Test(program, numbers_and_words_keep_their_text)
{
    static const char *const numbers[] = {"0",
                                          "12",
                                          "0.5",
                                          ".5",
                                          "5.",
                                          "1e-8",
                                          "1E+10",
                                          "1e5000",
                                          "1e-5000",
                                          "inf",
                                          "nan",
                                          "pi",
                                          "1_000_000.000_1e-1_0",
                                          "0x1.8p-3",
                                          "0XfF",
                                          "0x.8",
                                          "0x1_0p+16384",
                                          "0x1e5"};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        expect_tree(numbers[i], numbers[i]);
    expect_tree("step", "step");
}

Test(program, casts_have_a_format_and_a_direction)
{
    expect_tree("bf16(w)", "(bf16-nearest w)");
    expect_tree("bf16_rz(w)", "(bf16-toward-zero w)");
    expect_tree("e4m3fn(w)", "(e4m3-nearest w)");
    expect_tree("e4m3_ru(w)", "(e4m3-upward w)");
    expect_tree("tf32_rd(w)", "(tf32-downward w)");
    expect_tree("double(float(half(bfloat16(w))))",
                "(fp64-nearest (fp32-nearest (fp16-nearest (bf16-nearest w))))");
    expect_tree("float64(float32(float16(e5m2(w))))",
                "(fp64-nearest (fp32-nearest (fp16-nearest (e5m2-nearest w))))");
    expect_tree("acc(w) + acc_rz(w)", "(add (acc-nearest w) (acc-toward-zero w))");
}

Test(program, lists_are_made_taken_apart_and_summed)
{
    expect_tree("[1, -2.5, w]", "(list 1 (negate 2.5) w)");
    expect_tree("x[n - 1]", "(at x (sub n 1))");
    expect_tree("[1, 2][0]", "(at (list 1 2) 0)");
    expect_tree("sum(4096, 1)", "(sum i: 4096 1)");
    expect_tree("tree(len(x), x[i])", "(tree i: (len x) (at x i))");
    expect_tree("sum(j: 3, sum(2, i*j))", "(sum j: 3 (sum i: 2 (mul i j)))");
    expect_tree("min(x) + max(w, 1)", "(add (min x) (max w 1))");
    expect_tree("list(n, 2^-i)", "(list i: n (power 2 (negate i)))");
}

/* In the tree an inner sum's index differs from that of the outer one, though both are called i. */
Test(program, an_index_hides_what_has_its_name)
{
    struct hc_formula_error error;
    struct hc_program *program = hc_program_new();
    const struct hc_block *block = hc_program_parse(
        program, "a = sum(2, sum(i + 1, i) * i)\ni = 5\nb = i + sum(i: 3, i)\nc = i", false,
        &error);
    cr_assert_not_null(block, "%s", error.what);
    const struct hc_node *outer = block->statement[0].value;
    const struct hc_node *inner = outer->operand[1]->operand[0];
    int value = block->statement[1].name;
    const struct hc_node *later = block->statement[2].value->operand[1];
    cr_expect_neq(outer->name, inner->name);
    cr_expect_eq(inner->operand[0]->operand[0]->name, outer->name);
    cr_expect_eq(inner->operand[1]->name, inner->name);
    cr_expect_eq(outer->operand[1]->operand[1]->name, outer->name);
    cr_expect_eq(block->statement[2].value->operand[0]->name, value);
    cr_expect_eq(later->operand[1]->name, later->name);
    cr_expect_eq(later->name, outer->name, "an index is used again");
    cr_expect_eq(block->statement[3].value->name, value);
    cr_expect_eq(hc_program_names(program), 6);
    hc_program_free(program);
}

static void expect_text(const char *at, int length, const char *want)
{
    cr_expect(length == (int)strlen(want) && strncmp(at, want, strlen(want)) == 0,
              "want '%s', got '%.*s'", want, length, at);
}

Test(program, a_node_knows_its_whole_text)
{
    struct hc_formula_error error;
    struct hc_program *program = hc_some_program();
    const struct hc_block *block =
        hc_program_parse(program, " w -= (grad + 1) * sqrt( 2 )  # why\n;v = -x[0]", false, &error);
    cr_assert_not_null(block, "%s", error.what);
    cr_assert_eq(block->count, 2);
    const struct hc_node *update = block->statement[0].value;
    const struct hc_node *product = update->operand[1];
    expect_text(block->statement[0].at, block->statement[0].length, "w -= (grad + 1) * sqrt( 2 )");
    expect_text(update->at, update->length, "w -= (grad + 1) * sqrt( 2 )");
    expect_text(update->operand[0]->at, update->operand[0]->length, "w");
    expect_text(product->at, product->length, "(grad + 1) * sqrt( 2 )");
    expect_text(product->operand[0]->at, product->operand[0]->length, "grad + 1");
    expect_text(product->operand[1]->at, product->operand[1]->length, "sqrt( 2 )");
    const struct hc_node *negated = block->statement[1].value;
    expect_text(negated->at, negated->length, "-x[0]");
    expect_text(negated->operand[0]->at, negated->operand[0]->length, "x[0]");
    cr_expect(update->at >= block->text && update->at < block->text + strlen(block->text));
    hc_program_free(program);
}

Test(program, an_update_is_the_operation_and_the_assignment)
{
    static const char *const names[] = {"add", "sub", "mul", "div"};
    for (int i = 0; i < 4; i++) {
        struct hc_formula_error error;
        char text[] = "w += 1 + grad";
        char got[256] = "";
        char want[64];
        text[2] = "+-*/"[i];
        struct hc_program *program = hc_some_program();
        const struct hc_block *block = hc_program_parse(program, text, false, &error);
        cr_assert_not_null(block, "%s", error.what);
        dump(program, block->statement[0].value, got);
        (void)snprintf(want, sizeof want, "(%s w (add 1 grad))", names[i]);
        cr_expect_str_eq(got, want);
        cr_expect_str_eq(hc_program_name(program, block->statement[0].name), "w");
        cr_expect_not(block->statement[0].constant);
        hc_program_free(program);
    }
}

Test(program, a_block_of_expressions_assigns_nothing)
{
    struct hc_formula_error error;
    struct hc_program *program = hc_some_program();
    int nodes = hc_program_nodes(program);
    const struct hc_block *block =
        hc_program_parse(program, "w, x[0]; max(w, grad)\n", true, &error);
    cr_assert_not_null(block, "%s", error.what);
    cr_assert_eq(block->count, 3);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(block->statement[i].name, -1);
    expect_text(block->statement[1].at, block->statement[1].length, "x[0]");
    cr_expect_eq(hc_program_nodes(program), nodes + 1 + 3 + 3);
    hc_program_free(program);
}

Test(program, what_reads_the_step_is_known)
{
    struct hc_formula_error error;
    struct hc_program *program = hc_some_program();
    const struct hc_block *block =
        hc_program_parse(program, "step, w, 1 - 0.9^step, sum(3, i)", true, &error);
    cr_assert_not_null(block, "%s", error.what);
    for (int i = 0; i < 4; i++)
        cr_expect_eq(hc_node_reads_step(block->statement[i].value), i == 0 || i == 2);
    hc_program_free(program);
}

Test(program, constants_are_made_of_numbers_constants_steps_and_indices)
{
    static const struct {
        const char *text;
        bool constant;
    } cases[] = {{"1", true},          {"eps", true},        {"step", true},
                 {"1 - n^step", true}, {"sqrt(2)", true},    {"max(1, n) < 2", true},
                 {"len(x)", true},     {"[1, eps]", true},   {"list(3, i*i)", true},
                 {"w", false},         {"w < 1", false},     {"fp16(1)", false},
                 {"sum(3, i)", false}, {"[1, w][0]", false}, {"list(3, w)", false}};
    struct hc_formula_error error;
    struct hc_program *program = hc_some_program();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct hc_block *block = hc_program_parse(program, cases[i].text, true, &error);
        cr_assert_not_null(block, "%s: %s", cases[i].text, error.what);
        cr_expect_eq(block->statement[0].value->constant, cases[i].constant, "%s", cases[i].text);
    }
    hc_program_free(program);
}

Test(program, a_cast_of_arms_takes_a_free_word)
{
    struct hc_program *program = hc_some_program();
    int names = hc_program_names(program);
    cr_expect(hc_program_add_cast(program, "acc"), "again");
    cr_expect(hc_program_add_cast(program, "store"));
    static const char *const taken[] = {
        "fp16", "half", "sqrt", "step", "inf", "w", "bf16_rz", "1x", "", "a b", "a_name_of_16_let"};
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        cr_expect_not(hc_program_add_cast(program, taken[i]), "%s", taken[i]);
    cr_expect_eq(hc_program_names(program), names);
    hc_program_free(program);
}

/* Texts that are no formulas: what is written wrongly. */

Test(parse, a_statement_assigns_a_name)
{
    refuse("w", "^", "a statement assigns: NAME = EXPRESSION");
    refuse("w + 1", "^", "a statement assigns: NAME = EXPRESSION");
    refuse("w == 1", "^", "a statement assigns: NAME = EXPRESSION");
    refuse("3 = w", "^", "a statement assigns: NAME = EXPRESSION");
    refuse("v = 1; sqrt(2)", "       ^~~~", "a statement assigns: NAME = EXPRESSION");
    refuse("x[0] = 1", " ^", "an element cannot be assigned, only a whole list");
    refuse("(w) = 1", "^", "the name of a value is missing before '('");
    refuse("v = 1, u = 2", "     ^", "an operator or ';' is missing before ','");
}

Test(parse, signs_of_other_languages_are_named)
{
    refuse("v = (w = 1)", "       ^", "'=' assigns; '==' compares");
    refuse("v = w = 1", "      ^", "'=' assigns; '==' compares");
    refuse("v = (w := 1)", "       ^~",
           "':=' stands behind the name of a constant, at the start of a statement");
    refuse("v = w // 2", "      ^~", "'//' is no sign here: write floor(a / b)");
    refuse("v = w && w", "      ^~", "'&&' is no sign here: truths are 0 or 1, write a * b");
    refuse("v = w || w", "      ^~", "'||' is no sign here: truths are 0 or 1, write max(a, b)");
    refuse("v = w % 2", "      ^", "'%' is no sign here: write a - b*floor(a / b)");
    refuse("v = !w", "    ^", "'!' is no sign here: write a == 0");
    refuse("v = x.half()", "     ^", "'.' is no sign here: write half(x), not x.half()");
    refuse("v = w @ w", "      ^", "'@' means nothing in a formula");
    refuse("v = \"w\"", "    ^", "'\"' means nothing in a formula");
    refuse("v = w × 2", "      ^~", "'×' means nothing in a formula");
    refuse("v = {1}", "    ^", "'{' means nothing in a formula");
}

Test(parse, brackets_are_closed)
{
    refuse("v = (1 + 2", "    ^", "this '(' is not closed");
    refuse("v = sqrt(2", "        ^", "this '(' is not closed");
    refuse("v = [1, 2", "    ^", "this '[' is not closed");
    refuse("v = x[0", "     ^", "this '[' is not closed");
    refuse("v = (1 +\n2)", "        ^", "an expression is missing: a formula ends with its line");
    refuse("v = (1\n+ 2)", "    ^", "this '(' is not closed: a formula ends with its line");
    refuse("v = 1 + 2)", "         ^", "this ')' closes nothing");
    refuse("v = (1 2)", "       ^", "an operator or ')' is missing before '2'");
    refuse("v = (1, 2)", "      ^", "an operator or ')' is missing before ','");
    refuse("v = [1 2]", "       ^", "an operator, ',' or ']' is missing before '2'");
    refuse("v = [1, ]", "        ^", "an expression is missing before ']'");
    refuse("v = []", "     ^", "an expression is missing before ']'");
    refuse("v = ()", "     ^", "an expression is missing before ')'");
    refuse("v = (1]", "      ^", "an operator or ')' is missing before ']'");
}

Test(parse, an_expression_is_whole)
{
    refuse("v = ", "   ^", "an expression is missing");
    refuse("v = # one", "   ^", "an expression is missing");
    refuse("v = 1 + ", "       ^", "an expression is missing");
    refuse("v = 1 * / 2", "        ^", "an expression is missing before '/'");
    refuse("v = +1", "    ^", "an expression is missing before '+'");
    refuse("v = 1 2", "      ^", "an operator or ';' is missing before '2'");
    refuse("v = w x", "      ^", "an operator or ';' is missing before 'x'");
    refuse("w -= ", "    ^", "an expression is missing");
    refuse("v = -", "     ^", "an expression is missing");
}

Test(parse, numbers_are_decimal_and_of_some_size)
{
    refuse("v = 1e", "    ^~", "'1e' is neither a number nor a name");
    refuse("v = 1e+", "    ^~", "'1e' is neither a number nor a name");
    refuse("v = 0x", "    ^~", "'0x' is neither a number nor a name");
    refuse("v = 0x.p1", "    ^~~~~", "'0x.p1' is neither a number nor a name");
    refuse("v = 0x1p", "    ^~~~", "'0x1p' is neither a number nor a name");
    refuse("v = 0x1g", "    ^~~~", "'0x1g' is neither a number nor a name");
    refuse("v = 0x1p16385", "    ^~~~~~~~~", "a binary exponent is at most 16384 in magnitude");
    refuse("v = 1__0", "    ^~~~", "'1__0' is neither a number nor a name");
    refuse("v = 1_", "    ^~", "'1_' is neither a number nor a name");
    refuse("v = 1_.5", "    ^~~~", "'1_.5' is neither a number nor a name");
    refuse("v = 1e_5", "    ^~~~", "'1e_5' is neither a number nor a name");
    refuse("v = 2x", "    ^~", "'2x' is neither a number nor a name");
    refuse("v = 1.2.3", "    ^~~~~", "'1.2.3' is neither a number nor a name");
    refuse("v = 1.0f", "    ^~~~", "'1.0f' is neither a number nor a name");
    refuse("v = 1e5.5", "    ^~~~~", "'1e5.5' is neither a number nor a name");
    refuse("v = 1e5001", "    ^~~~~~", "a decimal exponent is at most 5000 in magnitude");
    refuse("v = 2.5E-5001", "    ^~~~~~~~~", "a decimal exponent is at most 5000 in magnitude");
    refuse("v = 1e999999999", "    ^~~~~~~~~~~", "a decimal exponent is at most 5000 in magnitude");
    refuse("v = 1e99999999999999999999", "    ^~~~~~~~~~~~~~~~~~~~~~",
           "a decimal exponent is at most 5000 in magnitude");
}

Test(parse, a_table_shows_expressions)
{
    refuse_shown("", "^", "an expression is missing");
    refuse_shown("# w", "^", "an expression is missing");
    refuse_shown("w,", "  ^", "an expression is missing");
    refuse_shown("w,, x", "  ^", "an expression is missing before ','");
    refuse_shown("w = 1", "  ^", "'=' assigns; '==' compares");
    refuse_shown("w x", "  ^", "an operator or ',' is missing before 'x'");
}

/* Texts that are no formulas: wrong uses of names, words and functions. */

Test(names, a_name_is_assigned_before_it_is_read)
{
    refuse("v = ww + 1", "    ^~", "there is no 'ww'; did you mean 'w'?");
    refuse("v = gard", "    ^~~~", "there is no 'gard'; did you mean 'grad'?");
    refuse("v = setp", "    ^~~~", "there is no 'setp'; did you mean 'step'?");
    refuse("v = q", "    ^", "there is no 'q'");
    refuse("v -= 1", "^", "there is no 'v'");
    refuse("v = v", "    ^", "there is no 'v'");
    refuse("v = sum(3, i) + i", "                ^", "there is no 'i'");
    refuse("v = sum(j: 3, i)", "              ^", "there is no 'i'");
    refuse("v = sum(j: j, 1)", "           ^", "there is no 'j'");
    refuse("v = 1 +\n", "       ^", "an expression is missing: a formula ends with its line");
}

Test(names, a_name_stays_a_value_or_a_constant)
{
    refuse("w := 1", "  ^~", "'w' is a value, which '=' assigns");
    refuse("eps = 1", "    ^", "'eps' is a constant, which ':=' assigns");
    refuse("eps *= 2", "    ^~", "'eps' is a constant, which ':=' assigns");
    refuse("v = 1; v := 2", "         ^~", "'v' is a value, which '=' assigns");
}

Test(names, a_word_that_has_a_meaning_is_no_name)
{
    refuse("sqrt = 1", "^~~~", "'sqrt' is a function and can be no name");
    refuse("half = 1", "^~~~", "'half' is a format and can be no name");
    refuse("bf16_rz := 1", "^~~~~~~", "'bf16_rz' is a format and can be no name");
    refuse("acc = 1", "^~~", "'acc' is a format and can be no name");
    refuse("pi = 3", "^~", "'pi' is a number and can be no name");
    refuse("step = 3", "^~~~", "'step' is the number of the step and can be no name");
    refuse("v = sum(step: 3, 1)", "        ^~~~",
           "'step' is the number of the step and can be no name");
    refuse("v = sqrt", "    ^~~~", "'sqrt' is a function: write sqrt(x)");
    refuse("v = fp16 + 1", "    ^~~~", "'fp16' is a format: write fp16(x)");
    refuse("a_name_that_is_longer_than_31_so = 1", "^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~",
           "a name has at most 31 characters");
}

Test(names, constants_are_asked_for)
{
    refuse("c := w", "     ^", "a constant is made of constants alone, and 'w' is a value");
    refuse("c := 1 + 2*fp16(3)", "           ^~~~~~~",
           "a constant is made of constants alone, and 'fp16(3)' is a value");
    refuse("c := sum(3, 1)", "     ^~~~~~~~~",
           "a constant is made of constants alone, and 'sum(3, 1)' is a value");
    refuse("v = x[w]", "      ^", "an index is a constant, and 'w' is a value");
    refuse("v = sum(w, 1)", "        ^", "the number of terms is a constant, and 'w' is a value");
    refuse("v = tree(j: count(x), 1)", "            ^~~~~~~~",
           "the number of terms is a constant, and 'count(x)' is a value");
}

Test(names, functions_are_known_and_take_so_many_operands)
{
    refuse("v = sqrtt(2)", "    ^~~~~", "there is no function 'sqrtt'; did you mean 'sqrt'?");
    refuse("v = bf17(2)", "    ^~~~", "there is no function 'bf17'; did you mean 'bf16'?");
    refuse("v = float61(2)", "    ^~~~~~~",
           "there is no function 'float61'; did you mean 'float64'?");
    refuse("v = u8(2)", "    ^~", "there is no function 'u8'");
    refuse("v = whatever(2)", "    ^~~~~~~~", "there is no function 'whatever'");
    refuse("v = w(2)", "    ^", "'w' is no function; '*' multiplies");
    refuse("v = sqrt(1, 2)", "    ^~~~~~~~~~", "'sqrt' takes 1 operand, not 2");
    refuse("v = sqrt()", "    ^~~~~~", "'sqrt' takes 1 operand, not 0");
    refuse("v = fma(1, 2)", "    ^~~~~~~~~", "'fma' takes 3 operands, not 2");
    refuse("v = min()", "    ^~~~~", "'min' takes 1 or more operands, not 0");
    refuse("v = sum(1, 2, 3)", "    ^~~~~~~~~~~~", "'sum' takes 1 or 2 operands, not 3");
    refuse("v = list(3)", "    ^~~~~~~", "'list' takes 2 operands, not 1");
    refuse("v = len(3, i)", "    ^~~~~~~~~", "'len' takes 1 operand, not 2");
    refuse("v = bf16(w, 1)", "    ^~~~~~~~~~", "'bf16' takes 1 operand, not 2");
    refuse("v = sum(j: 3)", "            ^", "the term is missing before ')'");
    refuse("v = cast(w)", "    ^~~~", "there is no function 'cast'");
}

enum { COLUMNS = 80 };

/* The lines below the sentence. */
static void expect(const char *text, int at, int length, const char *want)
{
    char got[512];
    struct hc_formula_error error = {.text = text, .at = at, .length = length, .what = "why"};
    hc_formula_error_text(&error, got, sizeof got);
    cr_assert_eq(strncmp(got, "why\n", 4), 0);
    cr_expect_str_eq(got + 4, want, "want\n%s\ngot\n%s", want, got + 4);
}

Test(error_text, is_the_sentence_the_line_and_a_caret)
{
    expect("w = ww + 1", 4, 2, "  w = ww + 1\n      ^~");
    expect("w = 1 +", 7, 1, "  w = 1 +\n         ^");
    expect("", 0, 1, "  \n  ^");
}

Test(error_text, shows_one_line_of_many)
{
    expect("w = 1\nv = q\nu = 2", 10, 1, "  v = q\n      ^");
    expect("w = 1\nv = (q\n1)", 10, 6, "  v = (q\n      ^~");
    expect("w = 1\nv = \n", 10, 1, "  v = \n      ^");
}

Test(error_text, keeps_the_caret_below_its_place)
{
    expect("w\t= q", 4, 1, "  w = q\n      ^");
    expect("w = \xc3\xa4 + q", 9, 1, "  w = \xc3\xa4 + q\n          ^");
    expect("w = \xc3\xa4\xc3\xa4 + q", 4, 4, "  w = \xc3\xa4\xc3\xa4 + q\n      ^~");
    expect("w = \x1b[31m + q", 12, 1, "  w = ?[31m + q\n              ^");
    expect("w = \x7f\r\x01 + q", 10, 1, "  w = ??? + q\n            ^");
    expect("w = \xff + q", 8, 1, "  w = \xef\xbf\xbd + q\n          ^");
    expect("w = \xc2\x9b + q", 9, 1, "  w = ? + q\n          ^");
}

/* A line of 300 characters, a digit in ten: wherever the place is, both lines fit the terminal, and
   the caret stands below the place. */
Test(error_text, cuts_a_long_line_around_the_place)
{
    char text[301] = "";
    for (int i = 0; i < 300; i++)
        text[i] = (char)(i % 10 ? 'a' + i % 10 : '0' + i / 10 % 10);
    for (int at = 0; at <= 300; at++)
        for (int length = 1; length < 300; length += 49) {
            char got[512];
            struct hc_formula_error error = {.text = text, .at = at, .length = length, .what = "w"};
            hc_formula_error_text(&error, got, sizeof got);
            char *line = got + 2;
            char *below = strchr(line, '\n') + 1;
            int caret = (int)strspn(below, " ");
            cr_assert_eq(below - 1 - line, COLUMNS - 1, "%s", got);
            cr_assert_leq((int)strlen(below), COLUMNS, "%s", got);
            cr_assert_eq(below[caret], '^');
            cr_assert(at == 300 || line[caret] == text[at], "%d:\n%s", at, got);
            cr_assert_eq(strncmp(line + 2, at <= 38 ? text : "...", 3), 0, "%d:\n%s", at, got);
            cr_assert_eq(strncmp(below - 4, at > 260 ? text + 297 : "...", 3), 0, "%d:\n%s", at,
                         got);
        }
}

Test(error_text, wraps_a_long_sentence_between_words)
{
    char got[512];
    struct hc_formula_error error = {.text = "w", .length = 1};
    for (int i = 0; i < 14; i++)
        (void)strcat(error.what, "a sentence ");
    hc_formula_error_text(&error, got, sizeof got);
    int lines = 0;
    for (char *line = strtok(got, "\n"); line; line = strtok(NULL, "\n"), lines++)
        cr_expect_leq((int)strlen(line), COLUMNS, "%s", line);
    cr_expect_eq(lines, 4);
}

Test(error_text, a_small_buffer_gets_the_beginning)
{
    struct hc_formula_error error = {
        .text = "w = q", .at = 4, .length = 1, .what = "there is no q"};
    char whole[128];
    char got[129];
    hc_formula_error_text(&error, whole, sizeof whole);
    for (size_t size = 1; size < sizeof whole; size++) {
        memset(got, 'x', sizeof got);
        hc_formula_error_text(&error, got, size);
        cr_assert_eq(strncmp(got, whole, size - 1), 0);
        cr_assert_lt(strlen(got), size);
        cr_assert_eq(got[size], 'x');
    }
    hc_formula_error_text(&error, got, 0);
}
