package locals

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
)

// MostFrames is the most that [Question.Frames] may be.
const MostFrames = 1000

// args are the arguments of vtdelve that ask q; [Parse] reads them.
func (q Question) args() []string {
	args := []string{"--g=0x" + strconv.FormatUint(q.G, 16)}
	add := func(name, value string) {
		if value != "" && value != "0" {
			args = append(args, "--"+name+"="+value)
		}
	}
	add("pid", strconv.Itoa(q.PID))
	add("core", q.Core)
	add("exe", q.Exe)
	add("frames", strconv.Itoa(q.Frames))
	add("depth", strconv.Itoa(q.Depth))
	add("text", strconv.Itoa(q.Text))
	add("elements", strconv.Itoa(q.Elements))
	return args
}

// Parse reads the arguments of vtdelve. It fills in what has a default.
func Parse(args []string) (Question, error) {
	var q Question
	set := flag.NewFlagSet(Command, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.IntVar(&q.PID, "pid", 0, "")
	set.StringVar(&q.Core, "core", "", "")
	set.StringVar(&q.Exe, "exe", "", "")
	set.Uint64Var(&q.G, "g", 0, "")
	limits := []struct {
		name  string
		to    *int
		usual int
		most  int
	}{
		{"frames", &q.Frames, 64, MostFrames},
		{"depth", &q.Depth, 2, 8},
		{"text", &q.Text, 200, 64 << 10},
		{"elements", &q.Elements, 32, 1000},
	}
	for _, l := range limits {
		set.IntVar(l.to, l.name, l.usual, "")
	}
	if err := set.Parse(args); err != nil {
		return q, fmt.Errorf("locals: %w", err)
	}
	if set.NArg() > 0 {
		return q, fmt.Errorf("locals: unknown argument %q", set.Arg(0))
	}
	for _, l := range limits {
		if *l.to < 1 || *l.to > l.most {
			return q, fmt.Errorf("locals: --%s=%d: want 1 to %d", l.name, *l.to, l.most)
		}
	}
	switch {
	case q.G == 0:
		return q, errors.New("locals: no goroutine: want --g=ADDRESS")
	case (q.PID > 0) == (q.Core != ""):
		return q, errors.New("locals: want either --pid=PID or --core=FILE")
	case (q.Core != "") != (q.Exe != ""):
		return q, errors.New("locals: a core file needs --exe=FILE, the program that has left it, and a process does not")
	}
	return q, nil
}
