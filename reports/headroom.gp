# Each result as a point at its error/bound, a line for each group; for `halfcheck report`.
# Given: the number groups of groups with the array group_tic, the number series of series with the array
# series_name; nans: 1 where some result is not a number. Reads points: group 1.., series 1.., ratio
# (-1: not a number). Writes picture.
set terminal svg size 920, 130 + 24 * groups + 18 * (series / 3) font "sans,13" background "#ffffff"
set output drawing . "picture"
low = 1e-4
over = 10
nan_at = 40
place(r) = r < 0 ? nan_at : r < low ? low : (r > over ? over : r)
set logscale x
set xrange [low * 0.7 : (nans ? 60 : 20)]
set yrange [groups + 0.6 : 0.4]
set xtics ("0" low, "0.001" 1e-3, "0.01" 1e-2, "0.1" 0.1, "1" 1, "over" over)
if (nans) { set xtics add ("NaN" nan_at) }
set xlabel "error / bound"
set ytics ()
set for [i = 1 : groups] ytics add (group_tic[i] i)
set grid xtics ytics linecolor "#e4e4e4" linetype 1
set border 3
set tics nomirror
set key outside top center horizontal noenhanced samplen 1
set ytics noenhanced
set arrow from 1, graph 0 to 1, graph 1 nohead linecolor "#b00000" linewidth 1.5
array colour[6] = [0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9]
array shape[6] = [7, 5, 9, 13, 11, 6]
lane(s) = (s - (series + 1) / 2.0) * 0.7 / (series > 1 ? series : 2)
plot for [s = 1 : series] "points" using ($2 == s ? place($3) : 1/0):($1 + lane(s)) \
    with points pointtype shape[(s - 1) % 6 + 1] pointsize 0.5 \
    linecolor rgb colour[(s - 1) % 6 + 1] title series_name[s]
