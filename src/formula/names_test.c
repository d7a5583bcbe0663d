/* Texts that are no formulas: wrong uses of names, words and functions. */
#include "formula/testing.h"

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
    refuse("v = w^2", "    ^",
           "^ stands between constants (write x*x for a value's square), and 'w' is a value");
    refuse("v = 2^(1 + grad)", "           ^~~~",
           "^ stands between constants (write x*x for a value's square), and 'grad' is a value");
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
    refuse("v = min(1, 2, 3)", "    ^~~~~~~~~~~~", "'min' takes 1 or 2 operands, not 3");
    refuse("v = sum(1, 2, 3)", "    ^~~~~~~~~~~~", "'sum' takes 1 or 2 operands, not 3");
    refuse("v = list(3)", "    ^~~~~~~", "'list' takes 2 operands, not 1");
    refuse("v = len(3, i)", "    ^~~~~~~~~", "'len' takes 1 operand, not 2");
    refuse("v = bf16(w, 1)", "    ^~~~~~~~~~", "'bf16' takes 1 operand, not 2");
    refuse("v = sum(j: 3)", "            ^", "the term is missing before ')'");
    refuse("v = cast(w)", "    ^~~~", "there is no function 'cast'");
}
