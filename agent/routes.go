package agent

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/incident"
	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/webui"
)

// A route is a row of the HTTP interface. The handler, docs/openapi.json and docs/agent.md derive from the table.
type route struct {
	method  string
	path    string // a pattern of [http.ServeMux], without method and host
	operate bool   // it changes something, or costs the process: reading is not enough
	about   string
	params  []string // names of [params]
	body    string   // what the request's body is; "": it has none
	gives   []result200
	serve   func(*Agent, http.ResponseWriter, *http.Request, *ask) error
}

// A result200 is what a route answers with when all is well.
type result200 struct {
	status int
	media  string
	about  string
	of     []any // of JSON: values of the structs that it may be, or schemas; empty if the document is somebody else's
}

// documentOf is a document in the two formats that all have.
func documentOf(about string, of ...any) []result200 {
	return []result200{{http.StatusOK, mediaJSON, about, of}, {http.StatusOK, mediaText, about + ", for people", nil}}
}

// Whatever is beyond a remote agent is for it to say, and to refuse.
var (
	anything     = []result200{{http.StatusOK, "*/*", "what the remote agent answers", nil}}
	remoteParams = []string{"*"}
)

const ofProcess = "/api/v1/processes/{pid}"

// routes are all that the agent serves, but for the page and what [Options.Mount] adds. It is filled by init: openapi.json is made of it.
var routes []route

func init() {
	routes = []route{
		{"GET", "/ws", false, "the websocket: docs/protocol.md", nil, "", []result200{{http.StatusSwitchingProtocols, "", "messages as docs/protocol.md tells", nil}}, (*Agent).serveWebsocket},
		{"GET", "/api/v1/openapi.json", false, "this interface, as an OpenAPI document", nil, "", []result200{{http.StatusOK, mediaJSON, "the document", nil}}, (*Agent).serveOpenAPI},
		{"GET", "/api/v1/processes", false, "the processes that are followed", nil, "", []result200{{http.StatusOK, mediaJSON, "living ones first, newest first", []any{ProcessList{}}}}, (*Agent).serveProcesses},
		{"GET", "/api/v1/programs", false, "the Go programs of this machine that are not followed", nil, "", []result200{{http.StatusOK, mediaJSON, "a row for each, the newest first", []any{GoProgramList{}}}}, (*Agent).servePrograms},
		{"POST", "/api/v1/programs/{pid}/follow", true, "follow the goroutines of one of them, read in its memory", nil, "", []result200{{http.StatusOK, mediaJSON, "the process", []any{ProcessRow{}}}}, (*Agent).serveFollow},
		{"GET", "/api/v1/overview", false, "the processes that this agent follows itself, with what they are compared by", nil, "", []result200{{http.StatusOK, mediaJSON, "living ones first, newest first", []any{Overview{}}}}, (*Agent).serveOverview},
		{"GET", ofProcess, false, "one process, and where there is more", nil, "", []result200{{http.StatusOK, mediaJSON, "the process", []any{ProcessPage{}}}}, (*Agent).serveProcess},
		{"GET", ofProcess + "/dump", false, "a fresh snapshot of the threads; of a process that is gone the last", inDump, "", dumpResults(), (*Agent).serveDump},
		{"GET", ofProcess + "/groups/{group}", false, "the threads of one group: its key, also while it has none, or the beginning of it, or N for the Nth largest", inFold, "", documentOf("the group", dump.GroupReport{}), (*Agent).serveGroup},
		{"POST", ofProcess + "/groups/{group}/mark", true, "say what is thought of a group, in the file of --marks", nil, "good, suspicious or none, and maybe # and a note", []result200{{http.StatusOK, mediaJSON, "the mark", []any{MarkRow{}}}}, (*Agent).serveMark},
		{"GET", ofProcess + "/diff", false, "what became of scopes and groups from one moment to another, of the process or of two", inDiff, "", documentOf("the diff", dump.Diff{}), (*Agent).serveDiff},
		{"GET", ofProcess + "/threads/{thread}", false, "one thread, by its number", append([]string{"at"}, inText...), "", documentOf("the thread", dump.ThreadReport{}), (*Agent).serveThread},
		{"GET", ofProcess + "/threads/{thread}/events", false, "what is still known of what one thread did, also of one that has ended, and all else of one that is there", append([]string{"at"}, inText...), "", documentOf("the newest events, top of them", dump.ThreadEvents{}), (*Agent).serveThreadEvents},
		{"GET", ofProcess + "/waits", false, "who waits for whom: deadlocks first", inWaits, "", documentOf("the waits", dump.Waits{}), (*Agent).serveWaits},
		{"GET", ofProcess + "/schedulers", false, "the schedulers: figures, delays, carriers, where threads were pinned", inText, "", documentOf("the schedulers", dump.Schedulers{}), (*Agent).serveSchedulers},
		{"GET", ofProcess + "/durable", false, "the durable threads of its keepers, which it is asked for; of one that does not answer, as its store's folder has them", inDurable, "", documentOf("how many do what, and some of them", dump.Durables{}), (*Agent).serveDurables},
		{"GET", ofProcess + "/durable/{thread...}", false, "the history of one durable thread, by its id", inHistory, "", documentOf("its steps, the newest top of them", dump.DurableThread{}), (*Agent).serveDurable},
		{"GET", ofProcess + "/findings", false, "what the checks find, by two looks at a process that runs", inChecks, "", documentOf("the findings", dump.Findings{}), (*Agent).serveFindings},
		{"GET", ofProcess + "/settings", false, "what the recorder records of each kind of events, or recorded at a moment", append([]string{"at"}, inText...), "", documentOf("the settings", dump.RecorderSettings{}), (*Agent).serveSettings},
		{"POST", ofProcess + "/settings", true, "change that while it runs: all changes, or none", inText, "lines of changes such as park.stack=off; the first may be settings = profile, which the others change", documentOf("the settings then", dump.RecorderSettings{}), (*Agent).serveChange},
		{"POST", ofProcess + "/recording", true, "record all that it does for a while", []string{"for", "held", "as"}, "", []result200{{http.StatusOK, mediaBinary, "the recording, as it is made (" + recording.Extension + "), or in another form", nil}}, (*Agent).serveRecording},
		{"GET", ofProcess + "/recording", false, "of a recording, or a bundle with one, that is shown: what it holds of events", []string{"as"}, "", []result200{{http.StatusOK, mediaBinary, "the recording", nil}}, (*Agent).serveTape},
		{"GET", ofProcess + "/exports", false, "what can be taken away of it, and what that costs", []string{"for"}, "", []result200{{http.StatusOK, mediaJSON, "a row for each way", []any{Exports{}}}}, (*Agent).serveExports},
		{"GET", "/remote/{host}/{rest...}", false, "the page for a remote agent; api/, ws and pprof/ below it are passed on", remoteParams, "", anything, (*Agent).serveRemote},
		{"POST", "/remote/{host}/{rest...}", true, "what changes something at a remote agent", remoteParams, "", anything, (*Agent).serveRemote},
		{"POST", ofProcess + "/incident", true, "take an incident bundle", nil, "", []result200{{http.StatusCreated, mediaJSON, "what was taken", []any{BundleRow{}}}}, (*Agent).serveIncident},
		{"GET", "/api/v1/incidents", false, "the incident bundles that are kept, the newest first", nil, "", []result200{{http.StatusOK, mediaJSON, "a row for each", []any{IncidentList{}}}}, (*Agent).serveIncidents},
		{"GET", "/api/v1/incidents/{incident}", false, "a bundle, whole", nil, "", []result200{{http.StatusOK, mediaBinary, "the bundle, a zip file (" + incident.Ending + ")", nil}}, (*Agent).serveBundle},
		{"POST", "/api/v1/incidents/{incident}/open", true, "show a bundle among the processes", nil, "", []result200{{http.StatusOK, mediaJSON, "the process", []any{ProcessRow{}}}}, (*Agent).serveOpen},
	}
}

