# How much of its bound each family of cases takes: a row for each family, a mark for each backend.
# Given: families with the array family_tic, of tic_lines lines at most; more_letters that a line of
# a label may have than most; others, a row in words that stands for what has no row, or nothing;
# series with the array series_name; nans: 1 where a ratio is not a number; axis_text; low and over,
# the ends of the axis; limit: 1 where numbers beyond 1 are broken claims. Reads points: row, series,
# worst, median: a line from the median to the worst. Rows and series beyond those given are not
# drawn. Writes picture.
letter = 6.5
more = letter * more_letters
width = 500 + more
row = tic_lines > 1 ? 14.0 * tic_lines + 4 : 17.0
# The key has as many columns as fit. All of them are as wide as the widest.
letters = 0
do for [s = 1 : series] { letters = strlen(series_name[s]) > letters ? strlen(series_name[s]) : letters }
in_key = 50 / (letters + 9)
in_key = in_key < 1 ? 1 : in_key > series ? series : in_key
head = 14.0 + 18 * ((series + in_key - 1) / in_key)
rows = families + (strlen(others) > 0)
height = head + 56 + row * rows
# Seven backends and more are told apart by colour and shape together.
colour(s) = palette[2 + (s - 1) % 6]
shape(s) = shapes[2 + (s - 1 + (s - 1) / 6) % 6]
@open_page
set output drawing . "picture"
@begin_style
set datafile separator tab
nan_at = over * 8
inside(r) = r < low ? low : r > over ? over : r
place(text, r) = text eq "nan" ? nan_at : inside(r)
set tmargin at screen 1 - head / height
set bmargin at screen 50.0 / height
set lmargin at screen (205.0 + more) / width
set rmargin at screen 1 - 24.0 / width
set logscale x
set xrange [low * 0.7 : over * (nans ? 16 : 2)]
set yrange [rows + 0.6 : 0.4]
set xtics ((low < 1e-3 ? "0" : sprintf("\342\211\244 %g", low)) low) noenhanced
nearest(x) = int(floor(x + 0.5))
set for [e = nearest(log10(low)) + 1 : nearest(log10(over)) - 1] xtics add (sprintf("%g", 10.0 ** e) 10.0 ** e)
set xtics add (sprintf("\342\211\245 %g", over) over)
if (nans) { set xtics add ("NaN" nan_at) }
set label 1 axis_text at graph 0.5, screen 14.0 / height center noenhanced textcolor rgb ink
set ytics () scale 0 noenhanced font ",12"
set for [i = 1 : families] ytics add (family_tic[i] i)
if (rows > families) {
    set label 2 others at graph 0.02, first rows left noenhanced font ",12" textcolor rgb faint
}
set grid noytics xtics
set key at screen 0.5, screen 1 - 4 / height center top horizontal maxcols in_key Left reverse font ",12"
if (limit) {
    set object 1 rectangle from 1, graph 0 to graph 1, graph 1 behind fillcolor rgb warm \
        fillstyle solid noborder
    set arrow from 1, graph 0 to 1, graph 1 nohead linecolor rgb bad linewidth 1.5
}
lane(s) = (s - (series + 1) / 2.0) * 0.66 / (series > 1 ? series : 2)
set bars 0
plot for [s = 1 : series] "points" \
    using ($2 == s && $1 <= families ? place(strcol(3), strcol(3) eq "nan" ? 0 : $3) : NaN):($1 + lane(s)): \
    (place(strcol(strcol(3) eq "nan" ? 3 : 4), strcol(4) eq "nan" ? 0 : $4)):(place(strcol(3), strcol(3) eq "nan" ? 0 : $3)) \
    with xerrorbars pointtype shape(s) pointsize 0.45 linecolor rgb colour(s) \
    title series_name[s]
