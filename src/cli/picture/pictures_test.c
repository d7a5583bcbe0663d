#include "cli/picture/testing.h"

#include "cli/report/script.h"

TestSuite(pictures, .init = enter_folder);

static char *joined(const char *const *parts, int n)
{
    static char text[1 << 18];
    size_t used = 0;
    for (int i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? "," : "", parts[i]);
    return text;
}

Test(pictures, the_answers_are_the_datas)
{
    struct drawn_pictures d = {0};
    const char *const results[] = {
        result_text("op/one/a", "1", "4", ", \"implementation\": \"0\", \"format\": \"0x1p-2\""),
        result_text("op/one/b", "2", "4", ", \"implementation\": \"0x1p-1\", \"format\": \"8\""),
        result_text("op/two/a", "0", "4", ", \"spread\": {\"ulps\": \"3 4 1 0 2\"}"),
        result_text("op/three/a", "12", "4", ""),
        result_text("op/four/a", "nan", "4", ""),
        result_text("op/cast/fp32-fp16/x", "0", "1",
                    ", \"spread\": {\"ulps\": \"0 10\", \"inputs\": \"0:0x1p-1 8:0x1.8p-1\"}"),
    };
    add_record(&d, "a.json", record_text(joined(results, 6), ""));
    draw_pictures(&d);
    expect_sound(&d);
    const char *answer = picture_of(&d, "headroom")->answer;
    cr_expect(strstr(answer, "Of 6 results 1 is beyond its bound and 1 has no number, in 2 of 5"
                             " families"),
              "%s", answer);
    cr_expect(strstr(answer, "op/four (NaN), op/three (3), op/one (0.5)"), "%s", answer);
    cr_expect(strstr(answer, "In 2 of 5 families every result has an error of 0"), "%s", answer);
    answer = picture_of(&d, "answers")->answer;
    cr_expect(strstr(answer, "In no family is all error the format's"), "%s", answer);
    cr_expect(strstr(answer, "op/one: 0.5 of the bound"), "%s", answer);
    cr_expect(strstr(answer, "In 1 result the format's share is beyond"), "%s", answer);
    cr_expect(strstr(answer, "op/one/b (8)"), "%s", answer);
    answer = picture_of(&d, "ulps")->answer;
    cr_expect(strstr(answer, "Of 20 elements compared with real numbers, 85 % are within half"),
              "%s", answer);
    cr_expect(strstr(answer, "90 % within one"), "%s", answer);
    cr_expect(strstr(answer, "op/two, up to 4 ulp"), "%s", answer);
    answer = picture_of(&d, "inputs")->answer;
    cr_expect(strstr(answer, "No conversion or function is within half an ulp"), "%s", answer);
    cr_expect(strstr(answer, "cast fp32-fp16, 0.75 ulp, at inputs from 2^8 to 2^12"), "%s", answer);
    forget_pictures(&d);
}

Test(pictures, explain_the_formats_share_only_where_it_is_beyond_the_bound)
{
    struct drawn_pictures d = {0};
    add_record(&d, "a.json",
               record_text(result_text("op/one/a", "1", "4",
                                       ", \"implementation\": \"0\", \"format\": \"1\""),
                           ""));
    draw_pictures(&d);
    const char *answer = picture_of(&d, "answers")->answer;
    cr_expect(strstr(answer, "No format's share is beyond the bound"), "%s", answer);
    forget_pictures(&d);
}

Test(pictures, say_why_they_are_not_drawn)
{
    struct drawn_pictures d = {0};
    add_record(&d, "a.json", record_text("", ""));
    draw_pictures(&d);
    expect_sound(&d);
    for (int i = 0; i < d.count; i++)
        cr_expect(d.list[i].svg == NULL && strlen(d.list[i].why_not) > 10, "%s", d.list[i].id);
    forget_pictures(&d);
}

