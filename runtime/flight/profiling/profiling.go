package profiling

import (
	"bytes"
	"fmt"
	"io"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/vtscope/vtscope/runtime/flight"
)

// Command is the name of the command that takes a profile. What is asked is the profile's name and, of cpu, for how long: "heap", "cpu 2s". The answer is
// a profile as "go tool pprof" reads it.
const Command = "profile"

// most is the longest that a profile takes.
const most = 30 * time.Second

// A kind is a profile that can be asked for.
type kind struct {
	name  string
	timed bool
	take  func(to io.Writer, d time.Duration, stop <-chan struct{}) error
}

var kinds = []kind{
	{"heap", false, lookup("heap")},
	{"goroutine", false, lookup("goroutine")},
	{"mutex", false, lookup("mutex")},
	{"block", false, lookup("block")},
	{"cpu", true, cpu},
}

func init() {
	err := flight.RegisterCommand(flight.Command{Name: Command, About: "take a profile: " + names(), Long: true, Do: profile})
	if err != nil {
		panic(err)
	}
}

func names() string {
	all := make([]string, len(kinds))
	for i, k := range kinds {
		if all[i] = k.name; k.timed {
			all[i] += " DURATION"
		}
	}
	return strings.Join(all, ", ")
}

func profile(_ *flight.Recorder, stop <-chan struct{}, body []byte) ([]byte, error) {
	words := strings.Fields(string(body))
	for _, k := range kinds {
		if len(words) == 0 || words[0] != k.name {
			continue
		}
		var d time.Duration
		if k.timed != (len(words) == 2) {
			return nil, fmt.Errorf("profile %q: want one of %s", body, names())
		}
		if k.timed {
			var err error
			if d, err = time.ParseDuration(words[1]); err != nil || d <= 0 || d > most {
				return nil, fmt.Errorf("profile %q: want a duration of at most %v", body, most)
			}
		}
		var b bytes.Buffer
		if err := k.take(&b, d, stop); err != nil {
			return nil, fmt.Errorf("profile %s: %w", k.name, err)
		}
		return b.Bytes(), nil
	}
	return nil, fmt.Errorf("profile %q: want one of %s", body, names())
}

func lookup(name string) func(io.Writer, time.Duration, <-chan struct{}) error {
	return func(to io.Writer, _ time.Duration, _ <-chan struct{}) error { return pprof.Lookup(name).WriteTo(to, 0) }
}

func cpu(to io.Writer, d time.Duration, stop <-chan struct{}) error {
	if err := pprof.StartCPUProfile(to); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-stop:
	}
	return nil
}
