package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/google/pprof/profile"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/internal/plainfile"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/tracing/jfr"
)

// An exportFormat is a format of somebody else's that vtdump export writes.
type exportFormat struct {
	name    string
	endings []string // of names of files that have it, with the dot
	about   string
	// write writes what src holds. It need not close w, and what it has written when it returns an error is thrown away.
	write func(ctx context.Context, src recording.Source, w io.Writer, o exportOptions) (exported, error)
}

// exportOptions are what flags of vtdump export ask for.
type exportOptions struct {
	output     string // "" if it was not said; "-" is standard output
	cpuProfile string // a file that Go's CPU profiler wrote; "" for none
}

// exported tells what was written, for standard error.
type exported struct {
	what    []string // "1,204 events", "80 threads"; the size of the file is added
	leftOut []string // what the format cannot hold, or the recording does not, a short sentence each
}

// exportFormats are the formats that vtdump export knows. Parser, help and docs/cli.md derive from it.
var exportFormats = []exportFormat{
	{"jfr", []string{".jfr"}, "for jfr, JDK Mission Control and other readers of JDK Flight Recorder; see docs/jfr.md", exportJFR},
	{"perfetto", []string{".pftrace", ".perfetto-trace"}, "for ui.perfetto.dev and Perfetto's trace processor; see docs/perfetto.md", exportPerfetto},
}

func exportNames() []string {
	names := make([]string, len(exportFormats))
	for i := range exportFormats {
		names[i] = exportFormats[i].name
	}
	return names
}

// exportFormatOf returns the format of a name, or, if that is empty, the one that the ending of file says; nil if there is none.
func exportFormatOf(name, file string) *exportFormat {
	i := slices.IndexFunc(exportFormats, func(f exportFormat) bool {
		if name != "" {
			return f.name == name
		}
		return slices.ContainsFunc(f.endings, func(e string) bool { return strings.HasSuffix(filepath.Base(file), e) })
	})
	if i < 0 {
		return nil
	}
	return &exportFormats[i]
}

// export writes a recording in a format of somebody else's.
func (s *settings) export(ctx context.Context, w world) error {
	format := exportFormatOf(s.format, s.exporting.output)
	if format == nil {
		return usageError{"export: the name of the output says no format: " + cmp.Or(s.exporting.output, "there is none"),
			"vtdump export " + s.target + " -o run" + exportFormats[0].endings[0] + ", or --format " + strings.Join(exportNames(), ", ")}
	}
	output := s.exporting.output
	if output == "" {
		base := filepath.Base(s.target)
		output = strings.TrimSuffix(base, filepath.Ext(base)) + format.endings[0]
	}
	src, err := openEvents(s.target)
	if err != nil {
		try := "a file that vtdump record has written, or an incident bundle"
		if errors.Is(err, fs.ErrNotExist) {
			try = "vtdump record " + s.target + " -o run.vtr, and then vtdump export run.vtr"
		}
		return hint{err, try}
	}
	defer src.Close()
	if same(s.target, output) {
		return usageError{"export: " + output + " is the recording itself", "another name after -o"}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if output == "-" {
		if w.terminal {
			return usageError{"export: standard output is a terminal", "-o FILE, or | less"}
		}
		counted := counter{w: w.stdout}
		e, err := format.write(ctx, src, &counted, s.exporting)
		if err != nil {
			return fmt.Errorf("export %s: %w", s.target, err)
		}
		return e.report(w.stderr, "standard output", counted.n)
	}
	var e exported
	var n int64
	err = writeWhole(output, 0o600, func(file io.Writer) error {
		buffered := bufio.NewWriterSize(file, 1<<16)
		counted := counter{w: buffered}
		if e, err = format.write(ctx, src, &counted, s.exporting); err != nil {
			return err
		}
		n = counted.n
		return buffered.Flush()
	})
	if err != nil {
		return fmt.Errorf("export %s: %w", s.target, err)
	}
	return e.report(w.stderr, output, n)
}

// report tells what was written, and what not.
func (e *exported) report(stderr io.Writer, to string, bytes int64) error {
	fmt.Fprintf(stderr, "wrote %s: %s, %s\n", dump.Printable(to), strings.Join(e.what, ", "), dump.Count(uint64(bytes), "byte"))
	for _, what := range e.leftOut {
		fmt.Fprintf(stderr, "    not in it: %s\n", dump.Printable(what))
	}
	return nil
}

// writeWhole writes a file that has its name only when it is complete: what was there before stays until then. What is no regular file, such as a pipe, is
// written in place, unless another user has put it there.
func writeWhole(name string, mode fs.FileMode, write func(io.Writer) error) error {
	info, err := os.Stat(name)
	if err != nil || info.Mode().IsRegular() {
		return plainfile.Replace(name, mode, write)
	}
	if info.IsDir() {
		return fmt.Errorf("%s is a folder", name)
	}
	link, err := os.Lstat(name)
	if err != nil {
		return err
	}
	for _, made := range []fs.FileInfo{link, info} {
		if uid, known := plainfile.Owner(made); known && uid != 0 && uid != os.Geteuid() {
			return hint{fmt.Errorf("%s: %s that user %d made", name, fileKind(made.Mode()), uid), "-o - > " + name}
		}
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(now, info) { // it was another one a moment ago
		return errors.Join(fmt.Errorf("%s: it was replaced meanwhile", name), err, f.Close())
	}
	return errors.Join(write(f), f.Close())
}

func same(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// A counter counts what is written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

func exportJFR(ctx context.Context, src recording.Source, w io.Writer, o exportOptions) (exported, error) {
	var cpu *profile.Profile
	if o.cpuProfile != "" {
		f, err := os.Open(o.cpuProfile)
		if err != nil {
			return exported{}, err
		}
		defer f.Close()
		if cpu, err = profile.Parse(f); err != nil {
			return exported{}, fmt.Errorf("%s: %w", o.cpuProfile, err)
		}
	}
	stats, err := jfr.Write(ctx, w, src, jfr.Options{CPU: cpu})
	e := exported{
		what:    []string{dump.Count(stats.Events, "event"), dump.Count(stats.Threads, "thread"), dump.Count(stats.Chunks, "chunk")},
		leftOut: stats.LeftOut,
	}
	if cpu != nil {
		e.what = slices.Insert(e.what, 1, dump.Count(stats.Samples, "sample"))
	}
	return e, err
}
