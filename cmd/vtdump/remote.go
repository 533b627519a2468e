package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vtscope/vtscope/agent/access"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/recording"
)

// A remote is an agent, and the process there that a target names.
type remote struct {
	address string // as access.ClientOptions has it
	process string // key, pid or program; "" if the target names none
	at      string // the moment that the target names; "": now
	client  *access.Client
	command *settings
}

// remoteFlags are what flags say of the way to an agent.
type remoteFlags struct {
	tokenFile, ca, cert, key string
}

var (
	hostPort = regexp.MustCompile(`^(\[[0-9a-fA-F:.%]+\]|[A-Za-z0-9_.-]+):[0-9]{1,5}(/.*)?$`)
	ofURL    = regexp.MustCompile(`^[0-9]+(-[0-9]+)?$`) // the last part of a URL's path that names a process
)

// isRemote reports whether a target is an agent's address.
func isRemote(target string) bool { return isAddress(target) && !isPprof(target) }

// isAddress reports whether a target is an address at all.
func isAddress(target string) bool {
	if strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://") || strings.HasPrefix(target, "unix:") {
		return true
	}
	if !hostPort.MatchString(target) {
		return false
	}
	_, err := os.Lstat(target)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// splitRemote splits a target into the address of an agent, the process there, and the moment: HOST:PORT/PID@MOMENT, a URL that ends so, or one that the page shows.
func splitRemote(target string) (address, process, at string) {
	address, fragment, _ := strings.Cut(target, "#")
	if values, err := url.ParseQuery(fragment); err == nil && values.Get("process") != "" {
		return strings.TrimSuffix(address, "/"), values.Get("process"), values.Get("at")
	}
	if strings.HasPrefix(target, "unix:") {
		return target, "", ""
	}
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		rest = address
	}
	rest = strings.TrimSuffix(rest, "/")
	if i := strings.LastIndexByte(rest, '/'); i >= 0 {
		// Programs have their agent at a path. HOST:PORT/NAME has none.
		last, moment, _ := strings.Cut(rest[i+1:], "@")
		if ofURL.MatchString(last) || strings.HasSuffix(rest[:i], withinProgram) || !ok && !strings.Contains(rest[:i], "/") {
			rest, process, at = rest[:i], last, moment
		}
	}
	if !ok {
		return rest, process, at
	}
	return scheme + "://" + rest, process, at
}

// errNoAgent says that something else answers.
var errNoAgent = errors.New("this is no vtscope agent")

// withinProgram is where a program has its agent, unless it says otherwise.
const withinProgram = "/debug/vt"

// overNetwork are the commands that can ask an agent.
const overNetwork = commandThreads | commandScheduler | commandWaits | commandFindings | commandSettings | commandRecord | commandIncident | commandDiff | commandDurable

// overHTTP are those, and the ones that ask package net/http/pprof.
const overHTTP = overNetwork | ofPprof

// openRemote connects to nothing so far.
func (s *settings) openRemote(target string) (*remote, error) {
	address, process, at := splitRemote(target)
	host, path := address, ""
	if !strings.Contains(address, "://") && !strings.HasPrefix(address, "unix:") {
		if i := strings.IndexByte(address, '/'); i >= 0 {
			host, path = address[:i], address[i:]
		}
	}
	client, err := s.remote.client(host)
	if err == nil && path != "" {
		base := client.URL("")
		client.Close()
		client, err = s.remote.client(base + path)
	}
	if err != nil {
		var no *access.Refusal
		if errors.As(err, &no) {
			return nil, hint{err, no.Try}
		}
		return nil, hint{err, "vtdump HOST:PORT, or https://HOST:PORT; --token-file, --ca, --cert and --key name files"}
	}
	return &remote{address, process, at, client, s}, nil
}

func (f *remoteFlags) client(address string) (*access.Client, error) {
	return access.NewClient(access.ClientOptions{Address: address, TokenFile: f.tokenFile, CA: f.ca, Certificate: f.cert, Key: f.key})
}

