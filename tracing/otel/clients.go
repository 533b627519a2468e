package otel

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // so that it can be asked for
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/vtscope/vtscope/tracing/otel/otlpenv"
)

// newTraceClient returns an official client, started. It tries nothing again: the sender does, and can tell what went wrong meanwhile.
func newTraceClient(ctx context.Context, s *otlpenv.Signal) (client otlptrace.Client, asked *throttle, release func() error, err error) {
	if s.Protocol == otlpenv.GRPC {
		conn, err := dial(s)
		if err != nil {
			return nil, nil, nil, err
		}
		release = conn.Close
		client = otlptracegrpc.NewClient(
			otlptracegrpc.WithGRPCConn(conn), otlptracegrpc.WithHeaders(s.Headers), otlptracegrpc.WithTimeout(s.Timeout), otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{}),
		)
	} else {
		h, t, err := httpClient(s)
		if err != nil {
			return nil, nil, nil, err
		}
		asked = t
		release = func() error { h.CloseIdleConnections(); return nil }
		compression := otlptracehttp.NoCompression
		if s.Gzip {
			compression = otlptracehttp.GzipCompression
		}
		client = otlptracehttp.NewClient(
			otlptracehttp.WithHTTPClient(h), otlptracehttp.WithEndpointURL(s.Endpoint.String()), otlptracehttp.WithHeaders(s.Headers), otlptracehttp.WithCompression(compression),
			otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}),
		)
	}
	if err := client.Start(ctx); err != nil {
		return nil, nil, nil, errors.Join(err, release())
	}
	return client, asked, release, nil
}

// uploadTraces is the client's, with the number of spans that were refused of an export that succeeded otherwise.
func uploadTraces(client otlptrace.Client) func(context.Context, []*tracepb.ResourceSpans) (int, error) {
	return func(ctx context.Context, spans []*tracepb.ResourceSpans) (int, error) {
		err := client.UploadTraces(ctx, spans)
		if refused, ok := partialOf(err); ok {
			if refused == 0 {
				return 0, nil // a warning
			}
			return refused, err
		}
		return 0, err
	}
}

// dial makes a connection, which is set up when it is used first, and again when the collector is back.
func dial(s *otlpenv.Signal) (*grpc.ClientConn, error) {
	c, err := s.TLS()
	if err != nil {
		return nil, err
	}
	how := insecure.NewCredentials()
	if c != nil {
		how = credentials.NewTLS(c)
	}
	o := []grpc.DialOption{
		grpc.WithTransportCredentials(how), grpc.WithUserAgent(userAgent),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: firstPause, Multiplier: 1.6, Jitter: 0.2, MaxDelay: lastPause}, MinConnectTimeout: s.Timeout,
		}),
	}
	if s.Gzip {
		o = append(o, grpc.WithDefaultCallOptions(grpc.UseCompressor("gzip")))
	}
	return grpc.NewClient("dns:///"+s.Endpoint.Host, o...)
}

// httpClient returns a client of its own, which follows no redirection: headers may be secret.
func httpClient(s *otlpenv.Signal) (*http.Client, *throttle, error) {
	c, err := s.TLS()
	if err != nil {
		return nil, nil, err
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	if c != nil {
		t.TLSClientConfig = c
	}
	asked := &throttle{RoundTripper: t}
	return &http.Client{
		Transport: asked, Timeout: s.Timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, asked, nil
}

const userAgent = "vtscope"

// A poster sends requests of signals that have no official client for messages.
type poster struct {
	signal otlpenv.Signal
	method string // of gRPC
	conn   *grpc.ClientConn
	http   *http.Client
	asked  *throttle
}

func newPoster(s otlpenv.Signal, method string) (*poster, error) {
	p := &poster{signal: s, method: method}
	var err error
	if s.Protocol == otlpenv.GRPC {
		p.conn, err = dial(&s)
	} else {
		p.http, p.asked, err = httpClient(&s)
	}
	return p, err
}

func (p *poster) close() error {
	if p.conn != nil {
		return p.conn.Close()
	}
	p.http.CloseIdleConnections()
	return nil
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 10

// post sends a request, once, and reads the answer.
func (p *poster) post(ctx context.Context, request, answer proto.Message) error {
	if p.conn != nil {
		ctx, cancel := context.WithTimeout(ctx, p.signal.Timeout)
		defer cancel()
		for k, v := range p.signal.Headers {
			ctx = metadata.AppendToOutgoingContext(ctx, k, v)
		}
		return p.conn.Invoke(ctx, p.method, request, answer)
	}
	body, err := proto.Marshal(request)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	if p.signal.Gzip {
		var small bytes.Buffer
		z := gzip.NewWriter(&small)
		z.Write(body) // to memory
		z.Close()
		body = small.Bytes()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.signal.Endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	for k, v := range p.signal.Headers {
		r.Header.Set(k, v)
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("User-Agent", userAgent)
	if p.signal.Gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	got, err := p.http.Do(r)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(io.LimitReader(got.Body, maxAnswer))
	if err != nil {
		return err
	}
	switch got.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		if strings.HasPrefix(got.Header.Get("Content-Type"), "application/x-protobuf") {
			if err := proto.Unmarshal(text, answer); err != nil {
				return fmt.Errorf("answer: %w", err)
			}
		}
		return nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &busyError{got.Status}
	}
	return fmt.Errorf("%s: %s", got.Status, cut(string(text), 256))
}
