package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// hostileTime is how long damaged files are read; VTSCOPE_HOSTILE is that of nightly runs.
func hostileTime(t *testing.T) time.Duration {
	d, err := time.ParseDuration(os.Getenv("VTSCOPE_HOSTILE"))
	if os.Getenv("VTSCOPE_HOSTILE") == "" {
		return 10 * time.Second
	}
	if err != nil {
		t.Fatalf("VTSCOPE_HOSTILE: %v", err)
	}
	return d
}

// hostileSeed is where the damage begins: VTSCOPE_SEED, or by chance.
func hostileSeed(t *testing.T) uint64 {
	text := os.Getenv("VTSCOPE_SEED")
	if text == "" {
		return rand.Uint64()
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("VTSCOPE_SEED: %v", err)
	}
	return seed
}

const (
	callsOfAFile  = 25              // by chance, of all that read it
	longestCall   = 3 * time.Minute // on a machine that is very busy
	mostForACall  = 1 << 30         // bytes of memory
	longestOutput = 256 << 20       // bytes
)

// No damaged file makes a command panic, take much memory or wait for ever, whatever the command
// and the format, and none brings a control character, or a mark of bidirectional text, into what
// is printed.
func TestNoCommandPanicsOnADamagedFile(t *testing.T) {
	all := hostileFiles(t)
	seed := hostileSeed(t)
	shares := 0
	for _, h := range all {
		shares += h.share
	}
	for _, h := range all {
		t.Run(h.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			dir := t.TempDir()
			b := &bench{t: t, file: h, dir: dir}
			defer b.watch()()
			b.write(h.whole)
			for _, call := range h.calls {
				if code := b.try(call); code == exitUsage {
					t.Errorf("vtdump %q of the whole file: got exit %d: %s", call, code, b.errs.String())
				}
			}
			read, each := b.read, hostileTime(t)*time.Duration(h.share)/time.Duration(shares)
			for until := time.Now().Add(each); !t.Failed() && (b.n == 0 || time.Now().Before(until)); {
				b.n++
				b.seed = fmt.Sprintf("VTSCOPE_SEED=%d, file %d", seed, b.n)
				b.write(h.damage(r))
				for range callsOfAFile {
					if b.try(h.calls[r.IntN(len(h.calls))]); t.Failed() {
						b.keep()
						return
					}
				}
			}
			t.Logf("VTSCOPE_SEED=%d: %d damaged files, %d calls, %d of them read something", seed, b.n, b.calls, b.read)
			if read == 0 {
				t.Error("no command could read the whole file")
			}
		})
	}
}

// A bench reads one kind of files.
type bench struct {
	t    *testing.T
	file *hostileFile
	dir  string

	n, calls, read int
	seed           string
	now            atomic.Pointer[string] // what is called
	since          atomic.Int64
	errs           bytes.Buffer
}

func (b *bench) write(content []byte) {
	path := filepath.Join(b.dir, b.file.path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// keep keeps a file that was too much for a command, if VTSCOPE_KEEP names a directory.
func (b *bench) keep() {
	dir := os.Getenv("VTSCOPE_KEEP")
	if dir == "" {
		b.t.Log("VTSCOPE_KEEP=DIR keeps the file")
		return
	}
	content, err := os.ReadFile(filepath.Join(b.dir, b.file.path))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, filepath.Base(b.file.path)), content, 0o600)
	}
	if err != nil {
		b.t.Error(err)
	}
}

// watch ends the test where a call takes too long or too much memory, with the stacks of all
// goroutines.
func (b *bench) watch() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			metrics.Read(sample)
			what := ""
			if n := sample[0].Value.Uint64(); n > mostForACall {
				what = fmt.Sprintf("%d MB", n>>20)
			} else if since := b.since.Load(); since != 0 && time.Since(time.Unix(0, since)) > longestCall {
				what = longestCall.String()
			}
			if what != "" {
				fmt.Fprintf(os.Stderr, "%s: vtdump %s takes %s\n", b.file.name, *b.now.Load(), what)
				_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 2)
				os.Exit(1)
			}
		}
	}()
	return func() { close(done); <-ended }
}