// within aims at the agent that a program has beside what else it serves, if the target names no path. It reports whether there is another place to ask.
func (r *remote) within() bool {
	base, err := url.Parse(r.client.URL(""))
	if err != nil || base.Path != "" || strings.HasPrefix(r.address, "unix:") {
		return false
	}
	client, err := r.command.remote.client(base.String() + withinProgram)
	if err != nil {
		return false
	}
	r.client.Close()
	r.client, r.address = client, r.address+withinProgram
	return true
}

func (r *remote) close() { r.client.Close() }

// ask asks the agent. The body is the caller's to close.
func (r *remote) ask(ctx context.Context, method, path string, query url.Values, body string) (*http.Response, error) {
	at := r.client.URL(path)
	if len(query) > 0 {
		at += "?" + query.Encode()
	}
	q, err := http.NewRequestWithContext(ctx, method, at, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		q.Header.Set("Content-Type", "text/plain; charset=utf-8")
	}
	answer, err := r.client.HTTP().Do(q)
	if err != nil {
		return nil, r.unreachable(err)
	}
	if answer.StatusCode < 300 {
		return answer, nil
	}
	defer answer.Body.Close()
	media, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if address := r.address; answer.StatusCode == http.StatusNotFound && media != "application/json" && r.within() {
		again, err := r.ask(ctx, method, path, query, body)
		if !errors.Is(err, errNoAgent) {
			return again, err
		}
		r.address = address
	}
	return nil, r.refused(answer, path)
}

// unreachable adds the next step to an error of a connection.
func (r *remote) unreachable(err error) error {
	return withStep(r.client.Unreachable(r.address, err, "vtserve on that machine; or ssh -L 7070:127.0.0.1:7070 HOST and then 127.0.0.1:7070"))
}

// refused tells why an agent did not do what it was asked. What it says is not trusted.
func (r *remote) refused(answer *http.Response, path string) error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	var problem struct{ Error, Try string }
	media, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if media != "application/json" || json.Unmarshal(text, &problem) != nil || problem.Error == "" {
		if err := access.Explain(answer.StatusCode, ""); err != nil {
			var no *access.Refusal
			errors.As(err, &no)
			return hint{fmt.Errorf("%s: %w", r.address, err), no.Try}
		}
		return hint{fmt.Errorf("%s: it answers %q for %s: %w", r.address, answer.Status, path, errNoAgent), "the address that vtserve prints, or http://HOST:PORT/debug/vt of a program with agent/auto"}
	}
	if err := access.Explain(answer.StatusCode, problem.Error); err != nil {
		var no *access.Refusal
		errors.As(err, &no)
		return hint{fmt.Errorf("%s: %w", r.address, err), no.Try}
	}
	if problem.Try == "GET /api/v1/processes" {
		problem.Try = "vtdump " + r.address + ", for a list"
	}
	return hint{fmt.Errorf("%s: %s", r.address, dump.Cut(problem.Error, 300)), dump.Cut(problem.Try, 300)}
}

// processes returns those that the agent follows.
func (r *remote) processes(ctx context.Context) ([]remoteRow, error) {
	answer, err := r.ask(ctx, "GET", "/api/v1/processes", nil, "")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var list struct{ Processes []remoteRow }
	if err := json.NewDecoder(io.LimitReader(answer.Body, 16<<20)).Decode(&list); err != nil {
		return nil, hint{fmt.Errorf("%s: a list that is none: %w", r.address, err), "the address that vtserve prints"}
	}
	return list.Processes, nil
}

// A remoteRow is a process that an agent follows.
type remoteRow struct {
	Key     string `json:"key"`
	PID     int    `json:"pid"`
	Program string `json:"program"`
	Status  string `json:"status"`
	Host    string `json:"host"`
	Started int64  `json:"started"`
	Gone    int64  `json:"gone"`
	Threads int    `json:"threads"`
}

