package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/vtscope/vtscope/dump"
)

// usualInterval is how often --watch prints by default.
const usualInterval = 2 * time.Second

// interval reads the value of --watch, which may be left out.
func interval(v string) (time.Duration, error) {
	if v == "" {
		return usualInterval, nil
	}
	return duration(v)
}

// repeat does the command again and again until Ctrl-C, or --times: on a terminal in place, else one page after the other. The target is opened anew each
// time, so a program that is started again is seen again. It returns what the last call returned.
func (s *settings) repeat(ctx context.Context, w world) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	once := *s
	once.again = 0
	if w.terminal && s.width == 0 {
		columns, _ := w.size()
		once.width = columns // 0: the default
	}
	for n := 1; ; n++ {
		var page bytes.Buffer
		to := w
		to.stdout = s.clean(w, &page)
		err := once.do(ctx, to)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !errors.Is(err, errFound) {
			if !w.terminal || n == 1 {
				return err // what is wrong from the beginning does not become right
			}
			report(&page, err)
		}
		if err := written(0, s.show(w, page.String(), n == 1)); err != nil {
			return err
		}
		if n == s.times {
			return err
		}
		if pause(ctx, s.again) != nil {
			return nil
		}
	}
}

// Sequences of terminals.
const (
	cursorHome  = "\x1b[H"
	eraseScreen = "\x1b[2J"
	eraseLine   = "\x1b[K"
	eraseBelow  = "\x1b[J"
)

// show prints a page below a line that says when. In place nothing is erased before it is written, so that nothing flickers.
func (s *settings) show(w world, page string, first bool) error {
	when := w.now().Local().Format("15:04:05") + "   every " + dump.Span(s.again) + ", until Ctrl-C"
	if !w.terminal {
		if !first {
			page += "\n"
		}
		_, err := fmt.Fprintf(w.stdout, "%s\n%s", when, page)
		return err
	}
	lines := strings.Split(strings.TrimSuffix(page, "\n"), "\n")
	if _, rows := w.size(); rows > 4 && len(lines) > rows-2 {
		more := len(lines) - (rows - 3)
		lines = append(lines[:rows-3:rows-3], dump.Count(more, "more line")+" do not fit: --top N, or a larger window")
	}
	var b strings.Builder
	if first {
		b.WriteString(eraseScreen)
	}
	b.WriteString(cursorHome + when + eraseLine + "\n")
	for _, line := range lines {
		b.WriteString(line + eraseLine + "\n")
	}
	b.WriteString(eraseBelow)
	_, err := fmt.Fprint(w.stdout, b.String())
	return err
}
