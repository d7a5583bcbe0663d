#include "cli/gate/day.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

hc_day hc_day_today(void)
{
    time_t now = time(NULL);
    struct tm date = {0};
    (void)gmtime_r(&now, &date);
    return (date.tm_year + 1900) * 10000 + (date.tm_mon + 1) * 100 + date.tm_mday;
}

hc_day hc_day_read(const char *text)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int number[3] = {0};
    if (strlen(text) != 10 || text[4] != '-' || text[7] != '-')
        return 0;
    for (int i = 0; i < 10; i++) {
        int part = (i > 4) + (i > 7);
        if (i == 4 || i == 7)
            continue;
        if (text[i] < '0' || text[i] > '9')
            return 0;
        number[part] = 10 * number[part] + text[i] - '0';
    }
    int year = number[0];
    int month = number[1];
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (month < 1 || month > 12 || number[2] < 1 ||
        number[2] > days[month - 1] + (month == 2 && leap))
        return 0;
    return year * 10000 + month * 100 + number[2];
}

void hc_day_write(hc_day day, char text[HC_DAY_TEXT])
{
    (void)snprintf(text, HC_DAY_TEXT, "%04d-%02d-%02d", day / 10000 % 10000, day / 100 % 100,
                   day % 100);
}
