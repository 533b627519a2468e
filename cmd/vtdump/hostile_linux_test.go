package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/profile"
)

// hostileTime is how long damaged files are read; VTSCOPE_HOSTILE is that of nightly runs.
func hostileTime(t *testing.T) time.Duration {
	d, err := time.ParseDuration(os.Getenv("VTSCOPE_HOSTILE"))
	if os.Getenv("VTSCOPE_HOSTILE") == "" {
		return 3 * time.Second
	}
	if err != nil {
		t.Fatalf("VTSCOPE_HOSTILE: %v", err)
	}
	return d
}

// hostileCalls are the calls that read a recording: each command that takes one, in each of its formats.
func hostileCalls(file, out string) (all [][]string) {
	for _, name := range profile.Names() {
		all = append(all, []string{"profile", file, name, "-f", "text"})
	}
	for _, c := range []command{commandThreads, commandWaits, commandFindings, commandScheduler, commandEvents, commandSettings, commandProfile, commandExport} {
		f := formOf(c)
		for _, format := range f.formats {
			call := []string{f.word, file, "-f", format}
			if f.word == "" {
				call = call[1:]
			}
			switch c {
			case commandProfile:
				continue
			case commandExport:
				call = append(call, "-o", out, "--force")
			}
			all = append(all, call)
		}
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

// The header of a chunk, as docs/recordings.md has it.
const (
	chunkHead, chunkBody, chunkSum, chunkFirst, chunkHeadSum = 72, 12, 20, 24, 68
)

// damaged returns a copy of a recording with some bytes changed, cut out or cleared, and with checksums that are right if they can be: without those the damage
// would end at the header.
func damaged(whole []byte, r *rand.Rand) []byte {
	b := bytes.Clone(whole)
	for range 1 + r.IntN(4) {
		switch i := r.IntN(len(b)); r.IntN(8) {
		case 0:
			b = slices.Delete(b, i, i+r.IntN(min(len(b)-i, 4096)))
			if len(b) < 2*chunkHead {
				return b
			}
		case 1:
			clear(b[i : i+r.IntN(min(len(b)-i, 4096))])
		case 2: // a number of the first header
			n := []uint64{0, 1, 1 << 62, 1<<63 - 1, 1 << 63, 1<<64 - 1}
			binary.LittleEndian.PutUint64(b[chunkFirst+8*r.IntN(5):], n[r.IntN(len(n))])
		default:
			b[i] = byte(r.Uint32())
		}
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

// A damaged recording makes no command panic, in whatever format.
func TestNoCommandPanicsOnADamagedRecording(t *testing.T) {
	whole := realRecording(t)
	dir := t.TempDir()
	name, out := filepath.Join(dir, "damaged.vtr"), filepath.Join(dir, "out")
	calls := hostileCalls(name, out)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	n, read := 0, 0
	try := func(call []string) {
		var stdout bytes.Buffer
		defer func() {
			if v := recover(); v != nil {
				t.Errorf("seed %d, file %d: vtdump %q: %v\n%s", seed, n, call, v, debug.Stack())
			}
		}()
		if run(context.Background(), call, world{stdout: &stdout, stderr: io.Discard, getenv: func(string) string { return "" }, now: time.Now}) == exitDone {
			read++
		}
	}
	for until := time.Now().Add(hostileTime(t)); n == 0 || time.Now().Before(until); n++ {
		b := damaged(whole, r)
		if n == 0 { // the largest time there is
			b = bytes.Clone(whole)
			for at := 0; at < len(b); at += chunkHead + int(binary.LittleEndian.Uint32(b[at+chunkBody:])) {
				binary.LittleEndian.PutUint64(b[at+chunkFirst+8:], 1<<63-1)
			}
			mendSums(b)
		}
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, call := range calls {
			if try(call); t.Failed() {
				return
			}
		}
	}
	t.Logf("%d files, %d calls each, %d read", n, len(calls), read)
	if read == 0 {
		t.Error("no command could read any of them")
	}
}
