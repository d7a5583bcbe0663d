#include "cli/report/page_rates.h"

static const json_t *rates_of(const struct hc_page_record *record)
{
    return json_object_get(record->record.document, "rates");
}

int hc_page_count_rates(const struct hc_page_record *records, int count)
{
    int n = 0;
    for (int r = 0; r < count; r++)
        n += (int)json_array_size(rates_of(&records[r]));
    return n;
}

static void write_text(struct hc_page_out *out, const json_t *rate, const char *key)
{
    const char *text = json_string_value(json_object_get(rate, key));
    hc_page_cell(out, text ? text : "");
}

static void write_number(struct hc_page_out *out, const json_t *rate, const char *key)
{
    const json_t *number = json_object_get(rate, key);
    if (json_is_number(number))
        hc_page_number_cell(out, "%.4g", json_number_value(number));
    else
        hc_page_number_cell(out, "%s", "");
}

static void write_rate(struct hc_page_out *out, const json_t *rate)
{
    hc_page_begin(out, HC_BLOCK_ROW, NULL);
    write_text(out, rate, "bench");
    write_text(out, rate, "what");
    write_text(out, rate, "backend");
    write_number(out, rate, "rate");
    write_text(out, rate, "unit");
    write_number(out, rate, "ratio");
    write_text(out, rate, "against");
    hc_page_end(out, HC_BLOCK_ROW);
}

void hc_page_write_rates(struct hc_page_out *out, const struct hc_page_record *records, int count)
{
    static const char *const titles[] = {"bench", "what",           "backend", "#rate",
                                         "unit",  "#times that of", "which"};
    const json_t *rate;
    size_t i;
    if (hc_page_count_rates(records, count) == 0)
        return;
    hc_page_open(out, "section", NULL);
    hc_page_heading(out, 2, "rates");
    hc_page_text(out, "Rates");
    hc_page_heading_end(out, 2);
    hc_page_table(out, "Rates", titles, 7);
    for (int r = 0; r < count; r++)
        json_array_foreach(rates_of(&records[r]), i, rate)
        {
            write_rate(out, rate);
        }
    hc_page_table_end(out);
    hc_page_close(out, "section");
}
