package flight

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// controlDir returns a directory for flight files with a short name, as addresses of sockets want it.
func controlDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "control-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// dialControl connects as soon as there is a socket.
func dialControl(t *testing.T, path string) net.Conn {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		c, err := net.Dial("unix", SocketPath(path))
		if err == nil {
			if err := c.SetDeadline(deadline); err != nil {
				t.Fatal(err)
			}
			return c
		}
		if time.Now().After(deadline) {
			t.Fatalf("connect: %v", err)
		}
	}
}

func askControl(t *testing.T, path, word, body string) (first, answer string) {
	t.Helper()
	c := dialControl(t, path)
	defer c.Close()
	if err := WriteControl(c, word, []byte(body)); err != nil {
		t.Fatal(err)
	}
	first, b, err := ReadControl(c, MaxAnswer)
	if err != nil {
		t.Fatalf("%s: %v", word, err)
	}
	return first, string(b)
}

// largeAnswer is how many bytes test-large answers.
const largeAnswer = 4 << 20

// The commands of these tests.
var (
	longBegan   = make(chan struct{})
	longMayEnd  atomic.Pointer[chan struct{}]
	controlRows = []Command{
		{Name: "test-panic", Do: func(*Recorder, <-chan struct{}, []byte) ([]byte, error) { panic("no") }},
		{Name: "test-fail", Do: func(*Recorder, <-chan struct{}, []byte) ([]byte, error) { return nil, errors.New("sorry") }},
		{Name: "test-echo", Do: func(_ *Recorder, _ <-chan struct{}, b []byte) ([]byte, error) { return b, nil }},
		{Name: "test-long", Long: true, Do: func(_ *Recorder, stop <-chan struct{}, _ []byte) ([]byte, error) {
			end := *longMayEnd.Load()
			longBegan <- struct{}{}
			select {
			case <-stop:
				return []byte("stopped"), nil
			case <-end:
				return []byte("ended"), nil
			}
		}},
		{Name: "test-large", Long: true, Do: func(*Recorder, <-chan struct{}, []byte) ([]byte, error) { return make([]byte, largeAnswer), nil }},
	}
)

func init() {
	for _, c := range controlRows {
		if err := RegisterCommand(c); err != nil {
			panic(err)
		}
	}
}

func TestControlSocketAnswersItsUser(t *testing.T) {
	r, warned := newIn(t, controlDir(t))
	path := r.Path()
	for _, c := range []struct{ word, body, first, answer string }{
		{"hello", "", AnswerOK, "pid " + strconv.Itoa(os.Getpid()) + "\n"},
		{"test-echo", "some\ntext", AnswerOK, "some\ntext"},
		{"test-echo", strings.Repeat("x", MaxControlBody), AnswerOK, strings.Repeat("x", MaxControlBody)},
		{"test-fail", "", AnswerFailed, "sorry"},
		{"test-panic", "", AnswerFailed, "test-panic: panic: no"},
		{"nothing", "", AnswerUnknown, `no command "nothing"`},
	} {
		if first, answer := askControl(t, path, c.word, c.body); first != c.first || !strings.HasPrefix(answer, c.answer) {
			t.Errorf("%s: got %s %q, want %s %q", c.word, first, answer, c.first, c.answer)
		}
	}
	for _, c := range []struct{ text, first, answer string }{
		{"GET / HTTP/1.1\r\n\r\n", AnswerFailed, "not what is spoken here"},
		{"vtscope-control 7 hello 0\n", AnswerUnknown, `version "7": the version is 1`},
		{"vtscope-control 1 test-echo 65537\n", AnswerFailed, "65537 bytes: at most 65536"},
	} {
		conn := dialControl(t, path)
		if _, err := io.WriteString(conn, c.text); err != nil {
			t.Fatal(err)
		}
		first, answer, err := ReadControl(conn, MaxAnswer)
		if first != c.first || string(answer) != c.answer || err != nil {
			t.Errorf("%q: got %s %q, %v; want %s %q", c.text, first, answer, err, c.first, c.answer)
		}
		conn.Close()
	}
	info, err := os.Stat(SocketPath(path))
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("got %v, %v; want a socket of mode 0600", info.Mode(), err)
	}
	if err := r.Close(); err != nil || warned() != "" {
		t.Errorf("close: %v; warned of %q", err, warned())
	}
	if _, err := os.Stat(SocketPath(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Close: got %v, want no socket", err)
	}
}

func TestLongCommandsDoNotKeepOthersWaiting(t *testing.T) {
	r, _ := newIn(t, controlDir(t))
	end := make(chan struct{})
	longMayEnd.Store(&end)
	first := dialControl(t, r.Path())
	defer first.Close()
	if err := WriteControl(first, "test-long", nil); err != nil {
		t.Fatal(err)
	}
	<-longBegan
	if word, _ := askControl(t, r.Path(), "hello", ""); word != AnswerOK {
		t.Errorf("hello: got %s, want ok", word)
	}
	if word, _ := askControl(t, r.Path(), "test-long", ""); word != AnswerBusy {
		t.Errorf("a second one: got %s, want busy", word)
	}
	close(end)
	if word, answer, err := ReadControl(first, 100); word != AnswerOK || string(answer) != "ended" || err != nil {
		t.Errorf("the first one: got %s %q, %v; want ok ended", word, answer, err)
	}
}

