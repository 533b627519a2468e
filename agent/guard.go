package agent

import (
	"net/http"
	"slices"
	"strings"

	"github.com/vtscope/vtscope/agent/access"
	procmem "github.com/vtscope/vtscope/dump/memory"
	"github.com/vtscope/vtscope/runtime/flight"
)

// Handler serves the page, the websocket and the HTTP interface to whom [Options.Access] lets in. It may be used by several servers.
func (a *Agent) Handler() http.Handler {
	mux := a.mux()
	return underPrefix(a.options.Access.Handler(mux, func(r *http.Request) access.Role { return need(mux, r) }))
}

// need is the role that a request needs: that of its route; of what is mounted, that of its method.
func need(mux *http.ServeMux, r *http.Request) access.Role {
	_, pattern := mux.Handler(r)
	for i := range routes {
		if row := &routes[i]; row.method+" "+row.path == pattern {
			return row.role()
		}
	}
	if p := strings.Split(r.URL.Path, "/"); slices.Contains(p, "pprof") && slices.Contains(p, "cpu") {
		return access.Operate // the process interrupts its threads for it; all other profiles come from what is recorded anyway
	}
	return access.NeedByMethod(r)
}

func (r *route) role() access.Role {
	if r.operate {
		return access.Operate
	}
	return access.Read
}

// open opens a flight file. All that the agent knows of a process comes from readers that it made: texts that nobody may see are hidden from then on.
func (a *Agent) open(path string) (*flight.Reader, error) {
	r, err := flight.Open(path)
	if err == nil {
		r.NamesFrom(procmem.Executable)
		a.options.Access.Redactor().Reader(r)
	}
	return r, err
}

// A RouteInfo is a row of the HTTP interface, for those who show or check it.
type RouteInfo struct {
	Method, Path string // the path as a pattern of [http.ServeMux]
	Operate      bool   // it needs the role operate, else read
	About        string
}

// Routes returns the rows of the HTTP interface but for the page and what [Options.Mount] adds.
func Routes() (rows []RouteInfo) {
	for _, r := range routes {
		rows = append(rows, RouteInfo{r.method, r.path, r.operate, r.about})
	}
	return rows
}
