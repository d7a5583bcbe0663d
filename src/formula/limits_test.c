/* The limits of a program, and texts of all sorts: each gives a block, or an error whose place lies
   inside the text. */
#include <stdio.h>
#include <stdlib.h>

#include "formula/testing.h"
#include "num/rng.h"

enum { ROUNDS = 20000 };

/* `n` times one text, between a beginning and an end. */
static char *repeat(const char *before, const char *text, int n, const char *after)
{
    size_t length = strlen(text);
    char *all = malloc(strlen(before) + (size_t)n * length + strlen(after) + 1);
    cr_assert_not_null(all);
    char *at = all + strlen(strcpy(all, before));
    for (int i = 0; i < n; i++, at += length)
        memcpy(at, text, length);
    (void)strcpy(at, after);
    return all;
}

static void parse(char *text, bool accepted, int at, const char *what)
{
    struct hc_formula_error error;
    struct hc_program *program = hc_some_program();
    bool parsed = hc_program_parse(program, text, false, &error) != NULL;
    cr_expect_eq(parsed, accepted, "'%.40s...': %s", text, parsed ? "accepted" : error.what);
    if (!parsed && !accepted) {
        cr_expect_str_eq(error.what, what);
        cr_expect_eq(error.at, at, "got %d", error.at);
    }
    hc_program_free(program);
    free(text);
}

Test(limits, nesting_is_limited_in_the_text_and_in_the_tree)
{
    static const char deep[] = "more than 100 operands are nested here";
    parse(repeat("v = ", "(", 60000, "1"), false, 104, deep);
    parse(repeat("v = ", "-", 60000, "1"), false, 104, deep);
    parse(repeat("v = ", "[", 60000, "1"), false, 104, deep);
    parse(repeat("v = ", "sqrt(", 12000, "1"), false, 504, deep);
    parse(repeat("v = ", "sum(3, ", 9000, "1"), false, 4 + 59 * 7 + 3,
          "there are more than 64 names");
    parse(repeat("v = x", "[x", 30000, "]"), false, 204, deep);
    parse(repeat("v = 1", "^1", 30000, ""), false, 204, deep);
    parse(repeat("v = 1", "+1", 30000, ""), false, 4, deep);
    parse(repeat("v = x", "[0]", 20000, ""), false, 4, deep);
    parse(repeat("v = 1", "+1", 99, ""), true, 0, "");
    parse(repeat("v = 1", "+1", 100, ""), false, 4, deep);
    parse(repeat("v = ", "-", 99, "1"), true, 0, "");
    parse(repeat("v = ((((((((", "", 0, "1))))))))"), true, 0, "");
}

Test(limits, a_list_may_be_long)
{
    parse(repeat("v = [1", ", 1", 20000, "]"), true, 0, "");
}

Test(limits, a_text_has_a_length)
{
    parse(repeat("", " ", HC_LONGEST_FORMULA, ""), true, 0, "");
    parse(repeat("", " ", HC_LONGEST_FORMULA + 1, ""), false, HC_LONGEST_FORMULA,
          "a text has at most 65536 characters");
}

Test(limits, names_are_so_many)
{
    struct hc_formula_error error;
    struct hc_program *program = hc_program_new();
    char text[64];
    for (int i = 0; i < HC_MAX_NAMES; i++) {
        (void)snprintf(text, sizeof text, "v%d = 1", i);
        cr_assert_not_null(hc_program_parse(program, text, false, &error));
    }
    cr_expect_not_null(hc_program_parse(program, "v3 = v63", false, &error));
    cr_expect_null(hc_program_parse(program, "w = 1", false, &error));
    cr_expect_str_eq(error.what, "there are more than 64 names");
    cr_expect_null(hc_program_parse(program, "v3 = sum(3, i)", false, &error));
    hc_program_free(program);
}

Test(limits, a_long_piece_is_quoted_by_its_beginning)
{
    parse(repeat("v = ", "name", 1000, ""), false, 4,
          "there is no 'namenamenamenamenamenamenamenamenam...'");
    parse(repeat("v = ", "1x", 1000, ""), false, 4,
          "'1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1...' is neither a number nor a name");
}

/* Good formulas of every kind; their pieces are what the soup is made of. */
static const char *const corpus[] = {
    "w = 1; w -= 1e-4 # a comment\nw *= .5",
    "eps := 1e-8; v = bf16(0.999 * fp32(w) + 0.001 * grad * grad)",
    "b := 1 - 0.999^step\nm = sqrt(w / b) + eps",
    "y = [1, 2.5, -3]; z = y[0] + y[n - 1] * len(y)",
    "s = sum(4096, 1) + tree(j: 3, prod(2, x[i] * j)) - sum(x)",
    "c = select(isnan(w) == 0, min(w, grad), max(x)); d = distinct(9, acc_rz(i / 8)) >= 2",
    "k = list(n, 2^-24 * i); q = -2^2 != 2^3^2; r = fma(w, inf, pi) <= nan",
};
enum { CORPUS = sizeof corpus / sizeof corpus[0] };

static bool is_sound(const char *text, bool shown)
{
    struct hc_formula_error error;
    char buffer[512];
    struct hc_program *program = hc_some_program();
    bool parsed = hc_program_parse(program, text, shown, &error) != NULL;
    if (!parsed) {
        cr_assert(error.at >= 0 && error.at <= (int)strlen(text), "'%s': at %d", text, error.at);
        cr_assert(error.length >= 1 && error.at + error.length <= (int)strlen(text) + 1, "'%s'",
                  text);
        cr_assert_neq(error.what[0], '\0', "'%s'", text);
        hc_formula_error_text(&error, buffer, sizeof buffer);
    }
    hc_program_free(program);
    return parsed;
}

Test(limits, every_beginning_of_a_formula_is_a_block_or_an_error)
{
    for (int i = 0; i < CORPUS; i++) {
        char text[256];
        cr_expect(is_sound(corpus[i], false), "'%s' is accepted", corpus[i]);
        for (size_t length = 0; length < strlen(corpus[i]); length++) {
            (void)snprintf(text, sizeof text, "%.*s", (int)length, corpus[i]);
            (void)is_sound(text, false);
            (void)is_sound(text, true);
        }
    }
}

Test(limits, random_bytes_are_a_block_or_an_error)
{
    uint64_t drawn = 0;
    for (int round = 0; round < ROUNDS; round++) {
        char text[65] = "";
        int length = (int)(hc_random(1, 0, drawn++) % 64);
        for (int i = 0; i < length; i++)
            text[i] = (char)(1 + hc_random(1, 0, drawn++) % 255);
        (void)is_sound(text, round % 2);
    }
}

/* A few pieces of the corpus, cut anywhere, one behind the other. */
Test(limits, random_pieces_of_formulas_are_a_block_or_an_error)
{
    uint64_t drawn = 0;
    int accepted = 0;
    for (int round = 0; round < ROUNDS; round++) {
        char text[256] = "";
        int pieces = 1 + (int)(hc_random(1, 1, drawn++) % 12);
        for (int i = 0; i < pieces; i++) {
            const char *from = corpus[hc_random(1, 1, drawn++) % CORPUS];
            size_t at = hc_random(1, 1, drawn++) % strlen(from);
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%.*s",
                           1 + (int)(hc_random(1, 1, drawn++) % 9), from + at);
        }
        accepted += is_sound(text, true);
    }
    cr_expect_gt(accepted, ROUNDS / 100, "%d of the texts are formulas", accepted);
}
