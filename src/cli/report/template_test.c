#include "cli/report/template.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/script.h"
#include "cli/report/wellformed.h"

/* What becomes of a template with these members. */
static const char *filled(const char *text, bool markdown, const char *members)
{
    static char page[1 << 12];
    FILE *file = fmemopen(page, sizeof page, "w");
    json_t *data = json_loads(members, 0, NULL);
    page[0] = '\0';
    cr_assert(file && data, "%s", members);
    hc_template_fill(file, text, markdown, data);
    cr_assert_eq(fclose(file), 0);
    json_decref(data);
    return page;
}

Test(template, is_filled_in)
{
    static const char members[] =
        "{\"name\": \"n\", \"none\": \"\", \"count\": 1234567, \"zero\": 0, \"yes\": true,"
        " \"no\": false, \"empty\": [], \"list\": [{\"a\": \"1\"}, {\"a\": \"2\", \"name\": "
        "\"m\"}],"
        " \"texts\": [\"x\", \"y\", \"z\"], \"shape\": {\"markup\": \"<b/>\"}}";
    static const struct {
        const char *text;
        const char *page;
    } rows[] = {
        {"", ""},
        {"a {{name}} b", "a n b"},
        {"{{count}} {{count|count}}", "1234567 1,234,567"},
        {"<a {{yes|flag}}><b {{no|flag}}>", "<a yes=\"yes\"><b >"},
        {"<!-- each list -->{{name}}{{a}}<!-- between -->, <!-- end -->", "n1, m2"},
        {"<!-- each texts -->{{.}}<!-- between -->, <!-- end -->.", "x, y, z."},
        {"<!-- each empty -->a<!-- between -->b<!-- else -->none<!-- end -->", "none"},
        {"<!-- each list --><!-- each texts -->{{.}}<!-- end -->{{a}}<!-- end -->", "xyz1xyz2"},
        {"<!-- if name -->a<!-- else -->b<!-- end -->", "a"},
        {"<!-- if none -->a<!-- else -->b<!-- end -->", "b"},
        {"<!-- if count -->a<!-- end --><!-- if zero -->b<!-- end -->", "a"},
        {"<!-- if yes -->a<!-- end --><!-- if no -->b<!-- end -->", "a"},
        {"<!-- if list -->a<!-- end --><!-- if empty -->b<!-- end -->", "a"},
        {"<!-- if unknown -->{{unknown}}<!-- markup unknown -->a<!-- end --><!-- end -->b", "b"},
        {"<!-- if empty --><!-- if name -->a<!-- end --><!-- else -->b<!-- end -->", "b"},
        {"<i><!-- markup shape --><u>a {{sample}}</u><!-- end --></i>", "<i><b/></i>"},
        {"a<!-- What is said\n to a designer. -->b", "ab"},
        {"a\n  <!-- if name -->\n  b\n  <!-- end -->\n c\n", "a\nb\nc\n"},
        {"<!-- each texts -->\n{{.}}\n<!-- end -->\nc\n", "x\ny\nz\nc\n"},
        {"a\n\nb <!-- if none -->c<!-- end -->\n", "a\n\nb \n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect_str_eq(filled(rows[i].text, false, members), rows[i].page, "%s: %s", rows[i].text,
                         filled(rows[i].text, false, members));
    cr_expect_str_eq(filled("a\n  b <!-- if none -->\n|\n<!-- end -->\nc", true, members),
                     "a\n  b \nc", "Markdown keeps its indentation");
}

/* Each text, by each way in which a template can write it. */
Test(template, escapes_whatever_it_writes)
{
    static const struct {
        const char *text;
        const char *page;
        bool markdown;
    } rows[] = {
        {"{{x}}", "&lt;b&gt; &amp;&quot;&#39; `` |*\\ http://a.b/?c ", false},
        {"{{x|links}}",
         "&lt;b&gt; &amp;&quot;&#39; `` |*\\ <a href=\"http://a.b/?c\">http://a.b/?c</a> ", false},
        {"{{x|lines}}", "&lt;b&gt; &amp;&quot;&#39; `` |*\\ http://a.b/?c\n", false},
        {"{{x}}", "&lt;b&gt; &amp;\"' \\`\\` \\|\\*\\\\ http://a.b/?c ", true},
        {"{{x|links}}", "&lt;b&gt; &amp;\"' \\`\\` \\|\\*\\\\ <http://a.b/?c> ", true},
        {"{{x|code}}", "``` <b> &\"' `` |*\\ http://a.b/?c  ```", true},
        {"{{x|cell}}", "``` <b> &\"' `` \\|*\\ http://a.b/?c  ```", true},
        {"{{x|command}}", "&lt;b&gt; &amp;&quot;&#39; `` |*\\ http://a.b/?c\n", false},
        {"{{x|lines}}", "```text\n<b> &\"' `` |*\\ http://a.b/?c\n```", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *page = filled(rows[i].text, rows[i].markdown,
                                  "{\"x\": \"<b> &\\\"' `` |*\\\\ http://a.b/?c\\n\"}");
        cr_expect_str_eq(page, rows[i].page, "%s: %s", rows[i].text, page);
    }
    cr_expect_str_eq(filled("{{x|command}}.", false, "{\"x\": \"a --b <c-\"}"),
                     "a <span>--b</span> <span>&lt;c-</span>.", "options stay whole");
    cr_expect_str_eq(filled("{{x|cell}}.", true, "{\"x\": \"\"}"), ".", "an empty cell");
}

Test(template, takes_texts_of_any_bytes)
{
    json_t *data = json_object();
    hc_page_text(data, "x", "a\xff<");
    hc_page_text(data, "y", NULL);
    hc_page_print(data, "z", "%d of %s", 2, "\xc3\xa4");
    cr_expect_str_eq(json_string_value(json_object_get(data, "x")), "a\xef\xbf\xbd<");
    cr_expect_null(json_object_get(data, "y"));
    cr_expect_str_eq(json_string_value(json_object_get(data, "z")), "2 of \xc3\xa4");
    json_decref(data);
}

/* A designer sees all of the page, with one sample of whatever is repeated. */
Test(template, of_the_page_is_well_formed_as_it_is)
{
    static const char flag[] = "{{open|flag}}";
    char *text = strdup(hc_script("page.html"));
    cr_assert_not_null(text);
    for (char *at = text; (at = strstr(at, flag)) != NULL;)
        memset(at, ' ', strlen(flag));
    cr_expect_null(hc_malformed(text), "%.200s", hc_malformed(text));
    free(text);
}

/* Nothing but pictures is written without being escaped. */
Test(template, of_the_page_has_markup_for_pictures_alone)
{
    int markup = 0;
    for (const char *at = hc_script("page.html"); (at = strstr(at, "<!-- markup ")) != NULL; at++) {
        cr_expect(strncmp(at + 12, "svg ", 4) == 0 || strncmp(at + 12, "curve ", 6) == 0, "%.40s",
                  at);
        markup++;
    }
    cr_expect_eq(markup, 3);
    cr_expect_null(strstr(hc_script("page.markdown"), "<!-- markup "));
}

static const char *linked(const char *text)
{
    json_t *data = json_pack("{s:s}", "x", text);
    char *members = json_dumps(data, 0);
    const char *page = filled("{{x|links}}", false, members);
    free(members);
    json_decref(data);
    return page;
}

Test(museum, addresses_become_links)
{
    static const struct {
        const char *text;
        const char *page;
    } rows[] = {
        {"no address", "no address"},
        {"at https://a.b/c?d=1&e=2, 'title'",
         "at <a href=\"https://a.b/c?d=1&amp;e=2\">https://a.b/c?d=1&amp;e=2</a>, "
         "&#39;title&#39;"},
        {"(http://a.b).", "(<a href=\"http://a.b\">http://a.b</a>)."},
        {"https://a; http://b",
         "<a href=\"https://a\">https://a</a>; <a href=\"http://b\">http://b</a>"},
        {"https://", "https://"},
        {"javascript:alert(1)", "javascript:alert(1)"},
        {"data:text/html,x ftp://a.b", "data:text/html,x ftp://a.b"},
        {"https://a.b/\"onclick=\"x",
         "<a href=\"https://a.b/\">https://a.b/</a>&quot;onclick=&quot;x"},
        {"https://a.b/<script>", "<a href=\"https://a.b/\">https://a.b/</a>&lt;script&gt;"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect_str_eq(linked(rows[i].text), rows[i].page, "%s: %s", rows[i].text,
                         linked(rows[i].text));
}