// choose returns the path of the process that is meant: that of the target, or else the only one that lives. The rows are those there are, if none is meant.
func (r *remote) choose(ctx context.Context) (path string, rows []remoteRow, err error) {
	rows, err = r.processes(ctx)
	if err != nil {
		return "", nil, err
	}
	var live, gone []remoteRow
	for _, row := range rows {
		switch {
		case r.process != "" && r.process != row.Key && r.process != strconv.Itoa(row.PID) && r.process != row.Program:
		case row.Gone == 0:
			live = append(live, row)
		default:
			gone = append(gone, row)
		}
	}
	chosen := live
	if len(live) == 0 {
		chosen = gone
	}
	switch {
	case len(chosen) == 1:
		return "/api/v1/processes/" + url.PathEscape(chosen[0].Key), nil, nil
	case r.process == "":
		return "", rows, nil
	case len(chosen) == 0:
		return "", nil, hint{fmt.Errorf("%s: it follows no process %s", r.address, r.process), "vtdump " + r.address + ", for a list"}
	}
	return "", nil, r.ambiguous(fmt.Sprintf("%s: %d processes are called so", r.process, len(chosen)), chosen)
}

func (r *remote) ambiguous(what string, rows []remoteRow) error {
	var tries []string
	for i, row := range rows {
		if i == 5 {
			tries = append(tries, fmt.Sprintf("vtdump %s   (lists all, %d more)", r.address, len(rows)-i))
			break
		}
		tries = append(tries, fmt.Sprintf("%s %s/%s   (%s, %s, %s)", r.command.call(), r.address, row.Key, dump.Printable(row.Program), dump.Count(row.Threads, "thread"), row.Status))
	}
	if len(tries) == 0 {
		tries = []string{"start a program that uses vtscope there; vtserve finds it by itself"}
	}
	return hint{fmt.Errorf("%s: %s", r.address, what), strings.Join(tries, "\n     ")}
}

