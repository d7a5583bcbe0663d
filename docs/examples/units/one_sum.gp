# One sum as each matrix unit adds it up: a dot for the answer, and why. `table` has the lines of
# docs/examples/units/one_sum.py: a backend, a format, a number, and words.
width = 900
height = 470
@open_png
set output out
@begin_style
set lmargin 24
set rmargin 40
set tmargin 4
set bmargin 3
set xrange [-1.5:0.1]
set yrange [12.6:0.4]
set border 1
set xtics ("-1.375" -1.375, "-1" -1, "-0.875" -0.875, "-0.75" -0.75, "-0.5" -0.5, "0" 0) font ",9"
set ytics scale 0
set y2range [12.6:0.4]
set y2tics scale 0 textcolor rgb faint
unset key
set title "2^{23} - 2^{13} 2^{10} - 0.5 - 0.25 - 0.125, added up by twelve matrix units" offset 0, 1
set arrow from -0.875, 0.4 to -0.875, 12.6 nohead linecolor rgb blue dashtype 2 linewidth 1.5 back
set label "the real sum" at -0.875, 0.1 center textcolor rgb blue font ",10"
plot table using 3:($0 + 1):ytic(sprintf("%s, %s", strcol(1), strcol(2))):y2ticlabels(4) \
    with points pointtype 7 pointsize 1.3 linecolor rgb vermillion
