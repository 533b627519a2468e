package schemacheck

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// An operation is what docs/openapi.json says of a path and a method.
type operation struct {
	Parameters []struct {
		Name, In string
		Required bool
		Schema   struct{ Enum []string }
	}
	RequestBody *struct{ Content map[string]any }
	Responses   map[string]struct{ Content map[string]any }
}

// served is a vtserve that follows a fixture in a deadlock, and one with durable threads.
type served struct{ url, pid, durable string }

func serveFixture(t *testing.T) served {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "schemacheck-")
	if err != nil {
		t.Skipf("this system has no flight files: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	bin := t.TempDir()
	for _, pkg := range []string{"./cmd/vtserve", "./fixtures/deadlock", "./fixtures/errands"} {
		build := exec.Command("go", "build", "-o", bin, pkg)
		build.Dir = top
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", pkg, err, out)
		}
	}
	env := append(os.Environ(), "VTSCOPE_DIR="+dir)
	fixture := exec.Command(filepath.Join(bin, "deadlock"))
	fixture.Env = env
	if err := fixture.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fixture.Process.Kill(); _ = fixture.Wait() })
	errands := exec.Command(filepath.Join(bin, "errands"), "-dir", filepath.Join(bin, "threads"))
	errands.Env = env
	if err := errands.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errands.Process.Kill(); _ = errands.Wait() })
	server := exec.Command(filepath.Join(bin, "vtserve"), "--addr", "127.0.0.1:0", "--incidents", filepath.Join(bin, "incidents"), "--marks", filepath.Join(bin, "vtdump.marks"))
	server.Env = env
	server.Stderr = os.Stderr
	stdout, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	address := regexp.MustCompile(`http://\S+`).FindString(line)
	if err != nil || address == "" {
		t.Fatalf("vtserve said %q, %v; want its address", line, err)
	}
	s := served{address, strconv.Itoa(fixture.Process.Pid), strconv.Itoa(errands.Process.Pid)}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		r, err := http.Get(s.url + "/api/v1/processes/" + s.pid + "/waits?format=text")
		if err == nil {
			body, _ := io.ReadAll(r.Body)
			r.Body.Close()
			if bytes.Contains(body, []byte("wait for each other")) && answersFrom(s.url+"/api/v1/processes/"+s.pid+"/diff?of="+s.pid) &&
				answersFrom(s.url+"/api/v1/processes/"+s.durable+"/durable/order-3") {
				return s // there was a snapshot too
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("the fixture is in no deadlock after a minute: %v", err)
		}
	}
}

func answersFrom(url string) bool {
	r, err := http.Get(url)
	if err != nil {
		return false
	}
	r.Body.Close()
	return r.StatusCode == http.StatusOK
}

// takeIncident takes a bundle and shows it, and returns its id and the key of its process.
func takeIncident(t *testing.T, s served) (id, key string) {
	t.Helper()
	for _, step := range []struct {
		path   string
		member string
		to     *string
	}{{"/api/v1/processes/" + s.pid + "/incident", "id", &id}, {"/api/v1/incidents/%s/open", "key", &key}} {
		path := step.path
		if strings.Contains(path, "%s") {
			path = fmt.Sprintf(path, id)
		}
		r := call(t, s, "post", path, "", path)
		var row map[string]any
		if err := json.Unmarshal(r.body, &row); err != nil || row[step.member] == nil {
			t.Fatalf("%s: status %d: %s", path, r.status, r.body)
		}
		*step.to = row[step.member].(string)
	}
	return id, key
}

