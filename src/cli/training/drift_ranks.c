#include "cli/training/drift_ranks.h"

#include <ctype.h>
#include <stdlib.h>

#include "comm/comm.h"
#include "op/text.h"
#include "op/typed.h"
#include "train/parallel/parallel.h"

static enum hc_status choose(struct hc_comparison *c, const char *word, size_t length)
{
    char *end;
    long n = isdigit((unsigned char)word[0]) ? strtol(word, &end, 10) : 0;
    if (n < 1 || n > HC_MAX_THREAD_RANKS || end != word + length)
        return hc_fail(HC_INVALID,
                       "--ranks takes numbers from 1 to %d, such as 1,2,4,8, not '%.*s'",
                       HC_MAX_THREAD_RANKS, (int)length, word);
    for (int i = 0; i < c->ranks_count; i++)
        if (c->ranks[i] == n)
            return hc_fail(HC_INVALID, "--ranks names %ld twice", n);
    if (c->ranks_count == HC_MAX_DRIFT_RANKS)
        return hc_fail(HC_INVALID, "--ranks takes at most %d numbers", HC_MAX_DRIFT_RANKS);
    c->ranks[c->ranks_count++] = (int)n;
    return HC_OK;
}

enum hc_status hc_drift_read_ranks(const char *list, struct hc_comparison *c)
{
    enum hc_status status = HC_OK;
    if (list && !c->drift)
        return hc_fail(HC_INVALID, "--ranks of compare is an option of --drift; mpirun or srun "
                                   "starts the ranks of a training");
    for (const char *at = list; at && status == HC_OK;) {
        const char *word;
        size_t length;
        status = hc_list_next("--ranks", list, &at, &word, &length);
        if (status == HC_OK)
            status = choose(c, word, length);
    }
    return status;
}

enum hc_status hc_drift_check_ranks(const struct hc_comparison *c)
{
    enum hc_status status = HC_OK;
    for (int k = 0; k < c->ranks_count; k++)
        for (int i = 0; i < c->recipes && status == HC_OK; i++)
            status = hc_parallel_check(c->ranks[k], c->recipe[i], c->training->batch);
    return status;
}

void hc_drift_print_ranks(const struct hc_drift_report *r, FILE *out)
{
    if (r->ranks == 1)
        hc_print(out, "one rank, and fp64 on one:\n");
    if (r->ranks > 1)
        hc_print(out, "%d ranks share each batch, and so they do in fp64:\n", r->ranks);
}

static const char *number(double x, char text[16])
{
    (void)hc_text_write(text, 16, "%.2e", x);
    return text;
}

static void print_average(const struct hc_drift_report *r, int recipe, FILE *out)
{
    char label[HC_COMPARED_LABEL];
    char gradient[16];
    char weights[16];
    const struct hc_drift *d = &r->drift[recipe];
    bool averages = d->shards > 1;
    hc_comparison_label(r->c, recipe, label);
    hc_print(out, "%-*s %5d %6d %4s %9s %9s %9.2e %9.2e\n", hc_comparison_width(r->c), label,
             d->ranks, d->shards, hc_drift_format(d, HC_SOURCE_REDUCTION),
             averages ? number(d->alone_gradient[HC_SOURCE_REDUCTION], gradient) : "-",
             averages ? number(d->alone_free[HC_SOURCE_REDUCTION], weights) : "-", d->all.error,
             d->free);
}

void hc_drift_print_averages(const struct hc_drift_report *r, FILE *out)
{
    int width = hc_comparison_width(r->c);
    if (r->ranks == 0)
        return;
    hc_print(out,
             "\nwhat averaging over ranks alone does, beside the whole drift of as many ranks\n");
    hc_print(out, "%-*s %5s %6s %4s %9s %9s %9s %9s\n", width, "recipe", "ranks", "shards", "sums",
             "gradient", "weights", "gradient", "weights");
    for (int i = 0; i < r->c->recipes; i++)
        for (int part = 0; part < r->parts; part++) {
            const struct hc_drift_report one = hc_drift_of_ranks(r, part);
            print_average(&one, i, out);
        }
}
