package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/leaktest"
)

// childVariable makes the test's own binary a stand-in for the shop: it tells its pid and ends with its
// standard input.
const childVariable = "VTSCOPE_VTSERVE_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childVariable) {
	case "":
		leaktest.Main(m)
	case "obey":
		fmt.Printf("child %d %s\n", os.Getpid(), strings.Join(os.Args[1:], " "))
		io.Copy(io.Discard, os.Stdin)
	}
}

func call(args ...string) (code int, stdout, stderr string) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // whatever serves ends at once
	var out, errs bytes.Buffer
	code = run(ctx, args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestHelpExplainsEveryFlag(t *testing.T) {
	for _, arg := range []string{"-h", "--help"} {
		code, stdout, stderr := call(arg)
		if code != 0 || stderr != "" {
			t.Errorf("%s: exit code %d, standard error %q; want 0 and none", arg, code, stderr)
		}
		words := strings.Join(strings.Fields(stdout), " ") // the lines are broken
		for _, row := range flags {
			if !strings.Contains(stdout, "\n  --"+row.name) || !strings.Contains(words, row.about) {
				t.Errorf("%s does not explain --%s", arg, row.name)
			}
		}
	}
}

func TestCallsThatPrintAndFollowNothing(t *testing.T) {
	says := func(want string, args ...string) {
		t.Helper()
		code, stdout, stderr := call(args...)
		if code != 0 || stderr != "" || !strings.Contains(stdout, want) {
			t.Errorf("vtserve %q: exit code %d, %q, %q; want 0 and %q", args, code, stdout, stderr, want)
		}
	}
	says("vtserve ", "--version")
	says("vtserve ", "--demo", "--version")
	says("vtserve completion words -- ", "completion", "bash")
	says("#compdef vtserve\n", "completion", "zsh")
	says("__vtserve", "completion", "fish")
	says("--goroutines\t", "completion", "words", "--", "--demo", "--gor")
	says("", "completion", "words", "--", "no such")
	page := ".TH VTSERVE 1"
	says(page, "manual")
	_, manual, _ := call("manual")
	for _, row := range flags {
		if !strings.Contains(manual, strings.ReplaceAll("--"+row.name, "-", `\-`)) {
			t.Errorf("the manual page does not have --%s", row.name)
		}
	}
	for _, args := range [][]string{{"completion"}, {"completion", "tcsh"}, {"completion", "words"}} {
		if code, stdout, stderr := call(args...); code != 2 || stdout != "" || !strings.Contains(stderr, "try: eval") {
			t.Errorf("vtserve %q: exit code %d, %q, %q; want 2", args, code, stdout, stderr)
		}
	}
}

func TestBadArgumentsAreUsageErrors(t *testing.T) {
	for _, args := range [][]string{
		{"--nothing"}, {"shop"}, {"0"}, {"-7"}, {"--addr"}, {"--addr", "7070"}, {"--addr", "127.0.0.1:http"}, {"--addr", "127.0.0.1:70000"},
		{"--addr", ":7070"}, {"--addr", "0.0.0.0:7070"}, {"--addr", "192.0.2.1:7070"}, {"--addr", "example.com:7070"},
		{"--demo", "--threads", "0"}, {"--demo", "--threads", "many"}, {"--demo", "4711"}, {"4711", "--demo"}, {"--goroutines", "4711"},
		{"--on", "park > x", "--incidents", "."}, {"--on", "deadlock"},
		{"--addr", "unix:"}, {"--addr", "unix:@x"}, {"--tls-cert", "x"}, {"--client-ca", "x"}, {"--token-file", "/nowhere"}, {"--redact", "name"}, {"--redact", "name=~/(/"},
		{"--audit", "/nowhere/x"},
	} {
		code, stdout, stderr := call(args...)
		if code != 2 || stdout != "" || !strings.HasPrefix(stderr, "vtserve: ") || !strings.Contains(stderr, "    try: ") {
			t.Errorf("vtserve %q: exit code %d, %q, %q; want 2 and what to try", args, code, stdout, stderr)
		}
	}
}

func TestAPortInUseIsToldWithAWayOut(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	code, stdout, stderr := call("--addr", l.Addr().String(), "--demo", "--shop", os.Args[0])
	want := "vtserve: listen on " + l.Addr().String() + ": address already in use\n    try: vtserve --addr 127.0.0.1:0"
	if code != 1 || stdout != "" || !strings.HasPrefix(stderr, want) {
		t.Errorf("exit code %d, %q, %q; want 1 and %q", code, stdout, stderr, want)
	}
}

func TestAProcessThatCannotBeFollowedIsToldAtOnce(t *testing.T) {
	c := exec.Command("sleep", "600") // no Go program, as the first process may be
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	for _, pid := range []int{c.Process.Pid, 1 << 30} {
		code, _, stderr := call("--addr", "127.0.0.1:0", strconv.Itoa(pid))
		if code != 1 || !strings.Contains(stderr, strconv.Itoa(pid)) || !strings.Contains(stderr, "    try: ") {
			t.Errorf("vtserve %d: exit code %d, %q; want 1, the pid and what to try", pid, code, stderr)
		}
	}
}

func TestAShopThatIsNotThereIsToldWithAWayOut(t *testing.T) {
	code, _, stderr := call("--addr", "127.0.0.1:0", "--demo", "--shop", filepath.Join(t.TempDir(), "shop"))
	if code != 1 || !strings.Contains(stderr, "no such file") || !strings.Contains(stderr, "make build") {
		t.Errorf("exit code %d, %q; want 1 and how to build it", code, stderr)
	}
}

// A running vtserve of the test.
type running struct {
	url    string
	stdout *bufio.Reader
	stderr *lines
	stop   context.CancelFunc
	code   chan int

	discarding sync.Once
}

// lines is standard error: written by goroutines of vtserve, read by the test.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func begin(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	s := &running{stdout: bufio.NewReader(r), stderr: &lines{}, stop: cancel, code: make(chan int, 1)}
	go func() {
		s.code <- run(ctx, append([]string{"--addr", "127.0.0.1:0"}, args...), w, s.stderr)
		w.Close()
	}()
	s.url = s.match(t, `^vtserve: (http://127\.0\.0\.1:\d+)$`)
	return s
}

