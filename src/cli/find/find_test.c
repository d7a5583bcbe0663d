/* Whether people find what they mean. The sentences of asked.txt are asked, and a right case has to
   come first, or among the first five, often enough. */
#include "cli/find/find.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The place of the first right case among the answers, from 1; 0 if none is there. `right` has
   their names with blanks between. */
static int place_of_right(const char *sentence, const char *right)
{
    static struct hc_asked asked;
    struct hc_found *found;
    int count;
    int place = 0;
    hc_asked_read(&asked, sentence);
    cr_assert_eq(hc_find(&asked, sentence, &found, &count), HC_OK);
    for (int i = 0; i < count && !place; i++) {
        const char *at = strstr(right, found[i].name);
        size_t length = strlen(found[i].name);
        if (at && at[-1] == ' ' && (at[length] == ' ' || at[length] == '\n' || !at[length]))
            place = i + 1;
    }
    if (getenv("HC_FIND_SHOW") && place != 1)
        (void)fprintf(stderr, "%3d %s\n      %s\n", place, sentence, count ? found[0].name : "-");
    free(found);
    return place;
}

static const char older[] = HC_SOURCE "/src/cli/find/asked.txt";
static const char later[] = HC_SOURCE "/src/cli/find/asked_later.txt";

/* Asks every second sentence of a file that has so many or more, from this one on. A short test,
   whose sanitizers look at memory, asks a few, which prove nothing: both shares are then 1. */
static void ask(const char *path, int least, int first, double *at_first, double *among_five)
{
    char line[1024];
    int number = 0;
    int asked = 0;
    int firsts = 0;
    int fives = 0;
    bool is_short = getenv("HALFCHECK_SHORT_TESTS") != NULL;
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    while (fgets(line, sizeof line, file)) {
        char *bar = strchr(line, '|');
        if (line[0] == '#')
            continue;
        cr_assert_not_null(bar, "%s", line);
        if (++number % 2 != first % 2)
            continue;
        if (is_short && number > 8)
            continue;
        *bar = '\0';
        int place = place_of_right(line, bar + 1);
        asked++;
        firsts += place == 1;
        fives += place >= 1 && place <= 5;
    }
    (void)fclose(file);
    cr_assert_geq(number, least);
    *at_first = is_short ? 1 : (double)firsts / asked;
    *among_five = is_short ? 1 : (double)fives / asked;
    if (getenv("HC_FIND_SHOW"))
        (void)fprintf(stderr, "%d sentences: first %.3f, among five %.3f\n", asked, *at_first,
                      *among_five);
}

Test(find, a_word_that_nobody_has_is_taken_for_one_that_is_spelt_nearly_so)
{
    static struct hc_asked asked;
    struct hc_found *found;
    int count;
    hc_asked_read(&asked, "unscael twice");
    cr_assert_eq(hc_find(&asked, "unscael twice", &found, &count), HC_OK);
    cr_assert_str_eq(asked.typed[0], "unscael");
    cr_assert_str_eq(asked.word[0].typed, "unscale");
    cr_assert_str_eq(found[0].name, "order/unscale-twice");
    free(found);
}

