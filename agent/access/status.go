package access

import (
	"bufio"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const levelInfo = slog.LevelInfo

// A statusWriter remembers the status of an answer, and gives who takes it a time for each piece: answers may last, but not wait for somebody who does not read.
type statusWriter struct {
	http.ResponseWriter
	patience time.Duration
	status   int
}

func (w *statusWriter) Write(b []byte) (int, error) {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.patience)) // a server of somebody else may have none
	return w.ResponseWriter.Write(b)
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *statusWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

func (w *statusWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.status = http.StatusSwitchingProtocols
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

func (w *statusWriter) code() int {
	if w.status == 0 {
		return http.StatusOK
	}
	return w.status
}