// overNetwork does a command with a process of an agent as its target.
func (s *settings) overNetwork(ctx context.Context, w world) error {
	path, ok := map[command]string{
		commandThreads: "/dump", commandScheduler: "/schedulers", commandWaits: "/waits", commandFindings: "/findings", commandSettings: "/settings",
		commandRecord: "/recording", commandIncident: "/incident", commandDurable: "/durable",
	}[s.command]
	if !ok {
		try := "vtdump record " + s.target + " --for 10s -o run" + recording.Extension + ", and then " + s.call() + " of that"
		switch s.command {
		case commandTop:
			try = "vtdump --watch " + s.target
		case commandCheck, commandWatch, commandMark, commandOpen:
			try = s.call() + " there"
		}
		return usageError{fmt.Sprintf("%s is an agent's address, and %s needs a process, or a file, of this machine", s.target, formOf(s.command).word), try}
	}
	for _, row := range s.used {
		switch row.name {
		case "locals", "events", "memory", "stop", "mounted", "exe", "last", "max-age", "max-size", "dir", "budget", "without":
			return usageError{fmt.Sprintf("--%s needs a process of this machine", row.name), s.call() + " there, or " + s.call() + " " + s.target + " without it"}
		}
	}
	r, err := s.openRemote(s.target)
	if err != nil {
		return err
	}
	defer r.close()
	process, rows, err := r.choose(ctx)
	switch {
	case err != nil:
		return err
	case process == "" && s.command == commandThreads && s.drill.thread == 0 && s.drill.group == "":
		return s.listRemote(w, rows)
	case process == "":
		return r.ambiguous(fmt.Sprintf("%d processes: which?", len(rows)), rows)
	}
	switch s.command {
	case commandRecord:
		return s.recordRemote(ctx, w, r, process+path)
	case commandIncident:
		return s.incidentRemote(ctx, w, r, process+path)
	case commandThreads:
		switch {
		case s.marks.file != "":
			snap, err := s.snapshotRemote(ctx, r, process)
			if err != nil {
				return err
			}
			return s.printFolded(w, "an agent's answer", snap)
		case s.drill.thread != 0:
			path = fmt.Sprintf("/threads/%d", s.drill.thread)
		case s.drill.group != "":
			path = "/groups/" + url.PathEscape(s.drill.group)
		}
	}
	method, body := "GET", ""
	switch {
	case len(s.more) == 0:
	case s.command == commandDurable:
		path += "/" + url.PathEscape(s.more[0])
	default:
		method = "POST"
		if body, err = changesOf(s.more); err != nil {
			return err
		}
	}
	query := s.query(w)
	if r.at != "" {
		if s.command != commandThreads || s.drill.thread != 0 {
			return usageError{"a moment of the past is kept by groups of threads", "vtdump " + s.target + ", or a recording: vtdump record"}
		}
		query.Set("at", r.at)
	}
	answer, err := r.ask(ctx, method, process+path, query, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if _, err := io.Copy(w.stdout, answer.Body); err != nil {
		return fmt.Errorf("%s: the answer breaks off: %w", r.address, err)
	}
	if n, _ := strconv.Atoi(answer.Header.Get("Vtscope-Found")); n > 0 {
		return errFound
	}
	return nil
}

// query says what flags say in the words of the interface.
func (s *settings) query(w world) url.Values {
	q := url.Values{"format": {s.format}}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	number := func(name string, n int) {
		if n != unset {
			q.Set(name, strconv.Itoa(n))
		}
	}
	number("top", s.top)
	number("depth", s.depth)
	if s.width > 0 {
		number("width", s.width)
	}
	for name, on := range map[string]bool{"internal": s.internal, "used": s.spent, "ascii": s.ascii, "color": s.format == "text" && s.colored(w)} {
		if on {
			q.Set(name, "true")
		}
	}
	if s.growth > 0 {
		set("growth", s.growth.String())
	}
	switch s.command {
	case commandThreads:
		if s.drill.thread != 0 {
			break
		}
		set("filter", s.filter.String())
		if s.similar != dump.SameLines {
			set("similar", s.similar.String())
		}
		if s.templates {
			set("templates", "true")
		}
		var by []string
		for _, d := range s.by {
			by = append(by, d.Name)
		}
		set("by", strings.Join(by, ","))
		set("at", s.at)
	case commandDurable:
		if len(s.more) > 0 {
			if s.durable.values {
				set("values", "true")
			}
			break
		}
		set("filter", s.filter.String())
		if s.durable.sort != nil {
			set("sort", s.durable.sort.Name)
		}
	case commandFindings:
		for _, off := range s.checks.Off {
			q.Add("check", off+"=off")
		}
		for name, n := range s.checks.Threshold {
			q.Add("check", fmt.Sprintf("%s=%v", name, n))
		}
	}
	return q
}

// snapshotRemote takes a snapshot of a process of an agent.
func (s *settings) snapshotRemote(ctx context.Context, r *remote, process string) (*dump.Snapshot, error) {
	t := *s
	t.format, t.top, t.command = "json", unset, commandThreads
	query := t.query(world{})
	if r.at != "" {
		query.Set("at", r.at)
	}
	answer, err := r.ask(ctx, "GET", process+"/dump", query, "")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: the answer breaks off: %w", r.address, err)
	}
	snap, err := dump.ParseJSON(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.address, err)
	}
	return snap, nil
}

// snapshotOverNetwork is snapshotOf for an agent's address.
func (s *settings) snapshotOverNetwork(ctx context.Context) (*dump.Snapshot, error) {
	r, err := s.openRemote(s.target)
	if err != nil {
		return nil, err
	}
	defer r.close()
	process, rows, err := r.choose(ctx)
	if err == nil && process == "" {
		err = r.ambiguous(fmt.Sprintf("%d processes: which?", len(rows)), rows)
	}
	if err != nil {
		return nil, err
	}
	return s.snapshotRemote(ctx, r, process)
}

