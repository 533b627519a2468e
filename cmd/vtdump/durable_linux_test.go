package main

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/childtest"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// errands starts the fixture, and waits until each of its threads stands where it stays.
func errands(t *testing.T) (child *childtest.Child, path, dir string) {
	t.Helper()
	dir = t.TempDir()
	path, child = fixture(t, "errands", "-dir", dir, "-orders", "6", "-hibernate-after", "100ms")
	seesDurables(t, []string{path}, func(d *durablesDoc) bool {
		return d.Threads == 15 && d.States["hibernated"] == 12 && d.States["running"] == 1 && d.States["failed"] == 2
	})
	return child, path, dir
}

type durablesDoc struct {
	Source struct {
		Kind, Path, Why string
		PID             int
		Tail            int64
		Stores          []struct{ Path string }
	}
	Threads, Matched int
	States           map[string]int
	Groups           []struct {
		Body, State string
		Threads     int
	}
	Rows       []struct{ ID, State string }
	Incomplete []string
}

// seesDurables asks vtdump until the document is as wanted.
func seesDurables(t *testing.T, args []string, wanted func(d *durablesDoc) bool) {
	t.Helper()
	var r result
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		r = vtdump(t, append([]string{"durable", "--json"}, args...)...)
		var d durablesDoc
		if json.Unmarshal([]byte(r.out), &d) == nil && wanted(&d) {
			return
		}
	}
	t.Fatalf("vtdump durable %q: got exit %d, %q and\n%s", args, r.code, r.errors, r.out)
}

func wantText(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !regexp.MustCompile(w).MatchString(text) {
			t.Errorf("want %q in\n%s", w, text)
		}
	}
	for line := range strings.Lines(text) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 100 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}

// The same threads are told of a process that lives, is stopped, and was killed; of the folder, and of the process.
func TestDurableThreadsAreToldWhateverBecameOfTheirProcess(t *testing.T) {
	child, path, dir := errands(t)
	pid := strconv.Itoa(child.PID())
	groups := []string{`(?m)^ +6  hibernated .* checkout  signal "address"$`, `(?m)^ +5  hibernated .* reminder  sleep "until the next one"$`, `(?m)^ +2  failed .* refund  bank: account of customer \d+ is closed$`,
		`(?m)^ +1  running .* report  call "query the warehouse"$`}
	out := succeeds(t, "durable", path)
	wantText(t, out, append(groups, `(?m)^errands \(pid `+pid+`\)  running  20`, `(?m)^keeper      file store `+regexp.QuoteMeta(dir[:min(len(dir), 50)]), `(?m)^remind-2 +hibernated .* reminder  sleep "until the next one", 2d left$`,
		`(?m)^15 durable threads   running 1  hibernated 12  failed 2$`)...)

	history := []string{`(?m)^order-3  checkout$`, `(?m)^arguments   \{"Customer":"customer 3"`, `(?m)^ +1  [\d:.]+ +\S+  do "reserve"  "chair reserved"$`,
		`(?m)^ +error: stock of lamp: 0 left, 1 wanted$`, `(?m)^ +4  [\d:.]+ +fork "pack"  child 1, joined$`, `(?m)^ +7  [\d:.]+ +\S+…  signal "address"  waits$`}
	wantText(t, succeeds(t, "durable", path, "order-3"), append(history, `(?m)^state       hibernated for `, `thread #\d+`)...)
	wantText(t, succeeds(t, "durable", dir, "order-3"), append(history, `(?m)^state       waiting for `, `, used by errands \(pid `+pid+`\)  20`)...)
	// 25 rows and two checkpoints: the first stands for ten rows, the second for itself and ten more.
	wantText(t, succeeds(t, "durable", path, "import-1"), `28 steps, .*; 7 steps kept since checkpoint "progress"`, `(?m)^ +21  [\d:.]+ +checkpoint "progress"  stands for 21 steps`,
		`(?m)^waits for   signal "more rows", until .* left$`)
	if out := succeeds(t, "durable", path, "order-3", "--top", "2"); strings.Contains(out, "reserve") || !strings.Contains(out, "… 6 older steps") {
		t.Errorf("the newest two steps: got\n%s", out)
	}
	if out := succeeds(t, "durable", path, "order-3", "--values"); !strings.Contains(out, `"card": "…1234",`) {
		t.Errorf("whole values: got\n%s", out)
	}
	// What lasts long is in the folder too: without it nobody knew what a dead process did.
	under := func(d *durablesDoc) bool { return d.Matched == 1 && d.Rows[0].ID == "report-2026-10" }
	seesDurables(t, []string{dir, "--filter", "waits=do"}, under)
	// Steps that nobody waits for come there a moment later.
	seesDurables(t, []string{dir}, func(d *durablesDoc) bool {
		return d.Threads == 15 && d.States["waiting"] == 12 && d.States["failed"] == 2
	})

	child.Signal(syscall.SIGSTOP)
	seesDurables(t, []string{path}, func(d *durablesDoc) bool {
		return d.Source.Kind == "folder" && d.Source.Path == dir && d.Source.PID == child.PID() && strings.Contains(d.Source.Why, "it is stopped") && d.States["waiting"] == 12 && d.States["running"] == 1
	})
	wantText(t, succeeds(t, "durable", path, "order-3"), append(history, `(?m)^instead of the process: .*it is stopped$`)...)

	child.Signal(syscall.SIGKILL)
	seesDurables(t, []string{dir}, func(d *durablesDoc) bool {
		return d.Source.PID == 0 && d.Threads == 15 && d.States["waiting"] == 12 && d.States["runnable"] == 1 && d.States["failed"] == 2
	})
	wantText(t, succeeds(t, "durable", dir, "report-2026-10"), `, used by no process that can be seen  20`, `(?m)^was in      call "query the warehouse", under way when its process ended`, `(?m)do "query the warehouse"  was under way$`)
	for deadline := time.Now().Add(time.Minute); !strings.Contains(vtdump(t, "durable", path).errors, "it is gone"); { // one that is about to die resets connections first
		if time.Now().After(deadline) {
			break
		}
	}
	fails(t, exitFailed, "it is gone\n    try: vtdump durable DIR", "durable", path)
}

