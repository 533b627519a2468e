// Package otlpenv reads the standard environment variables of OpenTelemetry: where to send, how, as whom, and how much.
//
//	c, err := otlpenv.Read(os.LookupEnv)
//	fmt.Println(c.Traces.Endpoint, c.Metrics.Protocol, c.ServiceName)
//	for _, a := range c.Resource(process) {
//		fmt.Println(a.Key, a.Value)
//	}
//
// It knows no OpenTelemetry module, and makes nothing: who sends does. A value that is wrong is an error that names its variable, also where the specification
// would have it ignored: who sets OTEL_EXPORTER_OTLP_TIMEOUT=10s wants to be told. An empty value is as one that is not set. docs/opentelemetry.md has the list.
//
// # Concurrency
//
// A [Config] is a value.
//
// # Where to start reading
//
// [Config], then the table in variables.go.
package otlpenv
