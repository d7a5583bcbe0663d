# One picture of a case, for `halfcheck report`.
# Given: title_text, x_text, y_text; log_x, log_y, bars (0 or 1); the number n of series with the arrays name
# and points (how many each has); first_is_real: 1 where the first series is the real one; the number marks
# of vertical lines with the arrays mark and mark_text. Reads points: x and y, a block for each series.
# Writes picture.
width = 600
# The key below has up to three columns, all as wide as the widest. The picture is as much higher
# as a long key needs, so that the plot keeps its size.
letters = 0
do for [s = 1 : n] { letters = strlen(name[s]) > letters ? strlen(name[s]) : letters }
in_key = 74 / (letters + 8)
in_key = in_key < 1 ? 1 : in_key > 3 ? 3 : in_key
key_rows = (n + in_key - 1) / in_key
height = 340 + (key_rows > 1 ? 17 * (key_rows - 1) : 0)
@open_page
set output drawing . "picture"
@begin_style
# A long title has two lines.
cut = 76
while (strlen(title_text) > 76 && cut > 30 && title_text[cut:cut] ne " ") { cut = cut - 1 }
two = strlen(title_text) > 76
titled = two ? title_text[1:cut] . "\n" . title_text[cut + 1:strlen(title_text)] : title_text
set title titled noenhanced offset 0, (marks ? 1 : 0)
set tmargin (marks ? 4 : 3) + two
set bmargin 4.4 + 1.15 * key_rows
set xlabel x_text noenhanced
set ylabel y_text noenhanced
set key at screen 0.5, screen 0.02 bottom center horizontal Left reverse samplen 3 width 2 maxcols in_key
set format "%g"
if (log_x) {
    stats "points" using ($1 > 0 ? $1 : NaN) name "X" nooutput
    first = ceil(log(X_min) / log(2) - 1e-9)
    last = floor(log(X_max) / log(2) + 1e-9)
    by = last - first > 8 ? int(ceil((last - first) / 8.0)) : 1
    set logscale x 2
    if (last > first) { set xtics (); set for [e = first : last : by] xtics add (power(2, e) 2.0 ** e) }
}
if (log_y) {
    stats "points" using ($2 > 0 ? $2 : NaN) name "Y" nooutput
    first = ceil(log10(Y_min) - 1e-9)
    last = floor(log10(Y_max) + 1e-9)
    by = last - first > 6 ? int(ceil((last - first) / 6.0)) : 1
    set logscale y 10
    if (last > first) { set ytics (); set for [e = first : last : by] ytics add (power(10, e) 10.0 ** e) }
}
set autoscale xfix
set offsets graph 0.01, graph 0.01, graph (log_y ? 0 : 0.05), graph 0
if (bars) { set yrange [0:*] }

# The real one has the ink's colour and is wide, and lies under the others.
k(s) = (s - first_is_real) % 7 + 1
c(s) = palette[k(s)]
d(s) = dashes[k(s)]
w(s) = k(s) == 1 ? 4 : 2
few(s) = points[s] <= 12

do for [m = 1 : marks] {
    set arrow from mark[m], graph 0 to mark[m], graph 1 nohead dashtype 3 linecolor rgb faint
    set label mark_text[m] at mark[m], graph 1 right offset 0, 0.6 textcolor rgb faint noenhanced
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
