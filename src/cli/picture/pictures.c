/* All pictures of the page, in its order. */
#include <stdlib.h>

#include "cli/picture/drawing.h"

static const struct hc_picture_kind *const kinds[] = {
    &hc_picture_headroom,
    &hc_picture_answers,
};

enum { KINDS = sizeof kinds / sizeof *kinds };

enum hc_status hc_page_pictures_draw(const struct hc_page_record *records, int count,
                                     const char *folder, struct hc_page_picture **list, int *n)
{
    enum hc_status status = HC_OK;
    *n = 0;
    *list = calloc(KINDS, sizeof **list);
    if (!*list)
        return hc_fail(HC_NO_MEMORY, "no memory for the pictures");
    for (; *n < KINDS; (*n)++) {
        enum hc_status one = hc_picture_draw(kinds[*n], records, count, folder, &(*list)[*n]);
        status = status == HC_OK ? one : status;
    }
    return status;
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
