# One picture of a case, for `halfcheck report`.
# Given: title_text, x_text, y_text; log_x, log_y, bars (0 or 1); the number n of series with the arrays name
# and points (how many each has); first_is_real: 1 where the first series is the real one; the number marks
# of vertical lines with the arrays mark and mark_text. Reads points: x and y, a block for each series.
# Writes picture.
set terminal svg size 920, 440 font "sans,13" background "#ffffff"
set output drawing . "picture"
set title title_text noenhanced offset 0, (marks ? 1 : 0)
set tmargin (marks ? 4 : 3)
set bmargin n > 3 ? 7 : 6
set xlabel x_text noenhanced
set ylabel y_text noenhanced
set border 3 linecolor rgb "#444444"
set tics nomirror
set grid xtics ytics linecolor "#e4e4e4" linetype 1
set key at screen 0.5, screen 0.02 bottom center horizontal Left reverse noenhanced samplen 3 width 2 maxcols 4
if (log_x) { set logscale x 2; set format x "2^{%L}" }
if (log_y) { set logscale y 10; set format y "10^{%L}" }
set autoscale xfix
set offsets graph 0.01, graph 0.01, graph (log_y ? 0 : 0.05), graph 0
if (bars) { set yrange [0:*] }

# Okabe and Ito's colours: told apart by the colour-blind, and by their dashes without colour.
array colour[7] = [0x000000, 0xd55e00, 0x0072b2, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9]
array dash[7] = [1, 2, 4, 5, 3, 1, 2]
# The real one is black and wide, and lies under the others.
k(s) = (s - first_is_real) % 7 + 1
c(s) = colour[k(s)]
d(s) = dash[k(s)]
w(s) = k(s) == 1 ? 4 : 2
few(s) = points[s] <= 12

do for [m = 1 : marks] {
    set arrow from mark[m], graph 0 to mark[m], graph 1 nohead dashtype 3 linecolor "#777777"
    set label mark_text[m] at mark[m], graph 1 right offset 0, 0.6 textcolor "#555555" noenhanced
}
if (bars) {
    plot for [s = 1 : n] "points" index s - 1 with histeps \
        linecolor rgb c(s) dashtype d(s) linewidth w(s) title name[s]
} else {
    plot for [s = 1 : n] "points" index s - 1 using 1:(few(s) ? NaN : $2) with lines \
        linecolor rgb c(s) dashtype d(s) linewidth w(s) title (few(s) ? "" : name[s]), \
        for [s = 1 : n] "points" index s - 1 using 1:(few(s) ? $2 : NaN) with linespoints \
        linecolor rgb c(s) dashtype d(s) linewidth w(s) pointtype 3 + 2 * s pointsize 0.8 \
        title (few(s) ? name[s] : "")
}
