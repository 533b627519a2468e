package vhttp_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/vhttp"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func TestTheWriterIsTheServersOwn(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		recorder := httptest.NewRecorder()
		h := vhttp.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if w != http.ResponseWriter(recorder) {
				t.Errorf("got writer %v, want the one that the handler got", w)
			}
		}), o)
		h.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
	})
}

func TestAHandlerStreamsInBothDirections(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		onEachProtocol(t, func(t *testing.T, protocol string) {
			s := serve(t, protocol, vhttp.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				c := http.NewResponseController(w)
				if protocol == "HTTP/1.1" {
					if err := c.EnableFullDuplex(); err != nil {
						t.Error(err)
					}
				}
				if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
					t.Error(err)
				}
				if err := c.SetWriteDeadline(time.Now().Add(patience)); err != nil {
					t.Error(err)
				}
				lines := bufio.NewScanner(r.Body)
				for lines.Scan() {
					vthread.Yield()
					fmt.Fprintln(w, strings.ToUpper(lines.Text()))
					if err := c.Flush(); err != nil {
						t.Error(err)
					}
				}
			}), o))
			body, out := io.Pipe()
			r, err := http.NewRequestWithContext(t.Context(), "POST", s.URL, body)
			if err != nil {
				t.Fatal(err)
			}
			go fmt.Fprintln(out, "one")
			response, err := s.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			answers := bufio.NewReader(response.Body)
			for i, word := range []string{"one", "two", "three"} {
				if i > 0 { // the answer to the one before has come: nothing was kept back
					go fmt.Fprintln(out, word)
				}
				if got, err := answers.ReadString('\n'); err != nil || got != strings.ToUpper(word)+"\n" {
					t.Errorf("got %q, %v, want %q", got, err, strings.ToUpper(word))
				}
			}
			out.Close()
			if rest, err := io.ReadAll(answers); err != nil || len(rest) != 0 {
				t.Errorf("got %q, %v after the end", rest, err)
			}
		})
	})
}

func TestAFileIsSentByTheServersReadFrom(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		s := serve(t, "HTTP/1.1", vhttp.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			from, ok := w.(io.ReaderFrom)
			if !ok {
				t.Error("the writer has no ReadFrom")
				return
			}
			if n, err := from.ReadFrom(strings.NewReader("read")); n != 4 || err != nil {
				t.Errorf("got %d, %v, want 4 bytes", n, err)
			}
		}), o))
		if got := s.get(t, "/"); got != "read" {
			t.Errorf("got %q", got)
		}
	})
}

// A connection that a handler has taken over is served by a thread that goes on when the handler has returned.
func TestAHijackedConnectionOutlivesItsRequest(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		returned, served := make(chan struct{}), make(chan error, 1)
		h := vhttp.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, buffered, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			vthread.Start(func() {
				defer conn.Close()
				<-returned
				if r.Context().Err() == nil {
					t.Error("the context of the request has not ended with it")
				}
				line, err := buffered.ReadString('\n')
				if err == nil {
					_, err = io.WriteString(conn, "you said "+line)
				}
				served <- err
			})
		}), o)
		s := serve(t, "HTTP/1.1", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(w, r)
			close(returned)
		}))
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		<-returned
		fmt.Fprintln(conn, "hello")
		if got, err := io.ReadAll(conn); err != nil || string(got) != "you said hello\n" {
			t.Errorf("got %q, %v", got, err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// And one whose handler has panicked is not the server's to close.
func TestAPanicLeavesAHijackedConnectionAlone(t *testing.T) {
	onEachKind(t, func(t *testing.T, o vhttp.Options) {
		s := serve(t, "HTTP/1.1", vhttp.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			vthread.Start(func() {
				defer conn.Close()
				vthread.Sleep(5 * time.Millisecond)
				fmt.Fprint(conn, "still here")
			})
			panic(http.ErrAbortHandler)
		}), o))
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		if got, err := io.ReadAll(conn); err != nil || string(got) != "still here" {
			t.Errorf("got %q, %v", got, err)
		}
	})
}
