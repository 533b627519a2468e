package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/vtscope/vtscope/incident"
	"github.com/vtscope/vtscope/runtime/flight"
)

// liarTarget, and the name of a lie after it, makes the test binary a process with a flight file
// that answers for itself at its control socket, and lies.
const liarTarget = "liar:"

// bombed is how many bytes a bomb of a few hundred thousand becomes.
const bombed = 256 << 20

// lies are what a liar answers, by name. Each ends when its caller hangs up.
var lies = map[string]func(c net.Conn, word string){
	"endless": func(c net.Conn, _ string) { // as much as the protocol allows, and on
		fmt.Fprintf(c, "vtscope-control 1 ok %d\n", flight.MaxAnswer)
		forever(c, make([]byte, 1<<16))
	},
	"endless reason": func(c net.Conn, _ string) {
		fmt.Fprintf(c, "vtscope-control 1 failed %d\n", flight.MaxAnswer)
		forever(c, bytes.Repeat([]byte("no\x1b]0;owned\a"), 1<<12))
	},
	"no line": func(c net.Conn, _ string) { forever(c, bytes.Repeat([]byte("x"), 1<<16)) },
	"huge length": func(c net.Conn, _ string) {
		fmt.Fprint(c, "vtscope-control 1 ok 2147483647\n")
		forever(c, []byte("x"))
	},
	"negative": func(c net.Conn, _ string) { fmt.Fprint(c, "vtscope-control 1 ok -1\n"); forever(c, []byte("x")) },
	"slow": func(c net.Conn, _ string) {
		fmt.Fprintf(c, "vtscope-control 1 ok %d\n", 1000)
		slowly(c)
	},
	"slow line": func(c net.Conn, _ string) { slowly(c) },
	"silent":    func(c net.Conn, _ string) { _, _ = io.Copy(io.Discard, c) },
	"bomb":      func(c net.Conn, _ string) { _ = flight.WriteControl(c, flight.AnswerOK, zeros()) },
	"samples": func(c net.Conn, _ string) { // each of two bytes becomes a structure
		_ = flight.WriteControl(c, flight.AnswerOK, samples())
	},
	"marks": func(c net.Conn, _ string) {
		_ = flight.WriteControl(c, flight.AnswerFailed, []byte("first\nsecond\x1b]0;owned\a\u009b\u202e\x7f"))
	},
	"pages": func(c net.Conn, word string) { // there is always one more
		pageOf(c, fmt.Sprintf("%020d", time.Now().UnixNano()), strings.Repeat(`{"id":"`+strings.Repeat("x", 8<<10-10)+`"},`, 3000)+"{}")
	},
	"large row": func(c net.Conn, _ string) { pageOf(c, "", `{"id":"`+strings.Repeat("x", 30<<20)+`"}`) },
	"many rows": func(c net.Conn, _ string) { pageOf(c, "", strings.Repeat("{},", 8<<20)+"{}") },
	"many steps": func(c net.Conn, _ string) {
		_ = flight.WriteControl(c, flight.AnswerOK, []byte(`{"history":{"steps":[`+strings.Repeat("{},", 8<<20)+"{}]}}"))
	},
	"many stores": func(c net.Conn, _ string) {
		_ = flight.WriteControl(c, flight.AnswerOK, []byte(`{"stores":[`+strings.Repeat("{},", 8<<20)+"{}]}"))
	},
	"nested": func(c net.Conn, _ string) {
		_ = flight.WriteControl(c, flight.AnswerOK, bytes.Repeat([]byte(`{"rows":[`), 1<<20))
	},
}

// pageOf answers with a page of rows, after which there are more.
func pageOf(c net.Conn, next, rows string) {
	_ = flight.WriteControl(c, flight.AnswerOK, fmt.Appendf(nil, `{"next":%q,"rows":[%s]}`, next, rows))
}

func forever(c net.Conn, b []byte) {
	for {
		if _, err := c.Write(b); err != nil {
			return
		}
	}
}