// try runs vtdump, and checks what it prints.
func (b *bench) try(call []string) (code int) {
	args := slices.Clone(call)
	for i := range args {
		args[i] = strings.NewReplacer("FILE", filepath.Join(b.dir, b.file.target), "DIR", b.dir).Replace(args[i])
	}
	what := fmt.Sprintf("%q %s", args, b.seed)
	b.now.Store(&what)
	b.since.Store(time.Now().UnixNano())
	defer b.since.Store(0)
	defer func() {
		if v := recover(); v != nil {
			b.t.Errorf("vtdump %s: %v\n%s", what, v, debug.Stack())
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), longestCall)
	defer cancel()
	format := formatOfCall(args)
	out := &sieve{binary: slices.Contains([]string{"pprof", "jfr", "perfetto", "part"}, format), json: format == "json"}
	b.errs.Reset()
	errs := &sieve{}
	b.calls++
	code = run(ctx, args, world{
		stdin: bytes.NewReader(nil), stdout: out, stderr: io.MultiWriter(&b.errs, errs), getenv: func(string) string { return "" }, now: time.Now,
	})
	if out.n > 0 {
		b.read++
	}
	for _, s := range []*sieve{out, errs} {
		if raw := s.raw(); raw != "" {
			b.t.Errorf("vtdump %s: raw %s", what, raw)
		}
	}
	if errs.n > 32<<10 {
		b.t.Errorf("vtdump %s: %d bytes of errors", what, errs.n)
	}
	if out.json && !(b.file.parts && b.n > 0) && out.n > 0 && b.errs.Len() == 0 && !wholeJSON(out.kept.Bytes()) {
		b.t.Errorf("vtdump %s: malformed JSON: %.300q", what, out.kept.String())
	}
	return code
}

// formatOfCall returns what a call prints: "json", a format that is not for people, "part" for a
// part of a bundle that is none of text, or "".
func formatOfCall(args []string) string {
	if i := slices.Index(args, "--part"); i > 0 && slices.Contains([]string{"events", "heap", "cpu", "goroutine"}, args[i+1]) {
		return "part"
	}
	if slices.Contains(args, "--json") {
		return "json"
	}
	i := slices.Index(args, "-f")
	switch {
	case i < 0 && args[0] == "profile":
		return profileFormats[0]
	case i < 0:
		return ""
	case args[i+1] == "jdk" || args[i+1] == "jdk1":
		return "json"
	}
	return args[i+1]
}

// wholeJSON reports whether a text is JSON values one after the other.
func wholeJSON(text []byte) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return err == io.EOF
		}
	}
}

// A sieve is written to, and finds what must not be printed.
type sieve struct {
	binary, json bool

	n     int
	rest  []byte // the beginning of a character
	found string
	kept  bytes.Buffer // of JSON
}

func (s *sieve) Write(p []byte) (int, error) {
	s.n += len(p)
	if s.n > longestOutput {
		return 0, fmt.Errorf("more than %d bytes are printed", longestOutput)
	}
	if s.json {
		s.kept.Write(p)
	}
	if s.binary || s.found != "" {
		return len(p), nil
	}
	text := append(s.rest, p...)
	whole := len(text)
	for i := max(0, len(text)-3); i < len(text); i++ {
		if text[i] >= 0xc0 { // may go on in the next call
			whole = i
			break
		}
	}
	s.check(text[:whole])
	s.rest = bytes.Clone(text[whole:])
	return len(p), nil
}

func (s *sieve) check(text []byte) {
	if raw := rawControl(string(text)); raw != "" && s.found == "" {
		i := bytes.Index(text, []byte(raw))
		s.found = fmt.Sprintf("%+q in %+q", raw, text[max(0, i-60):min(len(text), i+60)])
	}
}

func (s *sieve) raw() string {
	if !s.binary {
		s.check(s.rest)
	}
	return s.found
}