Test(pictures, compare_with_the_baseline)
{
    struct drawn_pictures d = {0};
    const char *const before[] = {
        result_text("op/one/a", "1", "4", ""), result_text("op/one/b", "2", "4", ""),
        result_text("op/two/a", "0", "4", ""), result_text("op/two/b", "nan", "4", "")};
    add_record(&d, "before.json", record_text(joined(before, 4), ""));
    const char *const now[] = {
        result_text("op/one/a", "3", "4", ""), result_text("op/one/b", "1", "4", ""),
        result_text("op/two/a", "1", "4", ""), result_text("op/two/b", "nan", "4", "")};
    add_record(&d, "now.json", record_text(joined(now, 4), ""));
    d.records[0].baseline = true;
    draw_pictures(&d);
    expect_sound(&d);
    const char *answer = picture_of(&d, "baseline")->answer;
    cr_expect(strstr(answer, "Of 4 results that both have, 3 have another error than in the"
                             " baseline: 2 larger, 1 smaller"),
              "%s", answer);
    cr_expect(strstr(answer, "op/two/a on exact (infinite times its error)"), "%s", answer);
    cr_expect(strstr(picture_of(&d, "headroom")->answer, "Of 4 results"), "the baseline is shown");
    forget_pictures(&d);
}

/* As many results as are asked for, of as many families and backends: the first ones are the
   closest to their bounds, and the last backend has errors of 0 alone. */
static const char *many_results(int families, int backends)
{
    static char text[1 << 19];
    size_t used = 0;
    for (int f = 0; f < families; f++)
        used += (size_t)snprintf(
            text + used, sizeof text - used,
            "%s{\"case\": \"op/f%d/a\", \"backend\": \"b%d\", \"verdict\": \"PASS\", \"checked\":"
            " 1, \"error\": \"%g\", \"bound\": \"1\", \"unit\": \"abs\", \"seed\": \"1\","
            " \"seconds\": 0, \"note\": \"\", \"repro\": \"\"}",
            f ? "," : "", f, f % backends, f % backends == backends - 1 ? 0 : 0.9 / (f + 1));
    return text;
}

Test(pictures, show_what_is_near_its_bound_and_say_how_many_others_there_are)
{
    struct drawn_pictures d = {0};
    add_record(&d, "a.json", record_text(many_results(100, 4), ""));
    draw_pictures(&d);
    expect_sound(&d);
    const struct hc_page_picture *headroom = picture_of(&d, "headroom");
    /* 0.9 / 27 is 0.03333. */
    cr_expect(strstr(headroom->answer, "80 others at or below 0.0334 "), "%s", headroom->answer);
    cr_expect(strstr(headroom->alt, "family of cases (20)"), "%s", headroom->alt);
    cr_expect(strstr(headroom->data, "op/f99"), "the data have all");
    if (headroom->svg) {
        cr_expect(strstr(headroom->svg, "80 others at or below 0.0"));
        cr_expect(strstr(headroom->svg, "b0") && strstr(headroom->svg, "b2"));
        cr_expect_null(strstr(headroom->svg, ">b3<"), "a backend without a mark is in the key");
    }
    forget_pictures(&d);
}

Test(pictures, have_a_row_for_every_claim_that_is_broken)
{
    struct drawn_pictures d = {0};
    static char text[1 << 18];
    size_t used = 0;
    for (int f = 0; f < 45; f++)
        used +=
            (size_t)snprintf(text + used, sizeof text - used,
                             "%s{\"case\": \"op/f%d/a\","
                             " \"backend\": \"exact\", \"verdict\": \"FAIL\", \"checked\": 1,"
                             " \"error\": \"%d\", \"bound\": \"1\", \"unit\": \"abs\", \"seed\":"
                             " \"1\", \"seconds\": 0, \"note\": \"\", \"repro\": \"\"}",
                             f ? "," : "", f, f < 40 ? 2 + f : 0);
    add_record(&d, "a.json", record_text(text, ""));
    draw_pictures(&d);
    expect_sound(&d);
    cr_expect(strstr(picture_of(&d, "headroom")->alt, "family of cases (40)"), "%s",
              picture_of(&d, "headroom")->alt);
    cr_expect(strstr(picture_of(&d, "headroom")->answer, "5 others at 0 have no row"), "%s",
              picture_of(&d, "headroom")->answer);
    forget_pictures(&d);
}

