/* Texts that are no formulas: what is written wrongly. */
#include "formula/testing.h"

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
    refuse("v = w ** 2", "      ^~",
           "'**' is no sign here: write ^ between constants, x*x between values");
    refuse("v = w // 2", "      ^~", "'//' is no sign here: write floor(a / b)");
    refuse("v = w && w", "      ^~", "'&&' is no sign here: truths are 0 or 1, write a * b");
    refuse("v = w || w", "      ^~", "'||' is no sign here: truths are 0 or 1, write max(a, b)");
    refuse("v = w % 2", "      ^", "'%' is no sign here: write a - b*floor(a / b)");
    refuse("v = !w", "    ^", "'!' is no sign here: write a == 0");
    refuse("v = x.half()", "     ^",
           "'.' is no sign here: write half(x), not x.half(), and sqrt(x), not torch.sqrt(x)");
    refuse("v = torch.sqrt(w)", "    ^~~~~", "there is no 'torch'");
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
    refuse("v = 1 < 2 < 3", "          ^", "comparisons do not chain: write (a < b) * (b < c)");
    refuse("v = -", "     ^", "an expression is missing");
}

Test(parse, numbers_are_decimal_and_of_some_size)
{
    refuse("v = 1e", "    ^~", "'1e' is neither a number nor a name");
    refuse("v = 1e+", "    ^~", "'1e' is neither a number nor a name");
    refuse("v = 0x10", "    ^~~~", "'0x10' is neither a number nor a name");
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