// remoteListFormat names the JSON document of the processes that an agent follows.
const remoteListFormat = "vtscope/remote-processes/v1"

// A remoteProcessesDoc is the list of an agent.
type remoteProcessesDoc struct {
	Format    string      `json:"format"` // always [remoteListFormat]
	Processes []remoteRow `json:"processes"`
}

// listRemote prints the processes that an agent follows.
func (s *settings) listRemote(w world, rows []remoteRow) error {
	if s.format == "json" {
		if rows == nil {
			rows = []remoteRow{}
		}
		b, err := json.MarshalIndent(remoteProcessesDoc{remoteListFormat, rows}, "", " ")
		if err != nil {
			return err
		}
		return written(w.stdout.Write(append(b, '\n')))
	}
	if len(rows) == 0 {
		fmt.Fprint(w.stderr, "the agent follows no process\n    try: start a program that uses vtscope there; the agent finds it by itself\n")
		return nil
	}
	now := w.now()
	cells := [][]string{{"PROCESS", "PROGRAM", "AGE", "THREADS", "STATUS"}}
	for _, row := range rows {
		status, end := row.Status, now
		if row.Gone > 0 {
			end = time.UnixMilli(row.Gone)
			status += ", last seen " + dump.Span(max(now.Sub(end), 0)) + " ago"
		}
		name := row.Program
		if row.Host != "" {
			name += " on " + row.Host
		}
		cells = append(cells, []string{row.Key, dump.Cut(dump.Printable(name), 40), dump.Span(max(end.Sub(time.UnixMilli(row.Started)), 0)), dump.Thousands(row.Threads), dump.Printable(status)})
	}
	return written(w.stdout.Write([]byte(columns(cells, s))))
}

// recordRemote writes a recording that an agent makes.
func (s *settings) recordRemote(ctx context.Context, w world, r *remote, path string) (err error) {
	if s.recording.during == 0 {
		return usageError{"record of an agent's process needs --for", s.call() + " " + s.target + " --for 10s"}
	}
	name := s.exporting.output
	if name == "" {
		name = "recording" + recording.Extension
	}
	answer, err := r.ask(ctx, "POST", path, url.Values{"for": {s.recording.during.String()}}, "")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	store, err := recording.Create(name, recording.Limits{})
	if err != nil {
		return hint{err, "-o FILE, another name"}
	}
	n, err := io.Copy(store, answer.Body)
	if closed := store.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return hint{fmt.Errorf("%s: %w", name, err), "what came before can be read: vtdump replay " + name}
	}
	if s.format == "json" {
		b, err := json.Marshal(map[string]any{"format": recordFormat, "file": name, "bytes": n})
		if err != nil {
			return err
		}
		return written(w.stdout.Write(append(b, '\n')))
	}
	return written(fmt.Fprintf(w.stdout, "%s: %s; vtdump replay %s\n", dump.Printable(name), dump.Count(int(n), "byte"), dump.Printable(name)))
}

// incidentRemote has an agent take a bundle, which stays there.
func (s *settings) incidentRemote(ctx context.Context, w world, r *remote, path string) error {
	answer, err := r.ask(ctx, "POST", path, nil, "")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	var text bytes.Buffer
	var bundle struct{ ID, Path string }
	if _, err := io.Copy(&text, io.LimitReader(answer.Body, 1<<20)); err != nil || json.Unmarshal(text.Bytes(), &bundle) != nil {
		return fmt.Errorf("%s: an answer that is none", r.address)
	}
	if s.format == "json" {
		return written(w.stdout.Write(text.Bytes()))
	}
	return written(fmt.Fprintf(w.stdout, "incident %s is at %s, in %s\n", dump.Printable(bundle.ID), r.address, dump.Printable(bundle.Path)))
}
