#include "cli/picture/testing.h"

/* A record of two recipes, with its folders: one learns, and the loss of the other is NaN. */
static void make_runs(void)
{
    enter_folder();
    cr_assert_eq(run_shell("mkdir fp32-seed1 half-seed1")->status, 0);
    write_text("fp32-seed1/epochs.csv",
               "epoch,train_loss,train_accuracy,test_loss,test_accuracy,images_per_second,skipped,"
               "scale\n0,0.5,0.7,0.5,0.75,100,2,1024\n1,0.25,0.8,0.4,0.875,100,1,2048\n");
    write_text("half-seed1/epochs.csv",
               "epoch,train_loss,train_accuracy,test_loss,test_accuracy,images_per_second,skipped,"
               "scale\n0,nan,0.1,nan,0.503125,100,0,1\n");
    write_text("fp32-seed1/gradients.csv",
               "epoch,exponent,scaled,unscaled,activations_scaled,activations_unscaled\n"
               "0,-150,0,1,0,0\n0,-30,1,3,0,0\n0,-10,9,6,0,0\n");
    write_text("half-seed1/gradients.csv",
               "epoch,exponent,scaled,unscaled,activations_scaled,activations_unscaled\n"
               "0,128,9,9,0,0\n");
    write_text("fp32-seed1/run.json", "{\"training\": {\"updates_lost\": 0.25, \"underflow\": 0.5,"
                                      " \"activation_underflow\": 0}}");
    write_text("half-seed1/run.json", "{\"training\": {\"updates_lost\": 0.125, \"underflow\":"
                                      " null, \"activation_underflow\": null}}");
}

TestSuite(picture_runs, .init = make_runs);

static struct drawn_pictures draw(const char *name)
{
    struct drawn_pictures d = {0};
    char results[1 << 16];
    (void)snprintf(results, sizeof results, "%s,%s",
                   result_text("train/fp32-seed1", "0.25", "1", ""),
                   result_text("train/half-seed1", "nan", "1", ""));
    add_record(&d, name, record_text(results, ""));
    draw_pictures(&d);
    expect_sound(&d);
    return d;
}

Test(picture_runs, are_found_beside_the_record)
{
    char path[4096];
    struct drawn_pictures d = draw("record.json");
    const char *answer = picture_of(&d, "accuracy")->answer;
    cr_expect(strstr(answer, "of 2 runs of 2 recipes learned; 1 ended in NaN"), "%s", answer);
    answer = picture_of(&d, "loss")->answer;
    cr_expect(strstr(answer, "between 0.25 nat (fp32) and 0.25 nat (fp32)"), "%s", answer);
    cr_expect(strstr(answer, "1 of 2 runs have no finite loss"), "%s", answer);
    answer = picture_of(&d, "scale")->answer;
    cr_expect(strstr(answer, "1 of 2 recipes moves its scale or skips steps"), "%s", answer);
    cr_expect(strstr(answer, "skip 3 steps"), "%s", answer);
    answer = picture_of(&d, "weight-gradients")->answer;
    cr_expect(strstr(answer, "at most 40 % lie beyond half's window (fp32)"), "%s", answer);
    cr_expect(strstr(answer, "that is 10 %"), "%s", answer);
    answer = picture_of(&d, "lost")->answer;
    cr_expect(strstr(answer, "fp32 loses the most updates: a share of 0.25"), "%s", answer);
    forget_pictures(&d);
    cr_assert_not_null(getcwd(path, sizeof path - 16));
    strcat(path, "/record.json");
    cr_assert_eq(chdir("/tmp"), 0);
    d = draw(path);
    cr_expect_null(picture_of(&d, "accuracy")->why_not);
    forget_pictures(&d);
}

Test(picture_runs, a_run_that_ends_in_nan_has_no_accuracy)
{
    struct drawn_pictures d = draw("record.json");
    const struct hc_page_picture *p = picture_of(&d, "accuracy");
    cr_expect_null(strstr(p->data, "50.3125"), "%s", p->data);
    cr_expect(strstr(p->data, "nan\thalf\tcross"), "%s", p->data);
    if (p->svg)
        cr_expect(strstr(p->svg, ">NaN<"));
    p = picture_of(&d, "lost");
    cr_expect_null(strstr(p->data, "0.125"), "%s", p->data);
    cr_expect(strstr(p->data, "nan\tnan\t1\thalf"), "%s", p->data);
    forget_pictures(&d);
}

Test(picture_runs, files_that_are_missing_or_not_theirs_are_said)
{
    cr_assert_eq(run_shell("rm -r fp32-seed1 half-seed1")->status, 0);
    struct drawn_pictures d = draw("record.json");
    cr_expect_str_eq(picture_of(&d, "accuracy")->why_not,
                     "2 of 2 runs have no epochs.csv in a folder beside the record");
    forget_pictures(&d);
    struct drawn_pictures out = {0};
    add_record(&out, "record.json",
               record_text(result_text("train/../../etc-seed1", "1", "1", ""), ""));
    draw_pictures(&out);
    cr_expect_str_eq(picture_of(&out, "accuracy")->why_not, "no record is one of train or compare");
    forget_pictures(&out);
}

Test(picture_runs, are_sound_whatever_the_files_say)
{
    static const char *const files[] = {
        "",
        "\n",
        "epoch\n",
        "epoch,train_loss,test_accuracy,scale,skipped\n",
        "epoch,train_loss,test_accuracy,scale,skipped\n0,0.5,0.5,1024,1\n",
        "epoch,train_loss,test_accuracy,scale,skipped\n0,0,0,0,0\n1,0,0,0,0\n",
        "epoch,train_loss,test_accuracy,scale,skipped\nnan,nan,nan,nan,nan\n",
        "epoch,train_loss,test_accuracy,scale,skipped\ninf,inf,inf,inf,inf\n1,-inf,1e308,-1,9\n",
        "epoch,train_loss,test_accuracy,scale,skipped\n0,1e308,1e308,1e308,0\n1,-1e308,-1e308,1,"
        "0\n",
        "epoch,exponent,scaled,unscaled\n0,nan,1,1\n0,1e308,1e308,1e308\n0,-5,inf,nan\n",
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        write_text("fp32-seed1/epochs.csv", files[i]);
        write_text("fp32-seed1/gradients.csv", files[i]);
        write_text("fp32-seed1/steps.csv", files[i]);
        struct drawn_pictures d = draw("record.json");
        forget_pictures(&d);
    }
}