// Every operation of the file is called, in every format that it names; the answers are as the file says. That the handlers have no other operations is tested in package agent.
func TestAnswersAreAsTheDescriptionOfTheInterfaceSays(t *testing.T) {
	path := filepath.Join(top, "docs", "openapi.json")
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var description struct {
		OpenAPI string
		Paths   map[string]map[string]operation
	}
	if err := json.Unmarshal(file, &description); err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler() // of OpenAPI 3.1 the schemas are JSON Schema
	if err := compiler.AddResource("openapi.json", document); err != nil || description.OpenAPI != "3.1.0" {
		t.Fatalf("OpenAPI %s: %v", description.OpenAPI, err)
	}
	s := serveFixture(t)
	id, shown := takeIncident(t, s)
	value := map[string]string{"incident": id, "pid": s.pid, "group": "1", "thread": "1", "host": "nowhere:1", "rest": "api/v1/processes"}
	body := map[string]string{"/api/v1/processes/{pid}/settings": "park.stack=on", "/api/v1/processes/{pid}/groups/{group}/mark": "suspicious # of the test"}
	query := map[string]string{"post /api/v1/processes/{pid}/recording": "for=200ms", "/api/v1/processes/{pid}/findings": "growth=100ms", "/api/v1/processes/{pid}/diff": "of=" + s.pid}
	calls, valid := 0, 0
	for template, operations := range description.Paths {
		for method, op := range operations {
			at := template
			if template == "/api/v1/processes/{pid}/recording" && method == "get" { // of what is over
				at = strings.ReplaceAll(at, "{pid}", shown)
			}
			if strings.Contains(template, "/durable") {
				at = strings.NewReplacer("{pid}", s.durable, "{thread}", "order-3").Replace(at)
			}
			formats := []string{""}
			for _, p := range op.Parameters {
				if p.In == "path" {
					at = strings.ReplaceAll(at, "{"+p.Name+"}", url.PathEscape(value[p.Name]))
				}
				if p.Name == "format" {
					formats = p.Schema.Enum
				}
			}
			for _, format := range formats {
				q := cmp.Or(query[template], query[method+" "+template])
				if format != "" {
					q = strings.TrimPrefix(q+"&format="+format, "&")
				}
				calls++
				name := fmt.Sprintf("%s %s?%s", method, at, q)
				text := ""
				if op.RequestBody != nil {
					text = body[template]
				}
				response := call(t, s, method, at+"?"+q, text, name)
				if response == nil {
					continue
				}
				if response.status >= 400 && template != "/ws" && !strings.HasPrefix(template, "/remote/") {
					t.Errorf("%s: status %d: %.200s", name, response.status, response.body)
				}
				if check(t, compiler, template, method, &op, response, name) {
					valid++
				}
			}
		}
	}
	// And what is wrong is answered as the file says of errors.
	for _, at := range []string{"/api/v1/processes/1/dump", "/api/v1/processes/" + s.pid + "/dump?filter=state%3D"} {
		op := description.Paths["/api/v1/processes/{pid}/dump"]["get"]
		response := call(t, s, "get", at, "", at)
		if response.status < 400 || !check(t, compiler, "/api/v1/processes/{pid}/dump", "get", &op, response, at) {
			t.Errorf("%s: status %d, want an error as the file describes it", at, response.status)
		}
	}
	if calls < 30 || valid < 15 {
		t.Errorf("%d calls, of them %d with JSON that was validated; want at least 30 and 15", calls, valid)
	}
}

type response struct {
	status int
	media  string
	body   []byte
}

func call(t *testing.T, s served, method, at, body, name string) *response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, strings.ToUpper(method), s.url+at, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return &response{resp.StatusCode, media, all}
}

// check reports whether an answer was JSON, as the description says. It fails the test if the answer is not as described.
func check(t *testing.T, compiler *jsonschema.Compiler, template, method string, op *operation, r *response, name string) bool {
	t.Helper()
	status := strconv.Itoa(r.status)
	answer, ok := op.Responses[status]
	if !ok {
		status = "default"
		if answer, ok = op.Responses[status]; !ok || r.status < 400 {
			t.Errorf("%s: status %d is not in the description", name, r.status)
			return false
		}
	}
	if _, ok := answer.Content[r.media]; !ok {
		t.Errorf("%s: status %d with %q, and the description has %v", name, r.status, r.media, slices.Collect(keys(answer.Content)))
		return false
	}
	if r.media != "application/json" {
		return false
	}
	pointer := "openapi.json#/paths/" + escape(template) + "/" + method + "/responses/" + status + "/content/application~1json/schema"
	schema, err := compiler.Compile(pointer)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return false
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.body))
	if err == nil {
		err = schema.Validate(document)
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return false
	}
	if m, ok := document.(map[string]any); ok && !strings.HasSuffix(template, "/openapi.json") { // and the check can fail
		for member := range m {
			if schema.Validate(map[string]any{member + "x": 1}) == nil {
				t.Errorf("%s: a document without its members is valid", name)
			}
			break
		}
	}
	return true
}

func escape(s string) string {
	return url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(s))
}

func keys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
