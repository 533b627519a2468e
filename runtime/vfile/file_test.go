package vfile_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/vtscope/vtscope/internal/leaktest"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/sched"
	"github.com/vtscope/vtscope/runtime/vfile"
	"github.com/vtscope/vtscope/runtime/vsync"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// ways are how operations can be made.
var ways = map[string]vfile.Options{
	"ring":            {Way: vfile.Ring},
	"ring-untried":    {Way: vfile.Ring, NoTry: true},
	"ring-exhausted":  {Way: vfile.Ring, NoTry: true, InFlight: 2},
	"helpers":         {Way: vfile.Helpers},
	"helpers-untried": {Way: vfile.Helpers, NoTry: true},
	"one-helper":      {Way: vfile.Helpers, NoTry: true, Helpers: 1},
}

// eachWay executes a test with each of the ways, as a thread.
func eachWay(t *testing.T, f func(t *testing.T, o vfile.Options)) {
	for name, o := range ways {
		t.Run(name, func(t *testing.T) {
			vfile.Use(t, o)
			f(t, o)
		})
	}
}

// onThread executes f as a thread, and waits for it.
func onThread(f func()) {
	if err := vthread.Start(f).Join(); err != nil {
		panic(err)
	}
}

// pattern is what a test file has at an offset: eight bytes that tell it.
func pattern(size int) []byte {
	b := make([]byte, size)
	for i := 0; i+8 <= size; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], uint64(i)*0x9e3779b97f4a7c15)
	}
	return b
}

