package otlpenv

import "github.com/vtscope/vtscope/internal/buildinfo"

// SchemaURL is the version of the semantic conventions that names without "vt." are of: of attributes of resources, spans, logs, profiles and metrics.
const SchemaURL = "https://opentelemetry.io/schemas/1.37.0"

// Version returns the version of vtscope, as the build knows it: that of an instrumentation scope.
func Version() string { return buildinfo.Version() }
