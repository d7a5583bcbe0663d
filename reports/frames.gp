# Small frames with the same axes. Given: frames, with the arrays frame_name, frame_lines (how many
# the name has), frame_trouble (a warning below the name, or nothing), frame_x_low and frame_x_high; series, with the array
# series_name; behind_name, what lies behind in grey, or nothing; x_text, y_text; x_low, x_high,
# y_low, y_high; log_y (the base, 0: linear); most_columns; frame_style (0: lines, 1: lines with
# dots, 2: steps); ticks, with the arrays tick_at and tick_text; own_x and half_windows (0 or 1).
# Reads points: frame, series (0: behind, 9: a cross), x, y; an empty line ends a curve. Frames
# beyond those given are not drawn. Writes picture.
width = 500
columns = frames < most_columns ? frames : most_columns
rows = (frames + columns - 1) / columns
left = 58.0
gap = own_x ? 16.0 : 12.0
wide = (width - left - 18 - gap * (columns - 1)) / columns
troubles = 0
lines = 1
do for [f = 1 : frames] {
    troubles = troubles + (strlen(frame_trouble[f]) > 0)
    if (frame_lines[f] > lines) { lines = frame_lines[f] }
}
# A warning stands below the name, where no curve is. A name without one stands at its frame.
title_high = (troubles ? 31.0 : 17.0) + 18 * (lines - 1)
high = (columns == 1 ? 220.0 : rows == 1 || (columns == 2 && rows == 2) ? 140.0 : 74.0) + title_high
below = own_x ? 32.0 : 24.0
in_key = series + (strlen(behind_name) > 0)
key_high = 10.0 + 18 * in_key
foot = own_x ? 20.0 : 24.0
height = key_high + rows * (high + below) + foot
@open_page
set output drawing . "picture"
@begin_style
set datafile separator tab
set multiplot
unset key
set tics font ",11" scale 0.5
set xtics offset 0, 0.5
set xlabel ""
set ylabel ""

# Where a number that a logarithmic axis lacks is drawn: at its lower end.
bottom = log_y ? y_low : 0
place(y) = log_y && y <= 0 ? bottom : y
if (log_y) { set logscale y log_y }
margin = log_y ? (y_high / y_low) ** 0.06 : 0.06 * (y_high - y_low)
if (log_y) { set yrange [y_low / margin : y_high * margin] } else { set yrange [y_low - margin : y_high + margin] }

# Ticks: a few powers of the base, or a step of 1, 2 or 5 times a power of ten.
even(x, e) = x <= e ? e : x <= 2 * e ? 2 * e : x <= 5 * e ? 5 * e : 10 * e
step(span, n) = even(span / n, 10.0 ** floor(log10(span / n)))
log_in(x) = log(x) / log(log_y)
first = log_y ? ceil(log_in(y_low) - 1e-9) : 0
last = log_y ? floor(log_in(y_high) + 1e-9) : 0
by = last - first > 4 ? int(ceil((last - first) / 4.0)) : 1
label_of(text) = at_column == 0 ? text : ""
# Only the frames at the left have numbers beside their ticks.
y_ticks = 'set ytics (); \
    if (!log_y) { set ytics step(y_high - y_low, 3) }; \
    if (log_y && last > first) { set for [e = first : last : by] ytics add (label_of(power(log_y, e)) (1.0 * log_y) ** e) }; \
    if (log_y && last <= first) { set ytics add (label_of(sprintf("%.2g", y_low)) y_low, label_of(sprintf("%.2g", y_high)) y_high) }'
set format x "%g"

