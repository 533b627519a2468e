package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
)

// limitFlags are what flags of vtdump check ask for.
type limitFlags struct {
	dump.Limits
	within time.Duration
}

// limit reads a number that a limit has, which may be 0.
func limit(v string) (*int, error) {
	n, err := natural(v)
	return &n, err
}

// maxGrowth reads a number of threads, or one of percent such as 20%. One of each may be given.
func (f *limitFlags) maxGrowth(v string) (err error) {
	number, ok := strings.CutSuffix(v, "%")
	if !ok {
		if f.MaxGrowth, err = limit(v); err != nil {
			err = errors.New("want a whole number, or percent such as 20%")
		}
		return err
	}
	percent, err := strconv.ParseFloat(number, 64)
	if err != nil || !(percent >= 0 && percent <= 1e6) {
		return errors.New("want percent from 0% on, such as 20%")
	}
	f.MaxPercent = &percent
	return nil
}

func (f *limitFlags) noLeaks(path string) error {
	_, err := filter.InScope(path)
	f.NoLeaks = append(f.NoLeaks, path)
	return err
}

// lookAgain is how long vtdump check waits before it looks again within --within.
const lookAgain = 100 * time.Millisecond

// checkLimits prints which limits the process keeps. It returns errFound if it does not keep one, else errUnknown if one cannot be judged.
func (s *settings) checkLimits(ctx context.Context, w world, r dump.Source) error {
	l := s.limits.Limits
	if !l.Any() {
		return usageError{"check needs a limit", "vtdump check " + s.target + " " + strings.Join(limitNames(), ", ")}
	}
	var from *dump.Baseline
	if l.Grows() {
		before, err := dump.Take(ctx, r, s.takeOptions())
		if err != nil {
			return fmt.Errorf("%s: %w", s.target, err)
		}
		if status := before.Process.Status; status != dump.StatusRunning {
			return hint{fmt.Errorf("--max-growth: the process is %s", status), "vtdump diff, which compares dumps"}
		}
		from = &dump.Baseline{Snapshot: before}
		if err := pause(ctx, cmp.Or(s.growth, usualGrowth)); err != nil {
			return err
		}
	}
	v, err := s.judge(ctx, r, from)
	for end := w.now().Add(s.limits.within); err == nil && v.Failed() > 0 && w.now().Before(end) && v.Process.Status == dump.StatusRunning; {
		if err = pause(ctx, lookAgain); err == nil {
			v, err = s.judge(ctx, r, from)
		}
	}
	if err != nil {
		return err
	}
	if s.format == "json" {
		err = dump.VerdictJSON(w.stdout, v)
	} else {
		err = dump.VerdictText(w.stdout, v, s.target, s.textOptions(w))
	}
	if err := written(0, err); err != nil {
		return err
	}
	switch {
	case v.Failed() > 0:
		return errFound
	case v.Unknown() > 0:
		return errUnknown
	}
	return nil
}

func (s *settings) judge(ctx context.Context, r dump.Source, from *dump.Baseline) (*dump.Verdict, error) {
	v, err := dump.Judge(ctx, r, s.limits.Limits, from, s.takeOptions())
	if err == nil || ctx.Err() != nil {
		return v, err
	}
	if dump.FlightReader(r) == nil && errors.Is(err, dump.ErrUnjudged) {
		return nil, hint{fmt.Errorf("%s: --%w", s.target, err), "vtdump check with the process, while it runs or hangs"}
	}
	return nil, fmt.Errorf("%s: %w", s.target, err)
}

// limitNames returns the flags that are limits.
func limitNames() (names []string) {
	for i := range flags {
		if flags[i].of == commandCheck && flags[i].name != "within" {
			names = append(names, flags[i].usage())
		}
	}
	return names
}
