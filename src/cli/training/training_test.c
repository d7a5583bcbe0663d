/* What a record says of a training's settings. */
#include <criterion/criterion.h>
#include <string.h>

#include "backend.h"
#include "cli/training/training_record.h"

Test(training, a_repro_line_says_where_real_images_lie_and_nothing_of_made_ones)
{
    char line[512];
    const struct hc_backend backend = {.name = "host"};
    const struct hc_training training = {.data = "DIR",
                                         .classes = "cat,dog",
                                         .epochs = 5,
                                         .batch = 64,
                                         .max_lr = 0.5,
                                         .backend = &backend,
                                         .network = &hc_darknet16};
    hc_training_repro(&training, line, sizeof line);
    cr_assert_str_eq(line, " --data DIR --classes cat,dog --epochs 5 --batch 64 --lr 0.5 --backend "
                           "host --network darknet16");
    struct hc_training elsewhere = training;
    elsewhere.data = "my data; touch pwned";
    hc_training_repro(&elsewhere, line, sizeof line);
    cr_assert_eq(strncmp(line, " --data 'my data; touch pwned' --classes", 40), 0, "%s", line);
}

Test(training, the_settings_of_a_record_name_a_folder_that_is_not_utf_8)
{
    const struct hc_backend backend = {.name = "host"};
    struct hc_training training = {.backend = &backend, .network = &hc_darknet16};
    (void)strcpy(training.set.origin, "CIFAR-10 from \xff");
    json_t *settings = hc_training_settings(&training);
    cr_expect_str_eq(json_string_value(json_object_get(settings, "data")), "CIFAR-10 from \\xff");
    json_decref(settings);
}
