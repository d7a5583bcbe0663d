/* The pictures of a comparison, drawn from the files of its runs. */
#include "cli/report/plot.h"
#include "cli/report/script.h"
#include "cli/training/comparison.h"
#include "op/text.h"
#include "train/update/recipe_fields.h"

enum { LONGEST_LABEL = 48, SHORT_LABEL = 26 };

static void set_recipes(struct hc_plot_values *values, const struct hc_comparison *c)
{
    static const char *const arrays[] = {"recipe_name", "recipe_short", "recipe_nan", "recipe_tic"};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        hc_plot_array(values, arrays[i], c->recipes);
    for (int r = 0; r < c->recipes; r++) {
        char nan[HC_NAN_TEXT];
        char label[HC_COMPARED_LABEL + HC_NAN_TEXT + 2];
        char name[HC_COMPARED_LABEL];
        hc_comparison_label(c, r, name);
        (void)hc_comparison_nan(c, r, nan);
        (void)snprintf(label, sizeof label, "%s%s%s", name, *nan ? ": " : "", nan);
        hc_plot_text(values, "recipe_name", r + 1, label, LONGEST_LABEL);
        hc_plot_text(values, "recipe_short", r + 1, name, SHORT_LABEL);
        hc_plot_text(values, "recipe_nan", r + 1, nan, LONGEST_LABEL);
        hc_plot_tic(values, "recipe_tic", r + 1, name, LONGEST_LABEL);
    }
}

/* The values that both scripts take (reports/compare.gp). The folder of seed s of recipe r is
   number r + (s - 1) * recipes. A seed that the recipe lacks has the folder of its first one,
   which is drawn twice in the same place then. */
static struct hc_plot_values *values_of(const struct hc_comparison *c)
{
    const struct hc_training_run *run;
    struct hc_plot_values *values = hc_plot_values();
    hc_plot_integer(values, "n", 0, c->recipes);
    hc_plot_integer(values, "base", 0, c->base + 1);
    hc_plot_integer(values, "seeds", 0, c->seeds);
    hc_plot_integer(values, "synthetic", 0, c->training->set.synthetic);
    set_recipes(values, c);
    hc_plot_array(values, "run_folder", c->recipes * c->seeds);
    for (int at = 0; at < c->recipes * c->seeds; at++) {
        char name[HC_COMPARED_LABEL + 40];
        int r = at % c->recipes;
        bool there = at / c->recipes < c->seeds_of[r];
        hc_comparison_folder(c, r, c->training->seed + (there ? (uint64_t)(at / c->recipes) : 0),
                             name, sizeof name);
        hc_plot_text(values, "run_folder", at + 1, name, sizeof name);
    }
    hc_plot_array(values, "recipe_of_run", c->recipes * c->seeds);
    for (int i = 0; (run = hc_comparison_next(c, i)) != NULL; i++)
        hc_plot_integer(values, "recipe_of_run", i + 1, (run - c->run) % c->recipes + 1);
    return values;
}

void hc_comparison_draw(const struct hc_comparison *c, const char *folder)
{
    if (hc_plot(hc_script("compare.gp"), values_of(c), folder) == HC_OK &&
        hc_plot(hc_script("summary.gp"), values_of(c), folder) == HC_OK)
        hc_print_line(stdout, "pictures: %s/{curves,scale,gradients,summary}.{svg,png}", folder);
    else
        hc_print_line(stdout, "no pictures: %s", hc_message());
}