/* Colour and shape of each series' mark, as the key has them. */
Test(pictures, tell_a_dozen_backends_apart)
{
    char marks[12][160] = {""};
    struct drawn_pictures d = {0};
    add_record(&d, "a.json", record_text(many_results(13, 13), ""));
    draw_pictures(&d);
    expect_sound(&d);
    const char *svg = picture_of(&d, "headroom")->svg;
    for (int s = 0; s < 12 && svg; s++) {
        char name[16];
        (void)snprintf(name, sizeof name, ">b%d<", s);
        const char *at = strstr(svg, name);
        cr_assert_not_null(at, "%s", name);
        at = strstr(at, "<use");
        while (at && strstr(at, "color='") == strstr(at, "color='white'")) /* gnuplot 6's discs */
            at = strstr(at + 1, "<use");
        const char *shape = at ? strstr(at, "href='#") : NULL;
        const char *colour = at ? strstr(at, "color='") : NULL;
        cr_assert(shape && colour, "%.200s", at ? at : "");
        (void)snprintf(marks[s], sizeof marks[s], "%.*s %.*s", (int)strcspn(shape + 7, "'"),
                       shape + 7, (int)strcspn(colour + 7, "'"), colour + 7);
        for (int other = 0; other < s; other++)
            cr_expect_str_neq(marks[s], marks[other], "b%d looks like b%d", s, other);
    }
    forget_pictures(&d);
}

/* Numbers that no axis has, in every picture that draws a record's own numbers. */
Test(pictures, are_sound_whatever_the_numbers)
{
    static const char *const numbers[] = {"0", "nan", "inf", "0x1p-1074", "0x1.fffffffffffffp+1023",
                                          "1"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct drawn_pictures d = {0};
        char more[4096];
        const char *n = numbers[i];
        (void)snprintf(more, sizeof more,
                       ", \"implementation\": \"%s\", \"format\": \"%s\", \"spread\": {\"ulps\":"
                       " \"1\", \"inputs\": \"0:%s\"}, \"pictures\": [{\"title\": \"t\", \"x\":"
                       " \"x\", \"y\": \"y\", \"log_x\": false, \"log_y\": false, \"bars\": false,"
                       " \"marks\": [], \"series\": [{\"name\": \"real\", \"x\": \"0 1 2 %s\","
                       " \"y\": \"0 1 2 %s\"}, {\"name\": \"bf16\", \"x\": \"0 1 2 30\", \"y\":"
                       " \"0 0 0 0\"}]}]",
                       n, n, strcmp(n, "nan") == 0 ? "0" : n, n, n);
        char drift[4096];
        (void)snprintf(drift, sizeof drift,
                       ", \"drift\": [{\"recipe\": \"r\", \"all\": {\"error\": \"%s\"}, \"free\":"
                       " \"%s\", \"layers\": [{\"layer\": \"a\", \"error\": \"%s\"}], \"sources\":"
                       " [{\"source\": \"s\", \"format\": \"fp16\", \"gradient_alone\": \"%s\","
                       " \"free_alone\": \"%s\"}]}]",
                       n, n, n, n, n);
        char *results = strdup(result_text("op/cast/a-b/c", n, n, more));
        add_record(&d, "a.json", record_text(results, drift));
        add_record(&d, "b.json", record_text(result_text("op/cast/a-b/c", "1", "1", ""), ""));
        draw_pictures(&d);
        expect_sound(&d);
        forget_pictures(&d);
        free(results);
    }
}

Test(pictures, keep_recipes_apart_whose_names_begin_alike)
{
    struct drawn_pictures d = {0};
    static const char recipe[] =
        "%s{\"recipe\": \"fastai-1.0.61-%s\", \"all\": {\"error\": \"1\"}, \"free\": \"1\","
        " \"layers\": [{\"layer\": \"a\", \"error\": \"1\"}], \"sources\": [{\"source\":"
        " \"accumulation\", \"format\": \"fp16\", \"gradient_alone\": \"0.5\", \"free_alone\":"
        " \"1\"}]}";
    char drift[2048];
    char one[512];
    char other[512];
    (void)snprintf(one, sizeof one, recipe, "", "clip");
    (void)snprintf(other, sizeof other, recipe, ", ", "flat");
    (void)snprintf(drift, sizeof drift, ", \"drift\": [%s%s]", one, other);
    add_record(&d, "a.json", record_text("", drift));
    draw_pictures(&d);
    expect_sound(&d);
    const struct hc_page_picture *p = picture_of(&d, "drift-sources");
    cr_expect(strstr(p->answer, "in squares.") && !strstr(p->answer, "no row"), "%s", p->answer);
    if (p->svg) {
        cr_expect(strstr(p->data, "fastai-1.0.61-clip: accumulation"), "%s", p->data);
        cr_expect(strstr(p->data, "fastai-1.0.61-flat: accumulation"), "%s", p->data);
        cr_expect(strstr(p->svg, "fast\xe2\x80\xa6"
                                 "61-clip: accumulation"));
        cr_expect(strstr(p->svg, "fast\xe2\x80\xa6"
                                 "61-flat: accumulation"));
    }
    forget_pictures(&d);
}