Test(find, what_is_stuck_at_0_is_a_loss_scale_unless_something_else_is_named)
{
    static const struct {
        const char *sentence;
        const char *first;
    } rows[] = {{"stuck at 0", " field/halvings/loss-scale-to-zero"},
                {"stuck at zero", " field/halvings/loss-scale-to-zero"},
                {"scale goes to zero", " field/halvings/loss-scale-to-zero"},
                {"weights stuck at 0", " field/lost-updates/update-below-half-ulp-bf16"}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        cr_expect_eq(place_of_right(rows[r].sentence, rows[r].first), 1, "%s", rows[r].sentence);
}

Test(find, how_long_it_took_is_not_what_went_wrong)
{
    static const struct {
        const char *sentence;
        const char *first;
    } rows[] = {
        {"loss becomes nan after 100 steps with Adam in fp16",
         " eps/adam-in-half-zero-gradient eps/adam-in-half-eps-1e-4 eps/adam-in-half-eps-1e-7 "
         "eps/loop-is-nan-fused-is-not training/pure-half-is-nan"},
        {"adam nan after 300 iterations", " eps/adam-in-half-zero-gradient"},
        {"weights do not change after 100 steps bf16",
         " field/lost-updates/update-below-half-ulp-bf16"},
        {"step counter stops at 256 steps", " field/step-counter/step-counter-bf16-256"}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        cr_expect_eq(place_of_right(rows[r].sentence, rows[r].first), 1, "%s", rows[r].sentence);
}

Test(find, a_word_is_not_taken_for_one_of_another_meaning)
{
    static const char *const words[] = {"argmax of ties", "warning before step"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        static struct hc_asked asked;
        struct hc_found *found;
        int count;
        hc_asked_read(&asked, words[i]);
        cr_assert_eq(hc_find(&asked, words[i], &found, &count), HC_OK);
        cr_expect_eq(asked.typed[0][0], '\0', "%s is taken for %s", words[i], asked.word[0].typed);
        free(found);
    }
}

Test(find, words_that_nobody_has_still_find_three)
{
    static struct hc_asked asked;
    struct hc_found *found;
    int count;
    hc_asked_read(&asked, "qqqqq zzzzzz");
    cr_assert_eq(hc_find(&asked, "qqqqq zzzzzz", &found, &count), HC_OK);
    cr_assert_eq(asked.known[0] + asked.known[1], 0);
    cr_assert_eq(count, 3);
    free(found);
}

Test(find, a_part_of_a_word_that_is_not_its_beginning_is_none)
{
    static struct hc_find_word asked[HC_WORDS_OF_TEXT];
    static struct hc_find_word found[HC_WORDS_OF_TEXT];
    (void)hc_words_of_text("hang", asked);
    cr_assert_eq(hc_words_of_text("changes", found), 1);
    cr_assert_eq(hc_word_match(asked, found), 0);
    (void)hc_words_of_text("changing", asked);
    cr_assert_gt(hc_word_match(asked, found), 0.9);
}

Test(find, numbers_are_whole_with_or_without_commas)
{
    static struct hc_find_word words[HC_WORDS_OF_TEXT];
    static const struct {
        const char *text;
        const char *number;
    } rows[] = {{"above 65,504, half ends", "65504"},
                {"eps=1e-8 is 0", "1e-8"},
                {"below 2^-24", "2^-24"},
                {"0.999,0.9", "0.999"},
                {"fp16", "fp16"},
                {"1e-80", "1e-80"}};
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        int n = hc_words_of_text(rows[r].text, words);
        bool there = false;
        for (int i = 0; i < n; i++)
            there = there || strcmp(words[i].typed, rows[r].number) == 0;
        cr_assert(there, "%s: want %s", rows[r].text, rows[r].number);
    }
}

Test(find, sentences_that_the_search_was_tuned_on_find_their_case)
{
    double at_first;
    double among_five;
    ask(older, 100, 1, &at_first, &among_five);
    cr_assert_geq(at_first, 0.8);
    cr_assert_geq(among_five, 0.95);
}

Test(find, sentences_that_were_kept_apart_find_their_case)
{
    double at_first;
    double among_five;
    ask(older, 100, 2, &at_first, &among_five);
    cr_assert_geq(at_first, 0.8);
    cr_assert_geq(among_five, 0.95);
}

/* What find is for people who were not asked before: it was not tuned on half of these. The shares
   are what was measured, less two sentences, and a goal of 0.8 and 0.95 is not met. */
Test(find, sentences_that_came_later_are_found_as_often_as_measured)
{
    for (int half = 1; half <= 2; half++) {
        double at_first;
        double among_five;
        ask(later, 60, half, &at_first, &among_five);
        cr_expect_geq(at_first, 0.4);
        cr_expect_geq(among_five, 0.66);
    }
}
