#include "cli/search.h"

#include <criterion/criterion.h>

Test(search, a_word_by_itself_counts_more_than_a_start_and_a_start_more_than_a_part)
{
    cr_assert_eq(hc_search_text("Adam gives NaN", "nan"), 3);
    cr_assert_eq(hc_search_text("the nans of Adam", "nan"), 2);
    cr_assert_eq(hc_search_text("finance", "nan"), 1);
    cr_assert_eq(hc_search_text("finance, nan-safe", "nan"), 3);
    cr_assert_eq(hc_search_text("inf", "nan"), 0);
    cr_assert_eq(hc_search_text("", "nan"), 0);
}

Test(search, a_number_must_stand_by_itself)
{
    cr_assert_eq(hc_search_text("above 65504.", "65504"), 3);
    cr_assert_eq(hc_search_text("above 65,504, half ends", "65504"), 3);
    cr_assert_eq(hc_search_text("-65504", "65504"), 3);
    cr_assert_eq(hc_search_text("165504", "65504"), 0);
    cr_assert_eq(hc_search_text("65504.5", "65504"), 0);
    cr_assert_eq(hc_search_text("1,655,504", "655"), 0);
    cr_assert_eq(hc_search_text("adam-eps-1e-8-half", "1e-8"), 3);
    cr_assert_eq(hc_search_text("1e-80 and 11e-8", "1e-8"), 0);
    cr_assert_eq(hc_search_text("1e-8", "8"), 0);
    cr_assert_eq(hc_search_text("v2.5", "5"), 0);
    cr_assert_eq(hc_search_text("2^-24", "2^-24"), 3);
    cr_assert_eq(hc_search_text("fp16", "16"), 0);
}

Test(search, words_are_parted_by_blanks_and_written_small)
{
    const char *words = "  NaN 65,504\tAdam,SGD ";
    char word[16];
    cr_assert_eq(hc_search_word(&words, word, sizeof word), 3);
    cr_assert_str_eq(word, "nan");
    cr_assert_eq(hc_search_word(&words, word, sizeof word), 5);
    cr_assert_str_eq(word, "65504");
    cr_assert_eq(hc_search_word(&words, word, sizeof word), 8);
    cr_assert_str_eq(word, "adam,sgd");
    cr_assert_eq(hc_search_word(&words, word, sizeof word), 0);
}