func TestDurableThreadsAreFilteredSortedAndLimited(t *testing.T) {
	child, path, _ := errands(t)
	for filter, want := range map[string]int{"state=failed": 2, "body=checkout failed>0": 2, "for=address": 6, "nothing-like-this": 0, "steps>=28": 1, "bank": 2} {
		seesDurables(t, []string{path, "--filter", filter}, func(d *durablesDoc) bool { return d.Matched == want && d.Threads == 15 })
	}
	seesDurables(t, []string{path, "--sort", "steps", "--top", "1"}, func(d *durablesDoc) bool {
		return len(d.Rows) == 1 && d.Rows[0].ID == "import-1" && len(d.Groups) == 1 && d.Groups[0].Threads == 6
	})
	out := succeeds(t, "durable", path, "--top", "2")
	wantText(t, out, `… 3 more groups   \(--top 0 shows all\)`, `… 13 more threads   \(--top 0 shows all, --filter some\)`)
	wantText(t, succeeds(t, "durable", path, "--ascii", "--width", "60"), `\.\.\.`)
	fails(t, exitUsage, "state is never \"parked\"", "durable", path, "--filter", "state=parked")
	fails(t, exitUsage, "--filter is of the list", "durable", path, "order-1", "--filter", "bank")
	fails(t, exitUsage, "--values is of one thread", "durable", path, "--values")
	fails(t, exitUsage, "one durable thread at a time", "durable", path, "order-1", "order-2")
	fails(t, exitFailed, "order-99: no such durable thread", "durable", path, "order-99")
	words := map[string]bool{}
	for line := range strings.Lines(vtdump(t, "completion", "words", "--", "durable", path, "order").out) {
		word, _, _ := strings.Cut(line, "\t")
		words[word] = true
	}
	if len(words) != 6 || !words["order-3"] {
		t.Errorf("completed: %v", words)
	}
	child.CloseStdin()
	child.WantExit(0)
}