/* Recipes over ranks end alike, and "reduction over ranks" is the longest source. */
Test(pictures, keep_recipes_over_ranks_apart_and_show_their_source)
{
    struct drawn_pictures d = {0};
    static const char recipe[] =
        "%s{\"recipe\": \"amp+wrapper=%s-ranks8\", \"all\": {\"error\": \"1\"}, \"free\": \"1\","
        " \"layers\": [{\"layer\": \"a\", \"error\": \"1\"}], \"sources\": [{\"source\":"
        " \"reduction over ranks\", \"format\": \"fp16\", \"gradient_alone\": \"0.5\","
        " \"free_alone\": \"1\"}], \"ranks\": 8, \"shards\": 8}";
    char drift[2048];
    char one[512];
    char other[512];
    (void)snprintf(one, sizeof one, recipe, "", "apex-ddp");
    (void)snprintf(other, sizeof other, recipe, ", ", "torch-ddp");
    (void)snprintf(drift, sizeof drift, ", \"drift\": [%s%s]", one, other);
    add_record(&d, "a.json", record_text("", drift));
    draw_pictures(&d);
    expect_sound(&d);
    const struct hc_page_picture *p = picture_of(&d, "drift-sources");
    const struct hc_page_picture *layers = picture_of(&d, "drift-layers");
    if (p->svg && layers->svg) {
        cr_expect(strstr(p->data, "8x amp+wrapper=torch-ddp: reduction over ranks"), "%s", p->data);
        cr_expect(strstr(p->svg, "8x a\xe2\x80\xa6pex-ddp: reduction over ranks"));
        cr_expect(strstr(p->svg, "8x a\xe2\x80\xa6rch-ddp: reduction over ranks"));
        cr_expect(strstr(layers->svg, ">8x amp+wra\xe2\x80\xa6"
                                      "=apex-ddp<"));
        cr_expect(strstr(layers->svg, ">8x amp+wra\xe2\x80\xa6"
                                      "torch-ddp<"));
        cr_expect(strstr(p->answer, "8x") && strstr(layers->answer, "8x"), "%s", p->answer);
    }
    forget_pictures(&d);
}

Test(pictures, show_what_a_record_says_as_text)
{
    struct drawn_pictures d = {0};
    add_record(
        &d, "`touch a`.json",
        record_text(result_text("op/`touch b`<b>/x", "1", "4", ", \"spread\": {\"ulps\": \"1\"}"),
                    ", \"drift\": [{\"recipe\": \"'; !touch c; \\\"\", \"all\": {\"error\":"
                    " \"1\"}, \"free\": \"1\", \"layers\": [{\"layer\": \"@x\", \"error\":"
                    " \"1\"}], \"sources\": [{\"source\": \"${HOME}\", \"format\": \"%s\","
                    " \"gradient_alone\": \"1\", \"free_alone\": \"1\"}]}]"));
    add_record(&d, "b.json", record_text("", ""));
    draw_pictures(&d);
    expect_sound(&d);
    cr_expect_str_eq(run_shell("ls -A | grep -v std")->out, "");
    const char *svg = picture_of(&d, "headroom")->svg;
    if (svg)
        cr_expect(strstr(svg, "touch b") && !strstr(svg, "<b>"));
    cr_expect(strstr(picture_of(&d, "headroom")->answer, "op/`touch b`<b>"));
    forget_pictures(&d);
}

Test(pictures, have_the_colours_of_the_style)
{
    const char *style = hc_script("style.gp");
    int colours = 0;
    for (const char *at = style; (at = strstr(at, "\"#")) != NULL; at++, colours++) {
        char light[16];
        (void)snprintf(light, sizeof light, ": %.7s;", at + 1);
        cr_expect(strstr(hc_script("page.html"), light), "%s has no variable", light);
    }
    cr_expect_geq(colours, 15);
}
