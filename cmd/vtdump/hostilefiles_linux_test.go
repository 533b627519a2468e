package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/incident"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/profile"
)

// A hostileFile is a kind of files that commands read.
type hostileFile struct {
	name   string
	path   string // of the file, and
	target string // what commands are called with, within a directory
	whole  []byte
	// harm damages a copy of the file. Its checksums are right then, if they can be: without those
	// the damage would end at the header.
	harm  func(whole []byte, r *rand.Rand) []byte
	calls [][]string // FILE is the target, DIR a directory
	share int        // of the time; more for files that are large, and that many commands read
	// parts reports that documents in the file are printed as they are, so that a damaged one is no
	// JSON.
	parts bool
}

func (h *hostileFile) damage(r *rand.Rand) []byte { return h.harm(h.whole, r) }

// hostileFiles makes one of each kind, of real processes.
func hostileFiles(t *testing.T) (all []*hostileFile) {
	add := func(name, path string, whole []byte, harm func([]byte, *rand.Rand) []byte, calls ...[][]string) {
		all = append(all, &hostileFile{name: name, path: path, target: path, whole: whole, harm: harm, calls: slices.Concat(calls...), share: 1})
	}
	read := func(path string) []byte {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	whole := realRecording(t)
	add("recording", "run.vtr", whole, harmRecording, threadsCalls("FILE", true), ofEach("FILE", commandReplay, commandEvents), profileCalls(), exportCalls(),
		[][]string{{"replay", "FILE", "--at", "-10ms"}, {"FILE@1ms", "--json"}, {"events", "FILE", "--stats"}, {"events", "FILE", "--stats", "--json"}, {"events", "FILE", "--thread", "5"},
			{"events", "FILE", "--kind", "park"}, {"diff", "FILE@1ms", "FILE"}, {"diff", "FILE@1ms", "FILE", "--json"}})

	child, path, store := errands(t)
	bundles := t.TempDir()
	live := succeeds(t, "--json", path)
	succeeds(t, "incident", path, "--dir", bundles)
	bundle := taken(t, bundles)
	child.Signal(syscall.SIGKILL)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		r, err := flight.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		live := r.Process().Status.Live()
		r.Close()
		if !live {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a killed process lives")
		}
	}
	reports := []command{commandWaits, commandFindings, commandScheduler}
	add("flight file", filepath.Base(path), read(path), harmFlight, threadsCalls("FILE", false), ofEach("FILE", append(reports, commandSettings, commandEvents)...), profileCalls("run", "park", "threads", "leak"), checkCalls(),
		[][]string{{"incident", "FILE", "--dir", "DIR"}, {"record", "FILE", "-o", "DIR/record.vtr", "--for", "1ms", "--last", "1h"}, {"events", "FILE", "--stats"}, {"FILE", "--events", "--thread", "5"}, {"FILE", "--used"}})
	var parts [][]string
	for _, name := range incident.PartNames() {
		parts = append(parts, []string{"open", "FILE", "--part", name})
		if name != "settings" && name != "build" { // which are text
			parts = append(parts, []string{"open", "FILE", "--part", name, "--json"})
		}
	}
	add("bundle", "bundle.vti", read(bundle), harmBundle, threadsOfGroups("FILE"), ofEach("FILE", append(reports, commandOpen, commandReplay, commandEvents)...), parts, exportCalls(), profileCalls("run", "park"))
	all[len(all)-1].parts = true
	add("snapshot", "snapshot.json", []byte(live), harm(evilJSON), threadsOfGroups("FILE"), [][]string{{"profile", "FILE", "threads", "-f", "text"}, {"mark", "FILE", "1", "good", "--marks", "DIR/marks.json"}})
	marks := filepath.Join(t.TempDir(), "marks.json")
	snapshot := filepath.Join(t.TempDir(), "snapshot.json")
	if err := os.WriteFile(snapshot, []byte(live), 0o600); err != nil {
		t.Fatal(err)
	}
	succeeds(t, "mark", snapshot, "1", "suspicious", "--marks", marks, "--note", "why not")
	add("marks", "marks.json", read(marks), harm(evilJSON), [][]string{{snapshot, "--marks", "FILE"}, {snapshot, "--marks", "FILE", "--json"}, {"mark", snapshot, "1", "good", "--marks", "FILE"}, {"diff", snapshot, snapshot, "--marks", "FILE"}})

	for _, level := range []int{1, 2} {
		var text bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&text, level); err != nil {
			t.Fatal(err)
		}
		add("goroutines debug="+string(rune('0'+level)), "goroutines.txt", text.Bytes(), harm(evilText), tracesCalls())
	}
	var zipped bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&zipped, 0); err != nil {
		t.Fatal(err)
	}
	add("goroutines pprof", "goroutines.pb.gz", zipped.Bytes(), harmGzip, tracesCalls())
	for _, name := range []string{"jdk25.json", "shop.json", "shop-1.json"} {
		add("jdk "+name, name, read("../../dump/jdk/testdata/"+name), harm(evilJSON), tracesCalls())
	}
	add("jdk text", "jdk.txt", read("../../dump/jdk/testdata/shop.txt"), harm(evilText), tracesCalls())

	log := journal.LogPath(store, 1)
	add("durable folder", filepath.Join("store", filepath.Base(log)), read(log), harmLog, [][]string{{"durable", "FILE"}, {"durable", "FILE", "--json"}, {"durable", "FILE", "order-3"}, {"durable", "FILE", "order-3", "--json"},
		{"durable", "FILE", "order-3", "--values"}, {"durable", "FILE", "import-1"}, {"durable", "FILE", "--sort", "since", "--top", "0"}})
	all[len(all)-1].target = "store"
	b, err := journal.Pack(&journal.Image{
		ID: "order-1", Body: "checkout", Args: json.RawMessage(`"x"`), Forks: 1,
		Steps:    []journal.Step{{Kind: journal.StepFork, Name: "pack", Value: json.RawMessage("1"), At: time.Now()}, {Kind: journal.StepPark, Name: "paid", Open: true, At: time.Now()}},
		Children: []journal.Image{{ID: "order-1/1", Body: "pack", Args: json.RawMessage("1"), Steps: []journal.Step{}, Number: 1}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	add("durable bytes", "order.bytes", b, harmBytes, [][]string{{"durable", "FILE"}, {"durable", "FILE", "--json"}, {"durable", "FILE", "order-1"}, {"durable", "FILE", "order-1", "--json"}, {"durable", "FILE", "order-1", "--values"}})
	for _, h := range all {
		if slices.Contains([]string{"recording", "flight file", "bundle"}, h.name) {
			h.share = 4
		}
	}
	return all
}

// ofEach calls commands with a target in each of their formats.
func ofEach(target string, commands ...command) (all [][]string) {
	for _, c := range commands {
		for _, format := range formOf(c).formats {
			all = append(all, []string{formOf(c).word, target, "-f", format})
		}
	}
	return all
}

// threadsCalls are the ways to look at threads; not all are known of a recording.
func threadsCalls(target string, recorded bool) (all [][]string) {
	for _, format := range formOf(commandThreads).formats {
		if recorded && wayOf(format) != nil && wayOf(format).groups == nil {
			continue
		}
		all = append(all, []string{target, "-f", format})
	}
	for _, more := range [][]string{
		{"--group", "1"}, {"--group", "1", "--json"}, {"--thread", "5"}, {"--thread", "5", "--json"}, {"--by", "state,scope,stack"}, {"--by", "name,blocker,creator,scheduler", "--json"}, {"--scope", "*"},
		{"--filter", "state=parked wait>1ms"}, {"--templates"}, {"--similar", "shape"}, {"--top", "0", "--depth", "0", "--all-frames"}, {"--ascii"}, {"--marks", "DIR/none.json"},
	} {
		all = append(all, append([]string{target}, more...))
	}
	return all
}

// threadsOfGroups are the ways to look at groups of threads, of sources that have no more.
func threadsOfGroups(target string) (all [][]string) {
	for _, format := range formOf(commandThreads).formats {
		if w := wayOf(format); w == nil || w.groups != nil {
			all = append(all, []string{target, "-f", format})
		}
	}
	return append(all, []string{target, "--top", "0", "--depth", "0", "--all-frames"}, []string{target, "--ascii"}, []string{"diff", target, target}, []string{"diff", target, target, "--json", "--top", "3"})
}

// tracesCalls are those of dumps that others have written.
func tracesCalls() [][]string {
	return slices.Concat(threadsCalls("FILE", false), checkCalls(), [][]string{{"diff", "FILE", "FILE"}, {"diff", "FILE", "FILE", "--json"}, {"profile", "FILE", "threads", "-f", "text"}, {"profile", "FILE", "threads", "-o", "-"}})
}

func checkCalls() [][]string {
	return [][]string{{"check", "FILE", "--max-threads", "3", "--no-deadlock"}, {"check", "FILE", "--max-threads", "3", "--json"}}
}

func profileCalls(names ...string) (all [][]string) {
	if len(names) == 0 {
		for _, k := range profile.Names() {
			if profile.KindOf(k).Origin != profile.OfProcess {
				names = append(names, k)
			}
		}
	}
	for _, name := range names {
		all = append(all, []string{"profile", "FILE", name, "-f", "text"}, []string{"profile", "FILE", name, "-o", "-"})
	}
	return all
}

func exportCalls() (all [][]string) {
	for _, name := range exportNames() {
		all = append(all, []string{"export", "FILE", "-f", name, "-o", "DIR/export"}, []string{"export", "FILE", "-f", name, "-o", "-"})
	}
	return all
}

// realRecording records a program that starts a hundred threads.
func realRecording(t *testing.T) []byte {
	t.Helper()
	child, in := startAs(t, hundredTarget)
	r, err := flight.OpenPID(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var b bytes.Buffer
	done := make(chan error, 1)
	go func() {
		_, err := recording.Record(context.Background(), r, &b, recording.Options{Held: true})
		done <- err
	}()
	if _, err := in.(io.Writer).Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	in.Close()
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What would change a terminal, or the order in which it shows text, in a text and in a string of
// JSON.
var (
	evilText = []string{"\x1b]0;owned\a", "\x1b[2J", "\u009b31m", "\u202e", "\u2066", "\u200f", "\x7f", "\x00", "\r", "\b", "\xff", "\x9b", "\n", "\t"}
	evilJSON = append([]string{`\u001b]0;owned\u0007`, `\u009b31m`, `\u202e`, `\u007f`, `\u0000`, `\r`, `\ud800`, `{`, `null`, `[`, `-1`, `1e99`}, evilText...)
)

// harm returns a function that damages any file: bits and bytes are changed, ranges are cut out,
// cleared, repeated or come from elsewhere in it, the end is missing, numbers are the largest, and
// texts that are evil come in.
func harm(evil []string) func(whole []byte, r *rand.Rand) []byte {
	if evil == nil {
		evil = evilText
	}
	return func(whole []byte, r *rand.Rand) []byte {
		b := bytes.Clone(whole)
		for range 1 + r.IntN(4) {
			if len(b) == 0 {
				return b
			}
			i := r.IntN(len(b))
			size := r.IntN(min(len(b)-i, 4096))
			switch r.IntN(12) {
			case 0:
				b = slices.Delete(b, i, i+size)
			case 1:
				clear(b[i : i+size])
			case 2:
				if r.IntN(4) == 0 {
					b = b[:i]
				}
			case 3: // once more, or many times
				n := 1
				if r.IntN(4) == 0 {
					n = 1 + r.IntN(max(1, 1<<20/(size+1)))
				}
				b = slices.Insert(b, i, bytes.Repeat(b[i:i+size], n)...)
			case 4:
				copy(b[i:i+size], b[r.IntN(len(b)):])
			case 5, 6, 7:
				text := evil[r.IntN(len(evil))]
				if r.IntN(2) == 0 {
					b = slices.Insert(b, i, []byte(text)...)
				} else {
					copy(b[i:], text)
				}
			case 8:
				n := []uint64{0, 1, 1 << 31, 1<<32 - 1, 1 << 62, 1<<63 - 1, 1 << 63, 1<<64 - 1}
				copy(b[i&^7:], binary.LittleEndian.AppendUint64(nil, n[r.IntN(len(n))])[:4<<r.IntN(2)])
			case 9:
				b[i] ^= 1 << r.IntN(8)
			default:
				b[i] = byte(r.Uint32())
			}
		}
		return b
	}
}

var harmAny = harm(nil)

// harmFlight damages a flight file where something is: most of it is room for more. Nothing is
// moved, as records have their places.
func harmFlight(whole []byte, r *rand.Rand) []byte {
	if r.IntN(16) == 0 {
		return harmAny(whole, r)
	}
	b := bytes.Clone(whole)
	for range 1 + r.IntN(200) {
		i := r.IntN(len(b)) &^ 7
		if r.IntN(8) == 0 {
			i = r.IntN(1024) &^ 7 // the header, and where the segments are
		}
		for range 4096 {
			if binary.LittleEndian.Uint64(b[i:]) != 0 {
				break
			}
			i = r.IntN(len(b)-8) &^ 7
		}
		switch r.IntN(6) {
		case 0:
			n := []uint64{0, 1, 1 << 31, 1<<32 - 1, 1 << 62, 1<<63 - 1, 1 << 63, 1<<64 - 1}
			binary.LittleEndian.PutUint64(b[i:], n[r.IntN(len(n))])
		case 1:
			copy(b[i:], evilText[r.IntN(len(evilText))])
		case 2: // a record in the place of another
			size := min(64<<r.IntN(4), len(b)-i)
			from := r.IntN(len(b)-size+1) &^ 63
			copy(b[i&^63:], b[from:from+size])
		default:
			b[i+r.IntN(8)] ^= 1 << r.IntN(8)
		}
	}
	return b
}

// The header of a chunk, as docs/recordings.md has it.
const (
	chunkHead, chunkBody, chunkSum, chunkFirst, chunkHeadSum = 72, 12, 20, 24, 68
)

func harmRecording(whole []byte, r *rand.Rand) []byte {
	b := harmAny(whole, r)
	if r.IntN(8) == 0 && len(b) > chunkHead { // a number of the first header
		n := []uint64{0, 1, 1 << 62, 1<<63 - 1, 1 << 63, 1<<64 - 1}
		binary.LittleEndian.PutUint64(b[chunkFirst+8*r.IntN(5):], n[r.IntN(len(n))])
	}
	if r.IntN(8) > 0 {
		mendSums(b)
	}
	return b
}

func mendSums(b []byte) {
	table := crc32.MakeTable(crc32.Castagnoli)
	le := binary.LittleEndian
	for len(b) >= chunkHead && string(b[:8]) == "vtrchunk" {
		n := int(le.Uint32(b[chunkBody:]))
		if n > len(b)-chunkHead {
			n = len(b) - chunkHead
			le.PutUint32(b[chunkBody:], uint32(n))
		}
		le.PutUint32(b[chunkSum:], crc32.Checksum(b[chunkHead:chunkHead+n], table))
		le.PutUint32(b[chunkHeadSum:], crc32.Checksum(b[:chunkHeadSum], table))
		b = b[chunkHead+n:]
	}
}

// harmBundle damages one of the files in a bundle, and says in the manifest that it is so.
// Sometimes it damages the bundle itself.
func harmBundle(whole []byte, r *rand.Rand) []byte {
	z, err := zip.NewReader(bytes.NewReader(whole), int64(len(whole)))
	if err != nil || r.IntN(6) == 0 {
		return harmAny(whole, r)
	}
	files := map[string][]byte{}
	for _, f := range z.File {
		from, err := f.Open()
		if err != nil {
			return harmAny(whole, r)
		}
		files[f.Name], _ = io.ReadAll(from)
		from.Close()
	}
	victim := z.File[r.IntN(len(z.File))].Name
	switch filepath.Ext(victim) {
	case ".json":
		files[victim] = harm(evilJSON)(files[victim], r)
	case ".vtr":
		files[victim] = harmRecording(files[victim], r)
	default:
		files[victim] = harmAny(files[victim], r)
	}
	const manifest = "manifest.json"
	var m incident.Manifest
	if victim != manifest && json.Unmarshal(files[manifest], &m) == nil {
		for i := range m.Parts {
			for j := range m.Parts[i].Files {
				f := &m.Parts[i].Files[j]
				sum := sha256.Sum256(files[f.Name])
				f.Size, f.SHA256 = int64(len(files[f.Name])), hex.EncodeToString(sum[:])
			}
		}
		files[manifest], _ = json.Marshal(&m)
	}
	var b bytes.Buffer
	to := zip.NewWriter(&b)
	for _, f := range z.File {
		if entry, err := to.CreateHeader(&zip.FileHeader{Name: f.Name, Method: f.Method}); err == nil {
			_, _ = entry.Write(files[f.Name])
		}
	}
	_ = to.Close()
	return b.Bytes()
}

// harmGzip damages what is compressed.
func harmGzip(whole []byte, r *rand.Rand) []byte {
	z, err := gzip.NewReader(bytes.NewReader(whole))
	if err != nil || r.IntN(8) == 0 {
		return harmAny(whole, r)
	}
	plain, _ := io.ReadAll(z)
	var b bytes.Buffer
	to := gzip.NewWriter(&b)
	_, _ = to.Write(harmAny(plain, r))
	_ = to.Close()
	return b.Bytes()
}

// harmLog damages the log of a store of durable threads. Its records are a length, a sum and a text
// each.
func harmLog(whole []byte, r *rand.Rand) []byte {
	const head, synced = 8, 1 << 31
	var b []byte
	le := binary.LittleEndian
	for rest := whole; len(rest) > head; {
		n := int(le.Uint32(rest) &^ synced)
		if n > len(rest)-head {
			break
		}
		text := rest[head : head+n]
		if r.IntN(20) == 0 {
			text = harm(evilJSON)(text, r)
		}
		b = le.AppendUint32(b, uint32(len(text)))
		b = le.AppendUint32(b, crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
		b = append(b, text...)
		rest = rest[head+n:]
	}
	if len(b) == 0 || r.IntN(4) == 0 {
		return harmAny(whole, r)
	}
	return b
}

// harmBytes damages the bytes of a durable thread: a header with the length, a text, and its sum.
func harmBytes(whole []byte, r *rand.Rand) []byte {
	const head = 16
	if r.IntN(4) == 0 {
		return harmAny(whole, r)
	}
	text := harm(evilJSON)(whole[head:len(whole)-sha256.Size], r)
	b := append(bytes.Clone(whole[:head]), text...)
	binary.BigEndian.PutUint32(b[10:], uint32(len(text)))
	sum := sha256.Sum256(text)
	return append(b, sum[:]...)
}
