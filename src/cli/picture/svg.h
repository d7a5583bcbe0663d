/* What gnuplot drew, made fit for a page that has other pictures, and a dark side. */
#ifndef HC_CLI_PICTURE_SVG_H
#define HC_CLI_PICTURE_SVG_H

/* `raw` is gnuplot's, from its <svg on. The result has role=img and `alt` as its title, ids that
   begin with `id`, colours that are variables of reports/page.html, and none of the groups
   that draw nothing. The caller frees it; NULL without memory. */
char *hc_picture_svg(const char *raw, const char *id, const char *alt);

#endif
