package otlpenv

import (
	"os"
	"strconv"

	"github.com/vtscope/vtscope/runtime/flight"
)

// ofProcess reads what the process itself was told.
func ofProcess(p flight.Process) (name string, attributes []Attribute, ok bool) {
	if p.PID <= 0 || !p.Status.Live() {
		return "", nil, false // the number may be another's by now
	}
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/environ")
	if err != nil {
		return "", nil, false
	}
	return fromEnviron(string(environ))
}
