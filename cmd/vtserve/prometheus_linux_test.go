package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vtscope/vtscope/fixtures/backends/backendtest"
	"github.com/vtscope/vtscope/tracing/metrics/metricstest"
)

// startPrometheus starts Debian's Prometheus with a configuration, and returns its address. It is stopped when the test ends.
func startPrometheus(t *testing.T, config string) string {
	t.Helper()
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skipf("there is no Prometheus to scrape with: %v (make test installs it where apt-get can)", err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(path, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0", "--enable-feature=exemplar-storage")
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	address, ended := make(chan string, 1), make(chan struct{})
	var said strings.Builder // of the goroutine, until ended
	go func() {
		defer close(ended)
		listens := regexp.MustCompile(`msg="Listening on" address=(127\.0\.0\.1:[1-9]\d*)`)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			said.WriteString(lines.Text() + "\n")
			if m := listens.FindStringSubmatch(lines.Text()); m != nil {
				address <- m[1]
			}
		}
		io.Copy(io.Discard, log)
	}()
	t.Cleanup(func() {
		c.Process.Kill()
		<-ended
		c.Wait()
		http.DefaultClient.CloseIdleConnections()
		if t.Failed() {
			t.Logf("prometheus said:\n%s", said.String())
		}
	})
	select {
	case a := <-address:
		return "http://" + a
	case <-ended:
		t.Fatal("prometheus ended before it listened")
	case <-time.After(time.Minute):
		t.Fatal("prometheus did not listen within a minute")
	}
	return ""
}

func TestPrometheusHasTheNumbersOfTheFlightFile(t *testing.T) {
	child, r, wants := backendtest.Storm(t)
	t.Setenv("VTSCOPE_DIR", filepath.Dir(r.Process().Path))
	s := begin(t, fmt.Sprint(child.PID()))
	defer s.end(t)
	base := startPrometheus(t, backendtest.FromFleet(t, "prometheus.yml", "127.0.0.1:7070", strings.TrimPrefix(s.url, "http://"), "scrape_interval: 15s", "scrape_interval: 1s"))
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	var wrong []string
	for { // its first scrape comes some seconds after its start, and the agent takes a snapshot each five
		var err error
		if wrong, err = metricstest.Compare(ctx, base, "pid", child.PID(), wants); err == nil && len(wrong) == 0 {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("%v; of %d values these are others:\n%s", err, len(wants), strings.Join(wrong, "\n"))
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Logf("%d values are those of the flight file", len(wants))
	if up, err := metricstest.Ask(ctx, base, `vt_process_info{program="storm"}`); err != nil || len(up) != 1 {
		t.Errorf("got %v, %v; want one process of the program storm", up, err)
	}
	checkDashboard(t, ctx, base)
}
