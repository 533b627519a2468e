package profile_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/vtscope/vtscope/dump"
	threads "github.com/vtscope/vtscope/dump/profile"
)

func shop(t *testing.T) *dump.Snapshot {
	t.Helper()
	b, err := os.ReadFile("../testdata/shop.json")
	if err != nil {
		t.Fatal(err)
	}
	s, err := dump.ParseJSON(b)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestProfileHasEveryThreadWithItsLabels(t *testing.T) {
	s := shop(t)
	s.KeepTop(4)
	var b bytes.Buffer
	if err := threads.Write(&b, s); err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	sum, labelled := 0, 0
	for _, sample := range p.Sample {
		sum += int(sample.Value[0])
		if strings.HasPrefix(strings.Join(sample.Label["scope"], ""), "root/shop") && sample.Label["state"] != nil {
			labelled++
		}
	}
	if sum != s.Threads || labelled != 4 {
		t.Errorf("got %d threads, %d samples in the shop; want %d, 4", sum, labelled, s.Threads)
	}
}

func TestGoToolPprofReadsTheProfile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "threads.pb.gz")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := threads.Write(f, shop(t)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ flag, want string }{{"-top", "vthread.Sleep"}, {"-tags", "root/shop/requests"}, {"-traces", "(*Store).query"}} {
		cmd := exec.CommandContext(t.Context(), "go", "tool", "pprof", "-symbolize=none", c.flag, file)
		cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("pprof %s: %v, want %q in\n%s", c.flag, err, c.want, out)
		}
	}
}
