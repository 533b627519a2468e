package main

import "fmt"

// A form says what a figure is: how it comes from a metric and its peer, and how it is printed.
type form struct {
	figure func(of, over float64) float64
	print  func(v float64) string
	peers  string // the unit of both, where there is a peer
	paired bool   // the rounds are pairs of runs, and the verdict needs a confidence interval
}

func own(of, _ float64) float64 { return of }

var (
	ratio  = form{func(of, over float64) float64 { return of / over }, func(v float64) string { return fmt.Sprintf("%.2f x", v) }, "ns", false}
	size   = form{ratio.figure, ratio.print, "B", false}
	added  = form{func(of, over float64) float64 { return of/over - 1 }, func(v float64) string { return fmt.Sprintf("%+.0f %%", v*100) }, "ns", false}
	pair   = form{ratio.figure, ratio.print, "ns", true}
	part   = form{added.figure, func(v float64) string { return fmt.Sprintf("%+.1f %%", v*100) }, "ns", true}
	beyond = form{func(of, over float64) float64 { return of - over }, func(v float64) string { return fmt.Sprintf("%+.0f B", v) }, "B", false}

	nanos      = form{own, func(v float64) string { return fmt.Sprintf("%.0f ns", v) }, "", false}
	millis     = form{own, func(v float64) string { return fmt.Sprintf("%.1f ms", v) }, "", false}
	seconds    = form{own, func(v float64) string { return fmt.Sprintf("%.1f s", v) }, "", false}
	processors = form{own, func(v float64) string { return fmt.Sprintf("%.2f CPU", v) }, "", false}
	times      = form{own, func(v float64) string { return fmt.Sprintf("%.2f x", v) }, "", false}
	percent    = form{own, func(v float64) string { return fmt.Sprintf("%.2f %%", v) }, "", false}
	megabytes  = form{own, func(v float64) string { return fmt.Sprintf("%.0f MB", v) }, "", false}
	plain      = form{own, func(v float64) string { return fmt.Sprintf("%.0f", v) }, "", false}
	bytes      = form{own, func(v float64) string { return fmt.Sprintf("%.0f B", v) }, "", false}
)