// match reads standard output up to a line that matches, and returns its first group.
func (s *running) match(t *testing.T, pattern string) string {
	t.Helper()
	for {
		line, err := s.stdout.ReadString('\n')
		if err != nil {
			t.Fatalf("no line matches %s: %v; standard error: %s", pattern, err, s.stderr)
		}
		if m := regexp.MustCompile(pattern).FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			return m[1]
		}
	}
}

// discard lets vtserve write to standard output what nobody reads.
func (s *running) discard() { s.discarding.Do(func() { go io.Copy(io.Discard, s.stdout) }) }

func (s *running) end(t *testing.T) {
	t.Helper()
	s.stop()
	s.discard()
	select {
	case code := <-s.code:
		if code != 0 {
			t.Errorf("exit code %d, want 0: %s", code, s.stderr)
		}
	case <-time.After(time.Minute):
		t.Fatal("vtserve did not end within a minute")
	}
}

func TestItServesThePageUntilItIsStopped(t *testing.T) {
	s := begin(t)
	r, err := http.Get(s.url)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(r.Body)
	r.Body.Close()
	if r.StatusCode != 200 || !bytes.Contains(body, []byte(`src="page.`)) {
		t.Errorf("GET %s: status %d, %.100s; want the page", s.url, r.StatusCode, body)
	}
	s.end(t)
	http.DefaultClient.CloseIdleConnections()
	if _, err := http.Get(s.url); err == nil {
		t.Error("after its end something still serves")
	}
}
