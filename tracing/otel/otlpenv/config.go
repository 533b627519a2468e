package otlpenv

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"
)

// A Protocol is what OTLP is carried by.
type Protocol string

// The protocols. JSON is not sent.
const (
	GRPC Protocol = "grpc"
	HTTP Protocol = "http/protobuf"
)

// A Config is what the variables say. [Read] makes one.
type Config struct {
	Disabled bool // OTEL_SDK_DISABLED: nothing is sent

	// ServiceName is that of all processes; empty if the variables do not have it.
	ServiceName string
	// Attributes are those of OTEL_RESOURCE_ATTRIBUTES, without the service's name, in their order.
	Attributes []Attribute

	Traces, Metrics, Logs, Profiles Signal

	Sampler     Sampler
	SpanLimits  SpanLimits
	BatchSpans  Batch // OTEL_BSP_*
	BatchLogs   Batch // OTEL_BLRP_*
	Interval    time.Duration
	MaxExport   time.Duration // of metrics: the limit of one export
	Temporality Temporality
	Exponential bool // histograms are exponential ones, as far as the exporter chooses
}

// A Signal says where one signal goes, and how.
type Signal struct {
	Off      bool // the signal's exporter is "none"
	Protocol Protocol
	// Endpoint is the whole URL: of HTTP with the path of the signal, of gRPC with a host and a port alone. Its scheme is http for a connection without TLS, or https.
	Endpoint *url.URL
	Headers  map[string]string // may be secret: do not print them
	Timeout  time.Duration     // of one attempt
	Gzip     bool
	// Files in PEM form, or empty: the authorities to trust, and who we are.
	Certificate, ClientCertificate, ClientKey string
}

// Insecure reports whether the connection is without TLS.
func (s *Signal) Insecure() bool { return s.Endpoint.Scheme == "http" }

// TLS returns the configuration of connections to the endpoint, nil for one without TLS. It reads the files.
func (s *Signal) TLS() (*tls.Config, error) {
	if s.Insecure() {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.Certificate != "" {
		pem, err := os.ReadFile(s.Certificate)
		if err != nil {
			return nil, fmt.Errorf("otlp: certificate: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("otlp: certificate %s: no certificate in it", s.Certificate)
		}
	}
	if s.ClientCertificate != "" || s.ClientKey != "" {
		if s.ClientCertificate == "" || s.ClientKey == "" {
			return nil, errors.New("otlp: client certificate: want both, the certificate and its key")
		}
		pair, err := tls.LoadX509KeyPair(s.ClientCertificate, s.ClientKey)
		if err != nil {
			return nil, fmt.Errorf("otlp: client certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// String tells where the signal goes, without what may be secret.
func (s *Signal) String() string {
	if s.Off {
		return "off"
	}
	return fmt.Sprintf("%s by %s", s.Endpoint.Redacted(), s.Protocol)
}

// A Sampler says which traces are begun. A trace that the program has begun is kept or left as the program has decided, if Parent is set.
type Sampler struct {
	Parent bool
	Ratio  float64 // of the traces that have no parent: 0 none, 1 all
}

// SpanLimits bound a span. 0 of TextLength is no limit.
type SpanLimits struct {
	Attributes, Events, Links, TextLength int
}

// A Batch says how what is to be sent is gathered.
type Batch struct {
	Delay   time.Duration // between two exports
	Timeout time.Duration // of one export with all its attempts
	Queue   int           // most that wait
	Most    int           // in one export
}

// A Temporality says from when on sums count.
type Temporality string

// The temporalities.
const (
	Cumulative Temporality = "cumulative" // from the beginning
	Delta      Temporality = "delta"      // since the last export, but for sums that also go down
	LowMemory  Temporality = "lowmemory"  // as delta where that needs no memory
)

// Read returns what the variables say that lookup knows, such as [os.LookupEnv]. An error names all variables whose value is wrong.
func Read(lookup func(string) (string, bool)) (Config, error) {
	c := defaults()
	r := reader{lookup: lookup}
	r.general(&c)
	for _, s := range signals {
		r.signal(s, s.of(&c))
	}
	return c, errors.Join(r.errs...)
}

func defaults() Config {
	return Config{
		Sampler:     Sampler{Parent: true, Ratio: 1},
		SpanLimits:  SpanLimits{Attributes: 128, Events: 128, Links: 128},
		BatchSpans:  Batch{Delay: 5 * time.Second, Timeout: 30 * time.Second, Queue: 2048, Most: 512},
		BatchLogs:   Batch{Delay: time.Second, Timeout: 30 * time.Second, Queue: 2048, Most: 512},
		Interval:    time.Minute,
		MaxExport:   30 * time.Second,
		Temporality: Cumulative,
	}
}