// A folder is told whose newest file is cut off, and one that is damaged, as far as it can be read.
func TestAFolderThatIsCutOrDamagedIsTold(t *testing.T) {
	child, _, dir := errands(t)
	child.Signal(syscall.SIGKILL)
	seesDurables(t, []string{dir}, func(d *durablesDoc) bool { return d.Source.PID == 0 })
	file := journal.LogPath(dir, 1)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, int64(len(b)-3)); err != nil {
		t.Fatal(err)
	}
	wantText(t, succeeds(t, "durable", dir), `\d+ bytes at the end are no record: its process died as it wrote them`)
	if err := os.WriteFile(journal.LogPath(dir, 2), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := vtdump(t, "durable", dir)
	if r.code != exitFailed || !strings.Contains(r.errors, "damaged") || !strings.Contains(r.errors, "\n    try: ") {
		t.Errorf("damaged: got exit %d and %q", r.code, r.errors)
	}
	wantText(t, r.out, `(?m)^incomplete: .*000000000001.log`, `15 durable threads`)
	fails(t, exitFailed, "no file store", "durable", t.TempDir())
}

func TestTheBytesOfAThreadAreTold(t *testing.T) {
	dir := t.TempDir()
	im := &journal.Image{
		ID: "order-1", Body: "checkout", Args: json.RawMessage(`"x"`), Forks: 1,
		Steps:    []journal.Step{{Kind: journal.StepFork, Name: "pack", Value: json.RawMessage("1"), At: time.Now()}, {Kind: journal.StepPark, Name: "paid", Open: true, At: time.Now()}},
		Children: []journal.Image{{ID: "order-1/1", Body: "pack", Args: json.RawMessage("1"), Steps: []journal.Step{}, Number: 1}},
	}
	write := func(name string, keys *journal.Keys) string {
		b, err := journal.Pack(im, keys)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	secret := []byte("a secret of some length")
	keys, err := journal.NewKeys(secret)
	if err != nil {
		t.Fatal(err)
	}
	plain, sealed := write("plain", nil), write("sealed", keys)
	files := map[string]string{}
	for name, content := range map[string][]byte{"key": secret, "edited": append(secret[:len(secret):len(secret)], '\n'), "other": []byte(hex.EncodeToString(secret)), "short": []byte("short")} {
		files[name] = filepath.Join(dir, name)
		if err := os.WriteFile(files[name], content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{plain}, {sealed, "--key", files["key"]}, {sealed, "--key", files["edited"]}} {
		wantText(t, succeeds(t, append([]string{"durable"}, args...)...), `bytes of a parked thread`, `(?m)^order-1 +waiting .*park "paid"; 1 child$`, `(?m)^order-1/1 +runnable`)
		wantText(t, succeeds(t, append([]string{"durable"}, append(args, "order-1")...)...), `fork "pack"  child 1, runnable, 0 steps`)
	}
	fails(t, exitFailed, "encrypted with the key "+keys.IDs()[0]+": nothing else can be told without it", "durable", sealed)
	fails(t, exitFailed, "encrypted with the key "+keys.IDs()[0]+", and "+files["other"]+" has ", "durable", sealed, "--key", files["other"])
	fails(t, exitFailed, "a secret of 5 bytes", "durable", sealed, "--key", files["short"])
	fails(t, exitFailed, "not signed", "durable", plain, "--key", files["key"])
	b, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	b[40] ^= 1
	if err := os.WriteFile(plain, b, 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, exitFailed, "damaged", "durable", plain)
}

func TestAProgramWithoutDurableThreadsSaysSo(t *testing.T) {
	child, _ := start(t, 1)
	pid := strconv.Itoa(child.Process.Pid)
	answers(t, pid)
	fails(t, exitFailed, "it does not use package durable", "durable", pid)
}
