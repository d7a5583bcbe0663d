/* All pictures of the page, in its order. */
#include <stdlib.h>

#include "cli/picture/drawing.h"

static const struct hc_picture_kind *const kinds[] = {
    &hc_picture_headroom,      &hc_picture_answers,          &hc_picture_ulps,
    &hc_picture_inputs,        &hc_picture_accuracy,         &hc_picture_loss,
    &hc_picture_scale,         &hc_picture_weight_exponents, &hc_picture_output_exponents,
    &hc_picture_losses,        &hc_picture_stalls,           &hc_picture_drift_layers,
    &hc_picture_drift_sources, &hc_picture_baseline,
};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* The records but the one that is marked as the baseline. The first of two that are not marked is
   the baseline, too, but is also shown. */
static void part(struct hc_drawing *what, struct hc_page_record *shown,
                 const struct hc_page_record *records, int count)
{
    *what = (struct hc_drawing){.records = shown};
    for (int r = 0; r < count; r++)
        if (records[r].baseline)
            what->baseline = &records[r];
        else
            shown[what->count++] = records[r];
    if (!what->baseline && count == 2)
        what->baseline = &records[0];
}

enum hc_status hc_page_pictures_draw(const struct hc_page_record *records, int count,
                                     const char *folder, struct hc_page_picture **list, int *n)
{
    struct hc_drawing what;
    bool drawn = false;
    enum hc_status status = HC_OK;
    struct hc_page_record *shown = calloc((size_t)count + 1, sizeof *shown);
    *n = 0;
    *list = calloc(KINDS, sizeof **list);
    if (*list && shown)
        part(&what, shown, records, count);
    else
        status = hc_fail(HC_NO_MEMORY, "no memory for the pictures");
    for (; *list && *n < KINDS && status != HC_NO_MEMORY; (*n)++) {
        enum hc_status one = hc_picture_draw(kinds[*n], &what, folder, &(*list)[*n]);
        status = status == HC_OK ? one : status;
        drawn |= (*list)[*n].svg != NULL;
    }
    free(shown);
    return drawn ? HC_OK : status;
}

void hc_page_pictures_free(struct hc_page_picture *list, int n)
{
    for (int i = 0; i < n; i++) {
        free(list[i].answer);
        free(list[i].alt);
        free(list[i].svg);
        free(list[i].data);
        free(list[i].why_not);
    }
    free(list);
}
