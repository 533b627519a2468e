//go:build unix

package bench

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/vtscope/vtscope/agent"
	"github.com/vtscope/vtscope/internal/childtest"
)

// BenchmarkWire tells how large the frames of a page are, whole and as deltas, and what compressing each would save and take.
func BenchmarkWire(b *testing.B) {
	for _, fixture := range []string{"shop", "storm"} {
		file := childtest.Build(b, "./fixtures/"+fixture)
		args, words := []string{"-threads", "20000", "-exit-with-stdin"}, "pid"
		if fixture == "storm" {
			args, words = append(args, "-depth", "20", "-scopes", "7", "-hold", "0"), "threads parked in"
		}
		p, err := startProgram(words, exec.Command(file, args...))
		if err != nil {
			b.Fatal(err)
		}
		page := open(b, p.pid)
		for _, deltas := range []bool{false, true} {
			b.Run(fmt.Sprintf("of=%s/deltas=%t", fixture, deltas), func(b *testing.B) { wire(b, page.server.URL, deltas) })
		}
		page.close()
		if err := p.end(); err != nil {
			b.Error(err)
		}
	}
}

func wire(b *testing.B, url string, deltas bool) {
	dialer := websocket.Dialer{Subprotocols: []string{agent.Subprotocol}}
	socket, _, err := dialer.Dial("ws"+strings.TrimPrefix(url, "http")+"/ws", nil)
	if err != nil {
		b.Fatal(err)
	}
	defer socket.Close()
	if err := socket.WriteJSON(agent.Subscription{Type: agent.TypeSubscribe, Deltas: deltas}); err != nil {
		b.Fatal(err)
	}
	const few = 5 // at the beginning come more members than later
	var size, small, frames int
	var took time.Duration
	w, err := flate.NewWriter(nil, 1)
	if err != nil {
		b.Fatal(err)
	}
	for n := 0; frames < 15*b.N; {
		socket.SetReadDeadline(time.Now().Add(20 * time.Second))
		_, message, err := socket.ReadMessage()
		if err != nil {
			b.Fatal(err)
		}
		var f agent.Frame
		if json.Unmarshal(message, &f) != nil || f.Type != agent.TypeFrame { // the configuration
			continue
		}
		if n++; n <= few {
			continue
		}
		var packed bytes.Buffer
		began := time.Now()
		w.Reset(&packed)
		w.Write(message)
		w.Flush()
		took += time.Since(began)
		size, small, frames = size+len(message), small+packed.Len(), frames+1
	}
	b.ReportMetric(float64(size)/float64(frames), "B/frame")
	b.ReportMetric(float64(small)/float64(frames), "deflated-B/frame")
	b.ReportMetric(float64(took.Microseconds())/float64(frames), "deflate-us/frame")
	b.ReportMetric(0, "ns/op") // it is how often there are frames
}
