package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/locals"
	"github.com/vtscope/vtscope/dump/memory"
	"github.com/vtscope/vtscope/runtime/flight"
)

// looks is how often a thread is looked at that runs on meanwhile. vtdelve looks several times itself.
const looks = 3

// printLocals prints a thread with its variables. report is of a first look at it.
func (s *settings) printLocals(ctx context.Context, w world, r dump.Source, report *dump.ThreadReport) error {
	var answer *locals.Answer
	for try := 1; ; try++ {
		q, err := s.question(r, report)
		if err == nil {
			answer, err = locals.Ask(ctx, q)
		}
		if err != nil && !errors.Is(err, locals.ErrMoved) {
			return s.explainLocals(err)
		}
		after, lost := dump.TakeThread(ctx, r, s.drill.thread)
		if lost != nil {
			return s.explainLocals(fmt.Errorf("%w while its variables were read", lost))
		}
		if err == nil && stayed(report, after) {
			break
		}
		if try == looks {
			return s.explainLocals(&locals.Problem{Kind: "moved", Text: fmt.Sprintf("it ran on while its variables were read, %d times", looks), Try: "again, or when it waits for longer"})
		}
		report = after
	}
	answer.Thread = uint64(report.ID)
	if s.format == "json" {
		return written(0, locals.Write(w.stdout, answer))
	}
	if err := written(0, dump.ThreadText(w.stdout, report, s.textOptions(w))); err != nil {
		return err
	}
	if err := written(fmt.Fprintln(w.stdout)); err != nil {
		return err
	}
	return written(0, locals.Text(w.stdout, answer, locals.TextOptions{Internal: s.internal, ASCII: s.ascii, Width: s.width}))
}

// stayed reports whether a thread was where it was all the while between two looks: who waits again was mounted in between. Since is no measure, because it
// is the time of day, which is worked out anew at each look.
func stayed(before, after *dump.ThreadReport) bool {
	return before.State == after.State && before.Mounts == after.Mounts && before.Goroutine == after.Goroutine
}

// question asks for the variables of a thread of a source.
func (s *settings) question(r dump.Source, report *dump.ThreadReport) (locals.Question, error) {
	q := locals.Question{PID: report.Process.PID}
	if s.depth != unset { // 0 means all
		q.Frames = locals.MostFrames
		if s.depth > 0 {
			q.Frames = min(s.depth, locals.MostFrames)
		}
	}
	if src, ok := r.(*memory.Source); ok && memory.IsCore(s.target) {
		q.PID, q.Core, q.Exe = 0, s.target, src.Executable()
	}
	var err error
	switch q.G, err = strconv.ParseUint(report.Goroutine, 0, 64); {
	case report.State == flight.StateNew.String():
		return q, errors.New("it has not begun, so it has no variables")
	case q.Core == "" && report.Process.Status != dump.StatusRunning && report.Process.Status != dump.StatusStopped:
		return q, &locals.Problem{Kind: "gone", Text: "the process is gone, and its memory with it", Try: "a core file of it"}
	case s.memory.Stop:
		return q, &locals.Problem{Kind: "other", Text: "the process would stay stopped while debug information is loaded", Try: "without --stop: reading stops nothing"}
	case q.Core != "" && q.Exe == "":
		return q, &locals.Problem{Kind: "other", Text: "the core does not say which program has left it", Try: "--exe PROGRAM"}
	case err != nil || q.G == 0:
		return q, errors.New("its goroutine is not known")
	}
	return q, nil
}

// explainLocals adds the next step to an error of reading variables.
func (s *settings) explainLocals(err error) error {
	try := ""
	if p := (*locals.Problem)(nil); errors.As(err, &p) {
		try = p.Try
	}
	switch {
	case errors.Is(err, locals.ErrNoCommand):
		try = locals.Build
	case errors.Is(err, locals.ErrDenied):
		try = "sudo " + s.call() + " " + s.target + " --thread " + fmt.Sprint(s.drill.thread) + " --locals, " + try
	case errors.Is(err, locals.ErrRuns) && try == "":
		try = "without --locals"
	}
	err = fmt.Errorf("%s: variables of thread #%d: %w", s.target, s.drill.thread, err)
	if try == "" {
		return err
	}
	return hint{err, try}
}
