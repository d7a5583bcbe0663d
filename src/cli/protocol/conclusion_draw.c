/* The picture of a study (reports/study.gp). */
#include <math.h>

#include "cli/protocol/conclusion.h"
#include "cli/report/plot.h"
#include "cli/report/script.h"
#include "op/text.h"

enum { LABEL = 24 };

void hc_conclusion_draw(const struct hc_conclusion *c)
{
    const struct hc_protocol *p = c->study->protocol;
    struct hc_plot_values *values = hc_plot_values();
    int n = 0;
    hc_plot_array(values, "arm_name", p->arms);
    hc_plot_array(values, "arm_tic", p->arms);
    hc_plot_array(values, "arm_mean", p->arms);
    hc_plot_array(values, "arm_low", p->arms);
    hc_plot_array(values, "arm_high", p->arms);
    for (int a = 0; a < p->arms; a++) {
        const struct hc_arm_answer *answer = &c->arm[a];
        if (answer->pairs.n == 0)
            continue;
        n++;
        hc_plot_text(values, "arm_name", n, p->arm[a].name, LABEL);
        hc_plot_tic(values, "arm_tic", n, p->arm[a].name, LABEL);
        hc_plot_real(values, "arm_mean", n, answer->test.mean);
        hc_plot_real(values, "arm_low", n, answer->test.low);
        hc_plot_real(values, "arm_high", n, answer->test.high);
    }
    hc_plot_integer(values, "n", 0, n);
    hc_plot_integer(values, "synthetic", 0, p->synthetic);
    hc_plot_real(values, "margin", 0, p->margin);
    if (n == 0)
        hc_plot_free(values);
    else if (hc_plot(hc_script("study.gp"), values, c->study->folder) == HC_OK)
        hc_print_line(stdout, "picture: %s/study.{svg,png}", c->study->folder);
    else
        hc_print_line(stdout, "no picture: %s", hc_message());
}
