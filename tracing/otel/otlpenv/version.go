package otlpenv

import (
	"runtime/debug"
	"sync"
)

// SchemaURL is the version of the semantic conventions that names without "vt." are of: of attributes of resources, spans, logs, profiles and metrics.
const SchemaURL = "https://opentelemetry.io/schemas/1.37.0"

// Version returns the version of vtscope, as the build knows it: that of an instrumentation scope.
var Version = sync.OnceValue(func() string {
	const module, unknown = "github.com/vtscope/vtscope", "(devel)"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknown
	}
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path == module && m.Version != "" {
			return m.Version
		}
	}
	return unknown
})