// dumpResults are the formats of a dump, by media type.
func dumpResults() []result200 {
	out := []result200{{http.StatusOK, mediaJSON, "", []any{dump.Snapshot{}, dump.Table{}, jdkSchema}}}
	for _, f := range formats {
		i := slices.IndexFunc(out, func(r result200) bool { return r.media == f.media })
		if i < 0 {
			out = append(out, result200{http.StatusOK, f.media, "", nil})
			i = len(out) - 1
		}
		out[i].about = strings.TrimPrefix(out[i].about+", format="+f.name, ", ")
	}
	return out
}

// mux serves the routes, the page, and what is mounted.
func (a *Agent) mux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.Handle("/", webui.Handler())
	for _, r := range routes {
		mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, q *http.Request) {
			var ask *ask
			var err error
			if !slices.Equal(r.params, remoteParams) {
				ask, err = parseAsk(q, r.params)
			}
			if err == nil {
				err = r.serve(a, w, q, ask)
			}
			if err != nil {
				a.tell(w, q, err)
			}
		})
	}
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "no such path, or not with this method: "+short(r.URL.Path), "GET /api/v1/openapi.json")
	})
	mux.Handle(profilePath, a.profiles())
	for pattern, handler := range a.options.Mount {
		mux.Handle(pattern, handler)
	}
	return mux
}

// reserved are the paths of the agent itself.
var reserved = []string{"/api/", "/ws/", profilePath, "/remote/"}

// checkMounts refuses what would hide a path of the agent, and patterns that ServeMux would panic at.
func checkMounts(mounts map[string]http.Handler) error {
	for _, pattern := range slices.Sorted(maps.Keys(mounts)) {
		switch below := strings.TrimSuffix(pattern, "/") + "/"; {
		case mounts[pattern] == nil:
			return fmt.Errorf("agent: mount %q: no handler", pattern)
		case !strings.HasPrefix(pattern, "/") || strings.ContainsAny(pattern, "{} \t") || strings.Contains(pattern, "//"):
			return fmt.Errorf("agent: mount %q: not of the form /path or /path/", pattern)
		case pattern == "/" || slices.ContainsFunc(reserved, func(r string) bool { return strings.HasPrefix(below, r) }):
			return fmt.Errorf("agent: mount %q: the agent serves that itself", pattern)
		}
	}
	return nil
}
