# The style of all pictures. It stands before every script, and sets nothing by itself: a script
# sets `width` and `height` in pixels, opens a terminal by @open_page, @open_svg or @open_png, and
# begins with @begin_style.
#
# Pictures for the page of `halfcheck report` get the page's variables in place of these colours
# (reports/page.html), so that they follow its dark and light sides.
paper = "#ffffff"
ink = "#222222"
faint = "#666666"
grid_colour = "#dddddd"
behind = "#b4b4b4"
bad = "#b00000"
warm = "#f8ded2"
mild = "#fbf0d9"

# Okabe and Ito's colours: told apart by the colour-blind, and by their dashes and marks without
# colour. The first is for what is real, or what the others are compared with.
array palette[7] = ["#222222", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
array dashes[7] = [1, 1, 2, 4, 5, 3, 2]
array shapes[7] = [7, 7, 5, 9, 13, 11, 6]
nth(i) = (i - 1) % 7 + 1

blue = palette[2]
vermillion = palette[3]
green = palette[4]

open_page = 'set terminal svg size width, height noenhanced font "sans,13"'
open_svg = 'set terminal svg size width, height dynamic enhanced font "sans,13" background paper'
open_png = 'set terminal pngcairo size 1.5 * width, 1.5 * height enhanced font "Sans,12" \
    linewidth 1.5 pointscale 1.4 background paper'
begin_style = 'set encoding utf8; \
    set style line 100 linecolor rgb grid_colour linewidth 1 dashtype solid; \
    set grid back linestyle 100; \
    set border 3 linecolor rgb faint; \
    set tics nomirror textcolor rgb ink; \
    set key textcolor rgb ink noenhanced samplen 2; \
    set title textcolor rgb ink; \
    set xlabel textcolor rgb ink; \
    set ylabel textcolor rgb ink'

# A power as people write it: ten with small raised digits.
raised = "\342\201\260 \302\271 \302\262 \302\263 \342\201\264 \342\201\265 \342\201\266 \342\201\267 \342\201\270 \342\201\271"
raise(digits) = strlen(digits) == 0 ? "" : word(raised, int(digits[1:1]) + 1) . raise(digits[2:strlen(digits)])
power(base, e) = sprintf("%g", base) . (e < 0 ? "\342\201\273" : "") . raise(sprintf("%d", abs(e)))
