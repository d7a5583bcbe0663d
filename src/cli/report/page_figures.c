#include "cli/report/page_figures.h"

#include "op/text.h"

static void write_paragraph(struct hc_page_out *out, const char *before, const char *text)
{
    hc_page_begin(out, HC_BLOCK_PARAGRAPH, NULL);
    hc_page_text(out, before);
    hc_page_text(out, text);
    hc_page_end(out, HC_BLOCK_PARAGRAPH);
}

/* What was drawn, and what draws it again. */
static void write_source(struct hc_page_out *out, const struct hc_page_picture *picture)
{
    if (out->markdown)
        return;
    hc_page_fold(out, false);
    hc_page_text(out, "The picture in words, its data, and the command that draws it");
    hc_page_fold_body(out);
    if (picture->alt)
        write_paragraph(out, "", picture->alt);
    if (picture->command)
        hc_page_pre(out, picture->command);
    if (picture->data)
        hc_page_pre(out, picture->data);
    hc_page_fold_end(out);
}

static void write_svg(struct hc_page_out *out, const char *label, const char *svg)
{
    (void)fputs("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"", out->file);
    hc_text_markup(out->file, label);
    (void)fprintf(out->file, "\">\n%s</div>\n", svg);
}

static void write_figure(struct hc_page_out *out, const struct hc_page_picture *picture)
{
    char id[80];
    (void)snprintf(id, sizeof id, "picture-%s", picture->id);
    hc_page_heading(out, 3, id);
    hc_page_text(out, picture->question);
    hc_page_heading_end(out, 3);
    hc_page_open(out, "figure", NULL);
    hc_page_open(out, "figcaption", NULL);
    if (picture->answer)
        write_paragraph(out, "", picture->answer);
    write_source(out, picture);
    hc_page_close(out, "figcaption");
    if (!out->markdown)
        write_svg(out, picture->question, picture->svg);
    hc_page_close(out, "figure");
}

/* A picture of a case, and on which backends it looks so. */
static void write_case(struct hc_page_out *out, const struct hc_drawn *drawn)
{
    const char *title = json_string_value(json_object_get(drawn->picture, "title"));
    hc_page_open(out, "figure", NULL);
    hc_page_heading(out, 4, NULL);
    hc_page_code(out, drawn->row->name);
    hc_page_heading_end(out, 4);
    hc_page_open(out, "figcaption", NULL);
    hc_page_text(out, "On ");
    hc_page_text(out, drawn->where ? drawn->where : "");
    if (!drawn->svg) {
        hc_page_text(out, ": ");
        hc_page_text(out, title ? title : "");
        hc_page_text(out, ": no picture: ");
        hc_page_text(out, drawn->why_not);
    }
    hc_page_close(out, "figcaption");
    if (drawn->svg)
        write_svg(out, drawn->row->name, drawn->svg);
    hc_page_close(out, "figure");
}

/* The pictures of bugs stand in the museum. */
static void write_cases(struct hc_page_out *out, const struct hc_drawn *drawn)
{
    bool any = false;
    for (; drawn; drawn = drawn->next) {
        if (drawn->row->exhibits && drawn->svg)
            continue;
        if (!any) {
            hc_page_heading(out, 3, "cases");
            hc_page_text(out, "Pictures of the cases");
            hc_page_heading_end(out, 3);
            hc_page_open(out, "div", "cases");
        }
        any = true;
        write_case(out, drawn);
    }
    if (any)
        hc_page_close(out, "div");
}

/* The questions that these records do not answer. */
static void write_not_drawn(struct hc_page_out *out, const struct hc_page_picture *list, int count)
{
    int missing = 0;
    for (int i = 0; i < count; i++)
        missing += !list[i].svg;
    if (!missing)
        return;
    hc_page_fold(out, false);
    hc_page_print(out, "%d pictures that are not drawn, and why", missing);
    hc_page_fold_body(out);
    hc_page_begin(out, HC_BLOCK_LIST, NULL);
    for (int i = 0; i < count; i++) {
        if (list[i].svg)
            continue;
        hc_page_begin(out, HC_BLOCK_ITEM, NULL);
        hc_page_text(out, list[i].question);
        hc_page_text(out, " No picture: ");
        hc_page_text(out, list[i].why_not ? list[i].why_not : "no reason is known");
        hc_page_end(out, HC_BLOCK_ITEM);
    }
    hc_page_end(out, HC_BLOCK_LIST);
    hc_page_fold_end(out);
}

void hc_page_write_figures(struct hc_page_out *out, const struct hc_page_pictures *pictures)
{
    hc_page_open(out, "section", NULL);
    hc_page_heading(out, 2, "pictures");
    hc_page_text(out, "Pictures");
    hc_page_heading_end(out, 2);
    if (pictures->why_not[0])
        write_paragraph(out, "No pictures: ", pictures->why_not);
    for (int i = 0; i < pictures->count; i++)
        if (pictures->list[i].svg)
            write_figure(out, &pictures->list[i]);
    if (!pictures->why_not[0])
        write_not_drawn(out, pictures->list, pictures->count);
    if (!out->markdown)
        write_cases(out, pictures->cases);
    hc_page_close(out, "section");
}
