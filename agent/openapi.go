package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/vtscope/vtscope/dump"
)

// jdkSchema is what is told of the thread dumps of the JDK, which are not ours.
var jdkSchema = map[string]any{"type": "object", "required": []string{"threadDump"}, "properties": map[string]any{"threadDump": map[string]any{"type": "object"}}}

// pathParams are the variable parts of paths.
var pathParams = map[string]string{
	"pid":    "a process's key, or its pid: of several with that pid the living or newest",
	"group":  "a group's key, the beginning of it (at least 4 digits), or N for the Nth largest",
	"thread": "the number of a thread",

	"incident": "the id of a bundle",
	"rest":     "a path of the remote agent",
	"host":     "the name of a remote agent, as in its rows of processes",
}

// OpenAPI returns the description of the HTTP interface, as OpenAPI 3.1: docs/openapi.json is it.
var OpenAPI = sync.OnceValues(func() ([]byte, error) {
	var documents []any
	documents = append(documents, Problem{})
	paths := map[string]map[string]any{}
	for _, r := range routes {
		op := map[string]any{"summary": r.about, "operationId": operationID(&r), "x-vtscope-role": role(&r)}
		if all := parametersOf(&r); len(all) > 0 {
			op["parameters"] = all
		}
		if r.body != "" {
			op["requestBody"] = map[string]any{"required": true, "description": r.body, "content": map[string]any{"text/plain": map[string]any{"schema": map[string]any{"type": "string"}}}}
		}
		answers := map[string]any{"default": map[string]any{
			"description": "why not, and what to try",
			"content":     map[string]any{mediaJSON: map[string]any{"schema": schemaRef("Problem")}},
		}}
		for _, g := range r.gives {
			status := strconv.Itoa(g.status)
			answer, _ := answers[status].(map[string]any)
			if answer == nil {
				answer = map[string]any{"description": g.about}
				answers[status] = answer
			}
			if g.media == "" {
				continue
			}
			content, _ := answer["content"].(map[string]any)
			if content == nil {
				content = map[string]any{}
				answer["content"] = content
			}
			media, _, _ := strings.Cut(g.media, ";")
			content[media] = map[string]any{"schema": schemaOf(&g, &documents)}
		}
		op["responses"] = answers
		path, _ := strings.CutSuffix(r.path, "...}")
		if path != r.path {
			path += "}"
		}
		if paths[path] == nil {
			paths[path] = map[string]any{}
		}
		paths[path][strings.ToLower(r.method)] = op
	}
	schemas, err := dump.Definitions(documents...)
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	b, err := json.MarshalIndent(map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title": "vtscope agent", "version": "1",
			"description": "What vtserve, and a program with agent/auto, serve beside the page. Members may come that the schemas do not name yet; the version changes only when a member goes or means " +
				"something else. Times of rows are Unix milliseconds; documents have their own, as docs/dump.schema.json tells.",
		},
		"paths":      paths,
		"components": map[string]any{"schemas": schemas},
	}, "", " ")
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	return append(bytes.ReplaceAll(b, []byte("#/$defs/"), []byte("#/components/schemas/")), '\n'), nil
})

func schemaRef(name string) map[string]any { return map[string]any{"$ref": "#/$defs/" + name} }

// schemaOf returns the schema of an answer, and adds what it is made of to documents.
func schemaOf(g *result200, documents *[]any) map[string]any {
	if g.media != mediaJSON {
		return map[string]any{"type": "string"}
	}
	var all []any
	for _, of := range g.of {
		if schema, ok := of.(map[string]any); ok {
			all = append(all, schema)
			continue
		}
		*documents = append(*documents, of)
		name := fmt.Sprintf("%T", of)
		all = append(all, schemaRef(name[strings.LastIndexByte(name, '.')+1:]))
	}
	switch len(all) {
	case 0:
		return map[string]any{"type": "object"}
	case 1:
		return all[0].(map[string]any)
	}
	return map[string]any{"anyOf": all}
}

func parametersOf(r *route) (all []any) {
	for _, part := range strings.Split(r.path, "/") {
		name, ok := strings.CutPrefix(part, "{")
		if !ok {
			continue
		}
		name = strings.TrimSuffix(strings.TrimSuffix(name, "}"), "...")
		all = append(all, map[string]any{"name": name, "in": "path", "required": true, "description": pathParams[name], "schema": map[string]any{"type": "string"}})
	}
	for _, name := range r.params {
		p := paramOf(name)
		if p == nil {
			continue // those of the remote agent
		}
		schema := p.schema
		if p.many {
			schema = map[string]any{"type": "array", "items": schema}
		}
		row := map[string]any{"name": name, "in": "query", "description": p.about, "schema": schema}
		if name == "format" {
			var names []string
			for i := range formats {
				if _, err := formatOf(formats[i].name, documentFormats); err == nil || r.path == ofProcess+"/dump" {
					names = append(names, formats[i].name)
				}
			}
			row["schema"] = map[string]any{"enum": names, "default": "json"}
		}
		all = append(all, row)
	}
	return all
}

func role(r *route) string {
	if r.operate {
		return "operate"
	}
	return "read"
}

// operationID makes "getProcessesPidDump" of a route.
func operationID(r *route) string {
	id := strings.ToLower(r.method)
	for _, word := range strings.FieldsFunc(strings.TrimPrefix(r.path, "/api/v1"), func(c rune) bool { return c == '/' || c == '{' || c == '}' || c == '.' }) {
		id += strings.ToUpper(word[:1]) + word[1:]
	}
	return id
}

func (a *Agent) serveOpenAPI(w http.ResponseWriter, _ *http.Request, _ *ask) error {
	b, err := OpenAPI()
	if err != nil {
		return err
	}
	out := begin(w, mediaJSON, "")
	_, err = out.Write(b)
	return out.end(err)
}