func slowly(c net.Conn) {
	for {
		if _, err := c.Write([]byte("v")); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
}

// Compressed bombs: of bytes that are none of a profile, and of a profile's empty samples.
var (
	zeros   = sync.OnceValue(func() []byte { return bomb(make([]byte, 1<<20)) })
	samples = sync.OnceValue(func() []byte { return bomb(bytes.Repeat([]byte{0x12, 0}, 1<<19)) })
)

func bomb(block []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	for n := 0; n < bombed; n += len(block) {
		_, _ = z.Write(block)
	}
	_ = z.Close()
	return b.Bytes()
}

// liar answers at the control socket in place of the recorder's own, until its standard input ends.
func liar(lie string) {
	path := flight.SocketPath(flight.Default().Path())
	for _, err := os.Lstat(path); err != nil; _, err = os.Lstat(path) {
		time.Sleep(time.Millisecond) // the recorder makes one soon after its start
	}
	if err := os.Chdir(filepath.Dir(path)); err != nil { // an address is short
		panic(err)
	}
	if err := os.Remove(filepath.Base(path)); err != nil {
		panic(err)
	}
	l, err := net.Listen("unix", filepath.Base(path))
	if err != nil {
		panic(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				word, _, err := flight.ReadControl(c, flight.MaxControlBody)
				if err == nil {
					lies[lie](c, word)
				}
			}()
		}
	}()
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = flight.Close()
	os.Exit(0)
}

// mostForALiar is how much memory a call may have that asks a liar. An answer is at most 16 MiB for
// most commands, and 32 MiB for a list of durable threads; the collector of vtdump waits until
// there are 150 MB.
const mostForALiar = 200 << 20

// A process owns its flight file and its socket, and answers what it likes. What it says costs its
// caller a bounded amount of memory and of time; an incident bundle names the parts that it lacks.
func TestALiarCostsItsCallerLittle(t *testing.T) {
	pids := map[string]string{}
	for lie := range lies {
		child, _ := startAs(t, liarTarget+lie)
		pids[lie] = strconv.Itoa(child.Process.Pid)
	}
	for lie, pid := range pids {
		t.Run(lie, func(t *testing.T) {
			t.Parallel() // most of the time they wait
			var all sync.WaitGroup
			for _, call := range [][]string{
				{"settings", pid, "park=off"},
				{"profile", pid, "cpu", "--seconds", "1", "-f", "text"},
				{"durable", pid},
				{"durable", pid, "some-thread"},
				{"incident", pid, "--dir", t.TempDir(), "--json"},
			} {
				all.Go(func() { askLiar(t, lie, call) })
			}
			all.Wait()
		})
	}
}

func askLiar(t *testing.T, lie string, call []string) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], call...)
	cmd.Env = append(os.Environ(), asTarget+"="+peakTarget)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	began := time.Now()
	err := cmd.Run()
	what := fmt.Sprintf("%s: vtdump %s", lie, cmd.Args[1])
	told, peak, found := strings.Cut(errs.String(), "peak ")
	kB, _ := strconv.Atoi(strings.TrimSpace(peak))
	if !found || kB == 0 {
		t.Errorf("%s: %v: no peak in %.2000q", what, err, errs.String())
	}
	t.Logf("%-40s %4d MB %5.1f s  %.150q", what, kB>>10, time.Since(began).Seconds(), told)
	if kB<<10 > mostForALiar {
		t.Errorf("%s: got %d MB, want at most %d MB", what, kB>>10, mostForALiar>>20)
	}
	if len(told) > 16<<10 {
		t.Errorf("%s: got %d bytes of errors, want few", what, len(told))
	}
	for _, text := range []string{out.String(), told} {
		if raw := rawControl(text); raw != "" {
			t.Errorf("%s: got the raw %q in %.200q", what, raw, text)
		}
	}
	if cmd.Args[1] != "incident" {
		return
	}
	var doc firingDoc
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil || doc.Bundle == "" {
		t.Errorf("%s: got no bundle in %q, %v", what, out.String(), err)
		return
	}
	b, err := incident.Open(doc.Bundle)
	if err != nil {
		t.Error(err)
		return
	}
	defer b.Close()
	missing := map[string]string{}
	for _, m := range b.Manifest.Missing {
		missing[m.Part] = m.Why
	}
	if b.Part("snapshot") == nil {
		t.Errorf("%s: the bundle has no snapshot", what)
	}
	if b.Part("heap") != nil && slices.Contains([]string{"bomb", "samples", "nested"}, lie) {
		return // nobody reads it here
	}
	for _, part := range []string{"heap", "goroutine", "cpu"} {
		if missing[part] == "" {
			t.Errorf("%s: got a bundle with %s, want it named as missing", what, part)
		}
	}
}

// rawControl returns the first character of a text that would change a terminal, or the order in
// which it shows text; "": there is none.
func rawControl(text string) string {
	for i, r := range text {
		if r == '\n' || r == '\t' {
			continue
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return text[i : i+utf8.RuneLen(r)]
		}
	}
	return ""
}
