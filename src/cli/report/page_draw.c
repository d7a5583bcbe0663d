/* The pictures of all results and of the cases. */
#include "cli/report/page_draw.h"

#include <stdlib.h>
#include <string.h>

#include "cli/report/page_picture.h"

void hc_page_draw(const struct hc_page_record *records, int count, const char *folder,
                  struct hc_page_pictures *pictures)
{
    struct hc_page_picture *list;
    int n;
    *pictures = (struct hc_page_pictures){0};
    if (hc_page_pictures_draw(records, count, folder, &list, &n) != HC_OK)
        (void)snprintf(pictures->why_not, HC_WHY_NOT, "%s", hc_message());
    for (int i = 0; i < n; i++) {
        char **to = strcmp(list[i].id, "headroom") == 0  ? &pictures->headroom
                    : strcmp(list[i].id, "answers") == 0 ? &pictures->answers
                                                         : NULL;
        if (to) {
            *to = list[i].svg;
            list[i].svg = NULL;
        }
    }
    hc_page_pictures_free(list, n);
    if (!pictures->why_not[0])
        pictures->cases = hc_page_draw_cases(records, count, folder, pictures->why_not);
}

void hc_page_free_pictures(struct hc_page_pictures *pictures)
{
    free(pictures->headroom);
    free(pictures->answers);
    hc_page_free_cases(pictures->cases);
}
