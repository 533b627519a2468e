package agent

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func posted(t *testing.T, url, body string, status int) []byte {
	t.Helper()
	r, err := http.Post(url, "text/plain", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var all json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&all); err != nil || r.StatusCode != status {
		t.Errorf("POST %s %q: status %d, want %d: %s %v", url, body, r.StatusCode, status, all, err)
	}
	return all
}

func TestAGroupIsMarkedInTheFileAndShownSo(t *testing.T) {
	file := flighttest.Write(t, small())
	path := filepath.Join(t.TempDir(), "vtdump.marks")
	a := start(t, Options{Dirs: []string{file.Dir}, Marks: path})
	s := serve(t, a)
	tab := connect(t, s)
	if !tab.config.Marks {
		t.Error("the configuration does not tell that marks are kept")
	}
	tab.subscribe("", "", "")
	tab.framesUntil("groups", func() bool { return tab.whole.Groups != nil && tab.whole.Groups.Total == 100 })
	key := tab.whole.Process.Key
	at := func(group string) string { return s.URL + "/api/v1/processes/" + key + "/groups/" + group + "/mark" }

	var row MarkRow
	if err := json.Unmarshal(posted(t, at("1"), "suspicious # the pool", 200), &row); err != nil || row.Group != tab.whole.Groups.Rows[0].Key || row.Note != "the pool" || !strings.Contains(row.About, "query") {
		t.Errorf("the answer %+v, %v", row, err)
	}
	tab.framesUntil("the mark", func() bool {
		g, s := tab.whole.Groups.Rows[0], tab.whole.Stack.Row
		return g.Mark == "suspicious" && g.Note == "the pool" && s != nil && s.Mark == "suspicious" && tab.whole.Groups.Rows[1].Mark == ""
	})
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	marks, err := dump.ParseMarks(string(text))
	if err != nil || marks.Len() != 1 {
		t.Fatalf("the file %s: %v, want one mark that vtdump reads", text, err)
	}

	// Somebody else marks another group in the file.
	v := shown(t, a)
	marks.Remark(v.snapshot, 1, dump.SameLines, dump.Good, "")
	if err := os.WriteFile(path, []byte(marks.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	tab.framesUntil("what vtdump marked", func() bool { return len(tab.whole.Groups.Rows) > 1 && tab.whole.Groups.Rows[1].Mark == "good" })
	posted(t, at("1"), "none", 200)
	tab.framesUntil("no mark", func() bool { return tab.whole.Groups.Rows[0].Mark == "" && tab.whole.Groups.Rows[1].Mark == "good" })
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v; want that which it had", info.Mode(), err)
	}
	posted(t, at("1"), "fine", 400)
	posted(t, at("0123456789abcdef"), "good", 404)
	posted(t, at("1"), strings.Repeat("x", longestMark+1), 413)

	plain := start(t, Options{Dirs: []string{file.Dir}})
	shown(t, plain)
	posted(t, serve(t, plain).URL+"/api/v1/processes/"+key+"/groups/1/mark", "good", 404)
	if err := os.WriteFile(path, []byte("nonsense here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{Dirs: []string{file.Dir}, Marks: path}); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("an agent with a file that is no marks: %v", err)
	}
	posted(t, at("1"), "good", 500) // and what is in it is not lost
}
