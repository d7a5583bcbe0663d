# How much of its bound each family of cases takes: a row for each family, a mark for each backend.
# Given: families with the array family_tic, series with the array series_name; nans: 1 where a
# ratio is not a number; columns: the names of the numbers drawn, the worst one and the one at which
# its line begins. Reads points: row, series, worst, begin, ...: ratios to the bound. Writes
# picture.
width = 640
row = 17.0
head = 30.0 + 20 * ((series + 2) / 3)
height = head + 50 + row * families
@open_page
set output drawing . "picture"
@begin_style
set datafile separator tab
low = 1e-4
over = 10
nan_at = 40
place(r) = r != r ? nan_at : r < low ? low : r > over ? over : r
begins(r, worst) = r != r || worst != worst ? place(worst) : place(r)
set tmargin at screen 1 - head / height
set bmargin at screen 46 / height
set lmargin at screen 230.0 / width
set rmargin at screen 1 - 24.0 / width
set logscale x
set xrange [low * 0.7 : (nans ? 60 : 20)]
set yrange [families + 0.6 : 0.4]
set xtics ("0" low, "0.001" 1e-3, "0.01" 1e-2, "0.1" 0.1, "1" 1, "\342\211\245 10" over) noenhanced
if (nans) { set xtics add ("NaN" nan_at) }
set xlabel axis_text noenhanced
set ytics () scale 0 noenhanced font ",12"
set for [i = 1 : families] ytics add (family_tic[i] i)
set grid noytics xtics
set key at screen 0.5, screen 1 - 4 / height center top horizontal maxcols 3 width 1
set object 1 rectangle from 1, graph 0 to graph 1, graph 1 behind fillcolor rgb warm \
    fillstyle solid noborder
set arrow from 1, graph 0 to 1, graph 1 nohead linecolor rgb bad linewidth 1.5
lane(s) = (s - (series + 1) / 2.0) * 0.66 / (series > 1 ? series : 2)
set bars 0
plot for [s = 1 : series] "points" \
    using ($2 == s ? place($3) : NaN):($1 + lane(s)):(begins($4, $3)):(place($3)) \
    with xerrorbars pointtype marks[nth(s + 1)] pointsize 0.45 linecolor rgb palette[nth(s + 1)] \
    title series_name[s]
