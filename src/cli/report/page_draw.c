/* The pictures of all results and of the cases. */
#include "cli/report/page_draw.h"

void hc_page_draw(const struct hc_page_record *records, int count, const char *folder,
                  struct hc_page_pictures *pictures)
{
    *pictures = (struct hc_page_pictures){0};
    if (hc_page_pictures_draw(records, count, folder, &pictures->list, &pictures->count) != HC_OK)
        (void)snprintf(pictures->why_not, HC_WHY_NOT, "%s", hc_message());
    int shown = count;
    while (shown > 0 && records[shown - 1].baseline)
        shown--;
    if (!pictures->why_not[0])
        pictures->cases = hc_page_draw_cases(records, shown, folder, pictures->why_not);
}

void hc_page_free_pictures(struct hc_page_pictures *pictures)
{
    hc_page_pictures_free(pictures->list, pictures->count);
    hc_page_free_cases(pictures->cases);
}
