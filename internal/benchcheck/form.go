package main

import "fmt"

// A form says what a figure is: how it comes from a metric and its peer, and how it is printed.
type form struct {
	figure func(of, over float64) float64
	print  func(v float64) string
	peers  string // the unit of both, where there is a peer
}

func own(of, _ float64) float64 { return of }

var (
	ratio  = form{func(of, over float64) float64 { return of / over }, func(v float64) string { return fmt.Sprintf("%.2f x", v) }, "ns"}
	added  = form{func(of, over float64) float64 { return of/over - 1 }, func(v float64) string { return fmt.Sprintf("%+.0f %%", v*100) }, "ns"}
	beyond = form{func(of, over float64) float64 { return of - over }, func(v float64) string { return fmt.Sprintf("%+.0f B", v) }, "B"}

	nanos      = form{own, func(v float64) string { return fmt.Sprintf("%.0f ns", v) }, ""}
	millis     = form{own, func(v float64) string { return fmt.Sprintf("%.1f ms", v) }, ""}
	seconds    = form{own, func(v float64) string { return fmt.Sprintf("%.1f s", v) }, ""}
	processors = form{own, func(v float64) string { return fmt.Sprintf("%.2f CPU", v) }, ""}
	times      = form{own, func(v float64) string { return fmt.Sprintf("%.2f x", v) }, ""}
	percent    = form{own, func(v float64) string { return fmt.Sprintf("%.2f %%", v) }, ""}
	bytes      = form{own, func(v float64) string { return fmt.Sprintf("%.0f B", v) }, ""}
)