do for [f = 1 : frames] {
    at_column = (f - 1) % columns
    at_row = (f - 1) / columns
    x0 = left + at_column * (wide + gap)
    y0 = key_high + at_row * (high + below) + title_high
    set lmargin at screen x0 / width
    set rmargin at screen (x0 + wide) / width
    set tmargin at screen 1 - y0 / height
    set bmargin at screen 1 - (y0 + high - title_high) / height
    xa = own_x ? frame_x_low[f] : x_low
    xb = own_x ? frame_x_high[f] : x_high
    set xrange [xa - 0.02 * (xb - xa) : xb + 0.02 * (xb - xa)]
    x_step = step(xb - xa, columns == 3 ? 2.5 : 5)
    set xtics x_step < 1 ? 1 : x_step
    set format x "%g"
    if (ticks) {
        set xtics ()
        set for [t = 1 : ticks] xtics add (tick_text[t] tick_at[t])
    }
    @y_ticks
    if (at_column == 0) { set format y "%g" } else { set format y "" }
    unset label
    unset object
    if (f == 1) {
        set label 90 x_text at screen 0.5, screen 10 / height center noenhanced textcolor rgb ink
        set label 91 y_text at screen 11.0 / width, screen 0.5 rotate by 90 center noenhanced textcolor rgb ink
    }
    set label 1 frame_name[f] at graph 0, graph 1 offset 0, frame_lines[f] - 1 + (strlen(frame_trouble[f]) ? 1.5 : 0.45) left noenhanced font ",12" textcolor rgb ink
    set label 2 frame_trouble[f] at graph 0, graph 1 offset 0, 0.4 left noenhanced font ",11" textcolor rgb bad
    if (half_windows) {
        if (xa < -24 && xb >= -24) { set object 1 rectangle from xa, graph 0 to (xb < -24 ? xb : -24), graph 1 behind fillcolor rgb warm fillstyle solid noborder }
        if (xa < -14 && xb > -24) { set object 2 rectangle from (xa > -24 ? xa : -24), graph 0 to (xb < -14 ? xb : -14), graph 1 behind fillcolor rgb mild fillstyle solid noborder }
        if (xb > 16) { set object 3 rectangle from (xa > 16 ? xa : 16), graph 0 to xb, graph 1 behind fillcolor rgb warm fillstyle solid noborder }
    }
    if (frame_style == 2) {
        plot for [s = 1 : series] "points" using ($1 == f && $2 == s ? $3 : NaN):(place($4)) \
            with histeps linecolor rgb palette[nth(s + 1)] dashtype dashes[nth(s + 1)] linewidth 1.5 notitle
    } else {
        plot "points" using ($1 == f && $2 == 0 ? $3 : NaN):(place($4)) with lines linecolor rgb behind linewidth 3 notitle, \
            for [s = 1 : series] "points" using ($1 == f && $2 == s ? $3 : NaN):(place($4)) \
            with lines linecolor rgb palette[nth(s + 1)] dashtype dashes[nth(s + 1)] linewidth 1.5 notitle, \
            for [s = 1 : (frame_style == 1 ? series : 0)] "points" using ($1 == f && $2 == s ? $3 : NaN):(place($4)) \
            with points linecolor rgb palette[nth(s + 1)] pointtype shapes[nth(s + 1)] pointsize 0.25 notitle, \
            "points" using ($1 == f && $2 == 9 ? $3 : NaN):(strcol(4) eq "nan" ? y_low : place($4)) \
            with points pointtype 2 pointsize 0.6 linewidth 1.5 linecolor rgb bad notitle
    }
}

# The key, above all frames.
unset label
unset object
unset border
unset tics
unset logscale
set format
set tmargin at screen 1
set bmargin at screen 0
set lmargin at screen 0
set rmargin at screen 1
set xrange [0:1]
set yrange [0:1]
if (in_key > 0) {
    set key at screen 0.5, screen 1 - 3 / height center top horizontal maxcols 1 Left reverse font ",12"
    plot for [s = 1 : series] NaN with linespoints linecolor rgb palette[nth(s + 1)] \
        dashtype dashes[nth(s + 1)] linewidth 1.5 pointtype shapes[nth(s + 1)] \
        pointsize (frame_style == 1 ? 0.5 : 0) title series_name[s], \
        for [i = 1 : (strlen(behind_name) > 0)] NaN with lines linecolor rgb behind linewidth 3 title behind_name
}
unset multiplot