// Who has the answer of a long command may ask for another one, whatever the goroutine of the first has still to do.
func TestALongCommandIsOverWhenItsAnswerHasCome(t *testing.T) {
	two, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	mine, theirs := os.NewFile(uintptr(two[0]), "asks"), os.NewFile(uintptr(two[1]), "answers")
	defer mine.Close()
	s := &controlSocket{stop: make(chan struct{}), long: make(chan struct{}, 1)}
	s.mu.open = map[*os.File]struct{}{}
	defer s.wait.Wait()
	if err := WriteControl(mine, "test-large", nil); err != nil {
		t.Fatal(err)
	}
	s.exchange(theirs)
	if _, err := io.ReadFull(mine, make([]byte, 1)); err != nil { // the rest is more than a socket holds
		t.Fatal(err)
	}
	s.mu.Lock() // which the goroutine needs to hang up
	defer s.mu.Unlock()
	if _, err := io.CopyN(io.Discard, mine, largeAnswer); err != nil {
		t.Fatal(err)
	}
	if len(s.long) != 0 {
		t.Error("the command is still executed")
	}
}

func TestCloseEndsWhatTheControlSocketDoes(t *testing.T) {
	r, _ := newIn(t, controlDir(t))
	never := make(chan struct{})
	longMayEnd.Store(&never)
	long := dialControl(t, r.Path())
	defer long.Close()
	if err := WriteControl(long, "test-long", nil); err != nil {
		t.Fatal(err)
	}
	<-longBegan
	silent := dialControl(t, r.Path())
	defer silent.Close()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	for _, c := range []net.Conn{long, silent} {
		// What was under way may be told that it has failed, before the end.
		if b, err := io.ReadAll(c); bytes.HasPrefix(b, []byte("vtscope-control 1 ok")) || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %q, %v; want the end", b, err)
		}
	}
}

func TestPrivateRecordersHaveNoControlSocket(t *testing.T) {
	dir := controlDir(t)
	r, err := New(Options{Dir: dir, Mode: ModePrivate})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if names, err := os.ReadDir(dir); len(names) > 0 || err != nil {
		t.Errorf("got %v, %v; want nothing", names, err)
	}
}

func TestControlSocketAnswersARecorderOfABubble(t *testing.T) {
	dir := controlDir(t)
	paths, answers := make(chan string), make(chan string)
	go func() { // outside
		_, answer := askControl(t, <-paths, "hello", "")
		answers <- answer
	}()
	var r *Recorder
	synctest.Test(t, func(t *testing.T) {
		var err error
		if r, err = New(Options{Dir: dir}); err != nil {
			t.Fatal(err)
		}
	})
	paths <- r.Path()
	if answer := <-answers; !strings.HasPrefix(answer, "pid ") {
		t.Errorf("got %q", answer)
	}
	synctest.Test(t, func(t *testing.T) {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestSocketsOfDeadProcessesAreSwept(t *testing.T) {
	dir := controlDir(t)
	pid := strconv.Itoa(os.Getpid())
	live := pid + "-" + strconv.FormatUint(selfIdentity().startTime, 10)
	for _, c := range []struct {
		base   string
		plain  bool // no socket
		flight string
		stays  bool
	}{
		{base: pid + "-1"},                              // no flight file
		{base: pid + "-2", flight: "free"},              // of a dead process
		{base: pid + "-3", flight: "held", stays: true}, // of a process of another pid namespace
		{base: live + "-9", stays: true},                // of this one
		{base: pid + "-4", plain: true, stays: true},    // something else
		{base: "mine", stays: true},
	} {
		path := filepath.Join(dir, c.base)
		if c.flight != "" {
			f, err := os.Create(path + fileSuffix)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if c.flight == "held" {
				if err := lockFile(int(f.Fd())); err != nil {
					t.Fatal(err)
				}
			}
		}
		if c.plain {
			if err := os.WriteFile(path+socketSuffix, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		} else {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path + socketSuffix})
			if err != nil {
				t.Fatal(err)
			}
			l.SetUnlinkOnClose(false)
			l.Close()
		}
		d, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		sweepSocket(d, c.base+socketSuffix)
		d.Close()
		if _, err := os.Lstat(path + socketSuffix); (err == nil) != c.stays {
			t.Errorf("%s, flight file %q: got %v, want it to stay: %v", c.base, c.flight, err, c.stays)
		}
	}
}

func TestControlSocketRefusesOtherUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to become another user")
	}
	const nobody = 65534
	pair := func(uid int) (mine int) {
		fds := make(chan [2]int)
		go func() {
			runtime.LockOSThread() // and never unlock it: the thread ends with the goroutine
			if uid != 0 {
				if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); e != 0 {
					t.Errorf("become user %d: %v", uid, e)
				}
			}
			two, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Error(err)
			}
			fds <- two
		}()
		two := <-fds
		t.Cleanup(func() { syscall.Close(two[0]); syscall.Close(two[1]) })
		return two[0]
	}
	if mayAsk(pair(nobody)) {
		t.Error("another user may ask")
	}
	if !mayAsk(pair(0)) {
		t.Error("this user may not ask")
	}
}
