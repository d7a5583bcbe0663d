/* The numbers of ranks of `compare --drift`: what is read, what is refused, and what records call
   a recipe over ranks. */
#include "cli/training/drift_ranks.h"

#include <criterion/criterion.h>

static struct hc_training training = {.batch = 16};
static struct hc_comparison comparison;

static void setup(void)
{
    comparison = (struct hc_comparison){.training = &training, .drift = true, .recipes = 1};
    comparison.recipe[0] = hc_recipe_by_name("amp");
}

Test(drift_ranks_option, numbers_are_kept_in_their_order, .init = setup)
{
    cr_assert_eq(hc_drift_read_ranks("8,1,2", &comparison), HC_OK);
    cr_assert_eq(comparison.ranks_count, 3);
    cr_expect(comparison.ranks[0] == 8 && comparison.ranks[1] == 1 && comparison.ranks[2] == 2);
    cr_expect_eq(hc_drift_check_ranks(&comparison), HC_OK);
    cr_expect_eq(hc_drift_read_ranks(NULL, &comparison), HC_OK);
    cr_expect_eq(comparison.ranks_count, 3);
}

Test(drift_ranks_option, what_is_no_list_of_ranks_is_refused_with_one_line)
{
    static const struct {
        const char *list;
        const char *line;
    } wrong[] = {
        {"0", "--ranks takes numbers from 1 to 64, such as 1,2,4,8, not '0'"},
        {"65", "--ranks takes numbers from 1 to 64, such as 1,2,4,8, not '65'"},
        {"2x", "--ranks takes numbers from 1 to 64, such as 1,2,4,8, not '2x'"},
        {"-2", "--ranks takes numbers from 1 to 64, such as 1,2,4,8, not '-2'"},
        {"1,", "--ranks '1,': an element is empty"},
        {"2,4,2", "--ranks names 2 twice"},
        {"1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "--ranks takes at most 16 numbers"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        setup();
        cr_expect_eq(hc_drift_read_ranks(wrong[i].list, &comparison), HC_INVALID);
        cr_expect_str_eq(hc_message(), wrong[i].line);
    }
}

Test(drift_ranks_option, batches_that_do_not_divide_and_trainings_are_refused, .init = setup)
{
    cr_assert_eq(hc_drift_read_ranks("2,3", &comparison), HC_OK);
    cr_expect_eq(hc_drift_check_ranks(&comparison), HC_INVALID);
    cr_expect_str_eq(hc_message(), "a batch of 16 is not divisible into 3 shards");
    comparison.drift = false;
    cr_expect_eq(hc_drift_read_ranks("2", &comparison), HC_INVALID);
}

Test(drift_ranks_option, a_recipe_over_ranks_has_a_name_of_its_own, .init = setup)
{
    char name[HC_DRIFT_NAME];
    struct hc_drift d = {.recipe = comparison.recipe[0], .ranks = 8, .shards = 8};
    hc_drift_name(&d, name);
    cr_expect_str_eq(name, "amp-ranks8");
    d.ranks = d.shards = 1;
    hc_drift_name(&d, name);
    cr_expect_str_eq(name, "amp");
}
