package agent

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vtscope/vtscope/agent/trigger"
	"github.com/vtscope/vtscope/incident"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

func incidents(t *testing.T) *incident.Store {
	t.Helper()
	s, err := incident.OpenStore(incident.Options{Dir: t.TempDir(), Take: incident.TakeOptions{Over: time.Nanosecond, Without: []string{"cpu", "heap", "goroutine"}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func bundles(t *testing.T, s *incident.Store) []incident.Entry {
	t.Helper()
	all, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestABundleIsTakenWhenARuleComesTrue(t *testing.T) {
	file := flighttest.Write(t, small())
	rules, err := trigger.ParseRules("threads > 99", "deadlock")
	if err != nil {
		t.Fatal(err)
	}
	s := incidents(t)
	var told struct {
		sync.Mutex
		lines []string
	}
	a := start(t, Options{Dirs: []string{file.Dir}, Rules: rules, Incidents: s, Warn: func(what string) {
		told.Lock()
		defer told.Unlock()
		told.lines = append(told.lines, what)
	}})
	until(t, "a line about a bundle", func() bool {
		told.Lock()
		defer told.Unlock()
		return len(told.lines) > 0
	})
	all := bundles(t, s)
	if len(all) != 1 {
		t.Fatalf("got %v, want one bundle", all)
	}
	want := fmt.Sprintf("pid %d: threads > 99: there are 100 threads; vtdump open %s", os.Getpid(), all[0].Path)
	told.Lock()
	if told.lines[0] != want {
		t.Errorf("got %q, want %q", told.lines, want)
	}
	told.Unlock()
	b, err := incident.Open(all[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if c := b.Manifest.Causes; len(c) != 1 || c[0].Rule != "threads > 99" {
		t.Errorf("got causes %+v", c)
	}
	a.Close()
}

func TestABundleIsTakenForAPost(t *testing.T) {
	file := flighttest.Write(t, small())
	s := incidents(t)
	a := start(t, Options{Dirs: []string{file.Dir}, Incidents: s})
	server := serve(t, a)
	shown(t, a)
	post := func(url, origin string) (int, BundleRow) {
		q, err := http.NewRequest(http.MethodPost, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if origin != "" {
			q.Header.Set("Origin", origin)
		}
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		var row BundleRow
		if err := json.NewDecoder(r.Body).Decode(&row); err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, row
	}
	url := fmt.Sprintf("%s/api/v1/processes/%d/incident", server.URL, os.Getpid())
	for _, c := range []struct {
		url, origin string
		want        int
	}{
		{url, "https://example.com", 403}, {url, "null", 403}, {server.URL + "/api/v1/processes/1/incident", "", 404},
	} {
		if got, _ := post(c.url, c.origin); got != c.want {
			t.Errorf("POST %s from %q: status %d, want %d", c.url, c.origin, got, c.want)
		}
	}
	get(t, url, 404)
	if all := bundles(t, s); len(all) != 0 {
		t.Errorf("got %v, want no bundle so far", all)
	}
	for _, origin := range []string{"", server.URL} {
		status, row := post(url, origin)
		all := bundles(t, s)
		if status != 201 || len(all) == 0 || all[len(all)-1].ID != row.ID && all[0].ID != row.ID || !strings.Contains(row.Path, row.ID) {
			t.Errorf("POST from %q: status %d, %+v and %v; want 201 and the bundle", origin, status, row, all)
		}
	}

	none := serve(t, start(t, Options{Dirs: []string{file.Dir}}))
	if status, _ := post(fmt.Sprintf("%s/api/v1/processes/%d/incident", none.URL, os.Getpid()), ""); status != 404 {
		t.Errorf("without a place to keep it: status %d, want 404", status)
	}
}

func TestRulesNeedAPlaceForBundles(t *testing.T) {
	rules, err := trigger.ParseRules("deadlock")
	if err != nil {
		t.Fatal(err)
	}
	if a, err := New(Options{Rules: rules}); err == nil {
		a.Close()
		t.Error("rules without a place for bundles were taken")
	}
}
