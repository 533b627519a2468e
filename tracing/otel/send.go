package otel

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Between two attempts to reach a collector it waits at least firstPause, then twice as long each time up to lastPause: when the collector is back, so is the exporter.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = time.Second
)

// A sender tries exports again that may succeed later.
type sender struct {
	warn func(string)
}

// A way is how exports of a signal leave.
type way struct {
	*signalCounters
	limit time.Duration // of one export with all its attempts
	asked *throttle     // of HTTP
}

// send calls upload until it succeeds, is refused, or the limit has passed, and counts n accordingly.
func (s *sender) send(ctx context.Context, c *way, n int, upload func(context.Context) (refused int, err error)) {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		refused, err := upload(ctx)
		refused = min(max(refused, 0), n)
		if err != nil && !errors.Is(ctx.Err(), context.Canceled) && c.wentWrong(err) {
			s.warn("otlp: " + c.to + ": " + cut(err.Error(), 512))
		}
		if err == nil || refused > 0 { // of some refused, the collector took the others
			c.sent.Add(uint64(n - refused))
			c.refused.Add(uint64(refused))
			c.succeeded()
			return
		}
		if !mayPass(err) {
			c.refused.Add(uint64(n))
			return
		}
		timer := time.NewTimer(max(pause/2+rand.N(pause/2), c.asks(err)))
		select {
		case <-timer.C:
			c.retries.Add(1)
		case <-ctx.Done():
			timer.Stop()
			c.failed.Add(uint64(n))
			return
		}
	}
}

// mayPass reports whether an error may be gone the next time: the collector was not reached, or is not ready.
func mayPass(err error) bool {
	var busy *busyError
	var dial *net.OpError
	var whole *url.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.As(err, &busy), errors.As(err, &dial), errors.As(err, &whole),
		errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET):
		return true
	}
	if s, ok := grpcStatus(err); ok {
		switch s.Code() {
		case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.Unavailable, codes.DataLoss, codes.ResourceExhausted:
			return true
		}
	}
	return notReady.MatchString(err.Error())
}

// asks returns how long the collector wants not to be asked again, as far as it said so.
func (c *way) asks(err error) time.Duration {
	if c.asked != nil {
		return time.Duration(c.asked.after.Swap(0))
	}
	if s, ok := grpcStatus(err); ok {
		for _, d := range s.Details() {
			if r, ok := d.(*errdetails.RetryInfo); ok {
				return r.GetRetryDelay().AsDuration()
			}
		}
	}
	return 0
}

// A throttle notes the header Retry-After of answers.
type throttle struct {
	http.RoundTripper
	after atomic.Int64 // a time.Duration, of the last answer that had one
}

// RoundTrip is as of [http.RoundTripper].
func (t *throttle) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.RoundTripper.RoundTrip(r)
	if err == nil {
		if n, bad := strconv.Atoi(answer.Header.Get("Retry-After")); bad == nil && n > 0 {
			t.after.Store(int64(min(time.Duration(n), 3600) * time.Second))
		}
	}
	return answer, err
}

// CloseIdleConnections is for [http.Client.CloseIdleConnections].
func (t *throttle) CloseIdleConnections() {
	if c, ok := t.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func grpcStatus(err error) (*status.Status, bool) {
	var s interface{ GRPCStatus() *status.Status }
	if errors.As(err, &s) {
		return s.GRPCStatus(), true
	}
	return nil, false
}

// A busyError is the answer of a collector that wants to be asked later.
type busyError struct{ text string }

func (e *busyError) Error() string { return e.text }

// The official clients tell by their words alone how many spans a collector refused, and that it was not ready. TestTheWordsOfClients holds these against them.
var (
	partial  = regexp.MustCompile(`OTLP partial success: .*\((\d+) spans rejected\)`)
	notReady = regexp.MustCompile(`retry-able request failure`)
)

// partialOf reads how many were refused of an export that has otherwise succeeded.
func partialOf(err error) (refused int, ok bool) {
	if err == nil {
		return 0, false
	}
	m := partial.FindStringSubmatch(err.Error())
	if m == nil {
		return 0, false
	}
	refused, _ = strconv.Atoi(m[1]) // digits; one that is too large is cut by who counts
	return refused, true
}