func write(t testing.TB, b []byte) (name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestManyThreadsReadTheRightBytesAtRandomFromOneFile(t *testing.T) {
	const page = 4096
	threads, size := 10_000, 16<<20
	want := pattern(size)
	name := write(t, want)
	eachWay(t, func(t *testing.T, o vfile.Options) {
		f, err := vfile.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		done := vsync.NewLatch(threads)
		var wrong atomic.Int64
		for i := range threads {
			vthread.Start(func() {
				defer done.Done()
				rnd := rand.New(rand.NewPCG(1, uint64(i)))
				b := make([]byte, page)
				for range 2 {
					off := rnd.Int64N(int64(size - page))
					n, err := f.ReadAt(b, off)
					if n != page || err != nil || !bytes.Equal(b, want[off:off+page]) {
						wrong.Add(1)
					}
				}
			})
		}
		done.Wait()
		if wrong.Load() != 0 {
			t.Errorf("%d of %d threads got wrong bytes or an error", wrong.Load(), threads)
		}
		if ring, helpers := vfile.Executed(); o.NoTry && ring+helpers < uint64(2*threads) {
			t.Errorf("%d operations were made by the ring and %d by helpers, want %d", ring, helpers, 2*threads)
		}
		if o.Helpers != 0 && vfile.Most() > o.Helpers {
			t.Errorf("%d helpers, want %d at most", vfile.Most(), o.Helpers)
		}
	})
}

// On a scheduler with one carrier and none to stand in for it nobody else would ever go on.
func TestWhoReadsWhatIsInMemoryLetsOthersGoOn(t *testing.T) {
	name := write(t, pattern(1<<16))
	eachWay(t, func(t *testing.T, _ vfile.Options) {
		single := sched.NewSingle()
		defer single.Close()
		b := vthread.Builder{Scheduler: single}
		var ran atomic.Bool
		if err := b.Start(func() {
			f, err := vfile.Open(name)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			other := b.Start(func() { ran.Store(true) })
			buf := make([]byte, 4096)
			for began := time.Now(); !ran.Load(); {
				if time.Since(began) > time.Minute {
					t.Error("the other thread was not executed meanwhile")
					break
				}
				if _, err := f.ReadAt(buf, 0); err != nil {
					t.Error(err)
					break
				}
			}
			other.Join()
		}).Join(); err != nil {
			t.Error(err)
		}
	})
}

func TestManyThreadsWriteTheirParts(t *testing.T) {
	eachWay(t, func(t *testing.T, _ vfile.Options) {
		const threads, part = 500, 1000
		want := pattern(threads * part)
		f, err := vfile.Create(filepath.Join(t.TempDir(), "f"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		done := vsync.NewLatch(threads)
		for i := range threads {
			vthread.Start(func() {
				defer done.Done()
				if n, err := f.WriteAt(want[i*part:(i+1)*part], int64(i*part)); n != part || err != nil {
					t.Errorf("%d, %v", n, err)
				}
				if i%50 == 0 {
					if err := f.Sync(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		done.Wait()
		if got, err := os.ReadFile(f.Name()); err != nil || !bytes.Equal(got, want) {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
	})
}

// TestFilesDoWhatThoseOfPackageOSDo makes the same calls of both, and compares what they return.
func TestFilesDoWhatThoseOfPackageOSDo(t *testing.T) {
	type file interface {
		io.ReadWriteCloser
		io.ReaderAt
		io.WriterAt
		io.Seeker
		io.StringWriter
		Sync() error
		Truncate(int64) error
		Stat() (fs.FileInfo, error)
		ReadDir(int) ([]fs.DirEntry, error)
		Chmod(fs.FileMode) error
		SetDeadline(time.Time) error
		Name() string
	}
	type opener func(name string, flag int, perm fs.FileMode) (file, error)
	script := func(dir string, open opener) (log []string) {
		say := func(what string, values ...any) {
			for i, v := range values {
				if err, ok := v.(error); ok {
					var p *fs.PathError
					values[i] = fmt.Sprintf("%v (path error %v, closed %v, exists %v)", err, errors.As(err, &p), errors.Is(err, os.ErrClosed), errors.Is(err, os.ErrExist))
				}
			}
			log = append(log, strings.ReplaceAll(fmt.Sprint(what, values), dir, "DIR"))
		}
		name := filepath.Join(dir, "f")
		_, err := open(filepath.Join(dir, "none"), os.O_RDONLY, 0)
		say("open none", err)
		_, err = open("a\x00b", os.O_RDONLY, 0)
		say("open NUL", err)
		f, err := open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o640)
		say("create", err)
		_, err = open(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o640)
		say("create again", err)
		info, err := f.Stat()
		say("stat", info.Mode(), info.Size(), info.Name(), err)
		b := make([]byte, 10)
		call := func(what string, f func([]byte) (int, error), b []byte) {
			n, err := f(b)
			say(what, n, err, string(b[:n]))
		}
		at := func(f func([]byte, int64) (int, error), off int64) func([]byte) (int, error) {
			return func(b []byte) (int, error) { return f(b, off) }
		}
		call("read empty", f.Read, b)
		call("write", f.Write, []byte("hello, world"))
		call("write nothing", f.Write, nil)
		call("read at end", f.Read, b)
		pos, err := f.Seek(-5, io.SeekEnd)
		say("seek", pos, err)
		call("read short", f.Read, b)
		call("read none", f.Read, nil)
		call("readat short", at(f.ReadAt, 4), b)
		call("readat", at(f.ReadAt, 1), b)
		call("readat beyond", at(f.ReadAt, 100), b)
		call("readat negative", at(f.ReadAt, -1), b)
		call("writeat", at(f.WriteAt, 20), []byte("x"))
		call("writeat negative", at(f.WriteAt, -1), []byte("x"))
		n, err := f.WriteString("!!")
		say("string", n, err)
		say("truncate", f.Truncate(15))
		say("truncate", f.Truncate(-1))
		say("sync", f.Sync())
		say("chmod", f.Chmod(0o600))
		say("deadline", f.SetDeadline(time.Now()))
		_, err = f.Seek(-1, io.SeekStart)
		say("seek", err)
		_, err = f.ReadDir(-1)
		say("readdir of a file", err)
		_, err = f.Seek(0, io.SeekStart)
		say("seek", err)
		all, err := io.ReadAll(f)
		say("all", string(all), err)
		say("close", f.Close())
		say("close", f.Close())
		call("read closed", f.Read, b)
		call("read none of closed", f.Read, nil)
		call("write closed", f.Write, b)
		call("readat closed", at(f.ReadAt, 0), b)
		call("writeat closed", at(f.WriteAt, 0), b)
		_, err = f.Seek(0, io.SeekStart)
		say("seek closed", err)
		say("sync closed", f.Sync())
		say("truncate closed", f.Truncate(1))
		_, err = f.Stat()
		say("stat closed", err)
		f, err = open(name, os.O_RDONLY, 0)
		say("open", err)
		call("write to read-only", f.Write, b)
		call("writeat to read-only", at(f.WriteAt, 1), b)
		say("truncate read-only", f.Truncate(1))
		say("close", f.Close())
		f, err = open(name, os.O_WRONLY|os.O_APPEND, 0)
		say("append", err)
		call("write", f.Write, []byte("+"))
		call("read of write-only", f.Read, b)
		call("writeat append", at(f.WriteAt, 1), b)
		say("close", f.Close())
		f, err = open(dir, os.O_RDONLY, 0)
		say("open folder", err)
		call("read folder", f.Read, b)
		list, err := f.ReadDir(-1)
		say("list", len(list), list[0].Name(), err)
		say("close", f.Close())
		return log
	}
	want := script(t.TempDir(), func(name string, flag int, perm fs.FileMode) (file, error) { return os.OpenFile(name, flag, perm) })
	compare := func(t *testing.T, got []string) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("%d calls, want %d", len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("got  %s\nwant %s", got[i], want[i])
			}
		}
	}
	ours := func(name string, flag int, perm fs.FileMode) (file, error) {
		f, err := vfile.OpenFile(name, flag, perm)
		if err != nil {
			return nil, err
		}
		return f, nil
	}
	t.Run("goroutine", func(t *testing.T) { compare(t, script(t.TempDir(), ours)) })
	eachWay(t, func(t *testing.T, _ vfile.Options) {
		var got []string
		dir := t.TempDir()
		onThread(func() { got = script(dir, ours) })
		compare(t, got)
	})
}

func TestDirFSPassesTheTestsOfFileSystems(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b/c", "b/d/e"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("the file "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	test := func() error { return fstest.TestFS(vfile.DirFS(dir), "a", "b/c", "b/d/e") }
	if err := test(); err != nil {
		t.Errorf("on a goroutine: %v", err)
	}
	eachWay(t, func(t *testing.T, _ vfile.Options) {
		onThread(func() {
			if err := test(); err != nil {
				t.Error(err)
			}
			b, err := fs.ReadFile(vfile.DirFS(dir), "b/d/e")
			if string(b) != "the file b/d/e" || err != nil {
				t.Errorf("got %q, %v", b, err)
			}
			_, err = vfile.DirFS(dir).Open("../x")
			if !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("got %v, want %v", err, fs.ErrInvalid)
			}
		})
	})
}

func TestWholeFilesAndNames(t *testing.T) {
	eachWay(t, func(t *testing.T, _ vfile.Options) {
		dir := t.TempDir()
		onThread(func() {
			name := filepath.Join(dir, "x", "y")
			want := pattern(3 << 20)
			check := func(err error) {
				t.Helper()
				if err != nil {
					t.Error(err)
				}
			}
			check(vfile.MkdirAll(filepath.Dir(name), 0o700))
			check(vfile.WriteFile(name, want, 0o600))
			got, err := vfile.ReadFile(name)
			if !bytes.Equal(got, want) || err != nil {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
			check(vfile.Rename(name, name+"2"))
			if _, err := vfile.Stat(name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("got %v, want %v", err, fs.ErrNotExist)
			}
			list, err := vfile.ReadDir(filepath.Dir(name))
			if len(list) != 1 || list[0].Name() != "y2" || err != nil {
				t.Errorf("got %v, %v", list, err)
			}
			in, err := vfile.Open(name + "2")
			check(err)
			out, err := vfile.Create(filepath.Join(dir, "copy"))
			check(err)
			if n, err := io.Copy(out, in); n != int64(len(want)) || err != nil {
				t.Errorf("copied %d, %v", n, err)
			}
			check(out.Close())
			check(in.Close())
			got, err = vfile.ReadFile(out.Name())
			if !bytes.Equal(got, want) || err != nil {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
			check(vfile.RemoveAll(filepath.Join(dir, "x")))
			if runtime.GOOS == "linux" {
				if b, err := vfile.ReadFile("/proc/self/status"); !bytes.Contains(b, []byte("Pid:")) || err != nil {
					t.Errorf("got %q, %v", b, err)
				}
			}
		})
	})
}

func TestDevicesAreReadAndWritten(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no /dev")
	}
	eachWay(t, func(t *testing.T, _ vfile.Options) {
		onThread(func() {
			zero, err := vfile.OpenFile("/dev/zero", os.O_RDONLY, 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer zero.Close()
			b := []byte{1, 2, 3}
			if n, err := zero.Read(b); n != 3 || err != nil || !bytes.Equal(b, make([]byte, 3)) {
				t.Errorf("got %d, %v, %v", n, err, b)
			}
			null, err := vfile.OpenFile(os.DevNull, os.O_RDWR, 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer null.Close()
			if n, err := null.Write(b); n != 3 || err != nil {
				t.Errorf("got %d, %v", n, err)
			}
			if n, err := null.Read(b); n != 0 || err != io.EOF {
				t.Errorf("got %d, %v", n, err)
			}
		})
	})
}

func TestAnInterruptDuringOperationsGivesUpOrReturnsTheirResult(t *testing.T) {
	want := pattern(4 << 20)
	name := write(t, want)
	eachWay(t, func(t *testing.T, _ vfile.Options) {
		f, err := vfile.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var stopped, made atomic.Int64
		const threads = 100
		all := make([]*vthread.Thread, threads)
		for i := range all {
			all[i] = vthread.Start(func() {
				b := make([]byte, 8192)
				for round := 0; !vthread.Current().IsInterrupted(); round++ {
					off := int64(i+round) * 8192 % (4<<20 - 8192)
					switch n, err := f.ReadAt(b, off); {
					case err == nil && bytes.Equal(b, want[off:off+8192]):
						made.Add(1)
					case errors.Is(err, sched.ErrInterrupted):
						stopped.Add(1)
						if !vthread.Current().IsInterrupted() {
							t.Error("the interrupt status is clear, want it set")
						}
					default:
						t.Errorf("got %d, %v", n, err)
						return
					}
				}
			})
		}
		for i, th := range all {
			for seen := made.Load(); made.Load() < seen+int64(i%5); { // at another moment each
				runtime.Gosched()
			}
			if err := th.Interrupt(); err != nil {
				t.Error(err)
			}
		}
		for _, th := range all {
			if err := th.Join(); err != nil {
				t.Error(err)
			}
		}
		// How many were given up depends on where the interrupts found the threads.
		t.Logf("%d operations were given up, %d made", stopped.Load(), made.Load())
		onThread(func() { // the file is as good as before
			if n, err := f.ReadAt(make([]byte, 10), 5); n != 10 || err != nil {
				t.Errorf("got %d, %v", n, err)
			}
		})
	})
}

func TestOneWhoWasInterruptedBeforeStillSaves(t *testing.T) {
	eachWay(t, func(t *testing.T, _ vfile.Options) {
		name := filepath.Join(t.TempDir(), "f")
		onThread(func() {
			if err := vthread.Current().Interrupt(); err != nil {
				t.Error(err)
			}
			if err := vfile.WriteFile(name, []byte("saved"), 0o600); err != nil {
				t.Error(err)
			}
			if !vthread.Interrupted() {
				t.Error("the interrupt status is clear, want it set")
			}
		})
		if b, err := os.ReadFile(name); string(b) != "saved" || err != nil {
			t.Errorf("got %q, %v", b, err)
		}
	})
}

func TestCloseDuringOperations(t *testing.T) {
	name := write(t, pattern(1<<20))
	eachWay(t, func(t *testing.T, _ vfile.Options) {
		want := pattern(1 << 20)[:4096]
		for range 20 {
			f, err := vfile.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			const threads = 50
			var began atomic.Int64
			done := vsync.NewLatch(threads)
			for range threads {
				vthread.Start(func() {
					defer done.Done()
					b := make([]byte, 4096)
					for {
						n, err := f.ReadAt(b, 0)
						began.Add(1)
						switch {
						case errors.Is(err, os.ErrClosed):
							return
						case err != nil || n != len(b) || !bytes.Equal(b, want):
							t.Errorf("got %d, %v", n, err)
							return
						}
					}
				})
			}
			for began.Load() < threads/2 {
				runtime.Gosched()
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			done.Wait()
		}
	})
}

func TestOnOneProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	name := write(t, pattern(1<<20))
	eachWay(t, func(t *testing.T, _ vfile.Options) {
		done := vsync.NewLatch(100)
		for range 100 {
			vthread.Start(func() {
				defer done.Done()
				if b, err := vfile.ReadFile(name); err != nil || len(b) != 1<<20 {
					t.Errorf("got %d bytes, %v", len(b), err)
				}
			})
		}
		done.Wait()
	})
}

// awaitParked waits until a thread waits.
func awaitParked(t testing.TB, th *vthread.Thread) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		switch th.State() {
		case flight.StateParked, flight.StateTimedParked:
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the thread is %v, want it parked", th.State())
		}
	}
}

func TestBadOptionsAreErrors(t *testing.T) {
	vfile.Use(t, vfile.Options{})
	for _, o := range []vfile.Options{{InFlight: -1}, {InFlight: 1 << 20}, {Helpers: -1}, {Helpers: 1 << 20}, {Way: 77}, {}} {
		if err := vfile.Configure(o); err == nil {
			t.Errorf("%+v: got no error", o)
		}
	}
}
