package dump

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// A Document is a JSON document: its format, and a value of the struct that it is made of.
type Document struct {
	Format string
	Of     any
}

// documents are all JSON documents of this package.
var documents = []Document{
	{Format, Snapshot{}},
	{TableFormat, Table{}},
	{GroupFormat, GroupReport{}},
	{ThreadFormat, ThreadReport{}},
	{ThreadEventsFormat, ThreadEvents{}},
	{DiffFormat, Diff{}},
	{SchedulersFormat, Schedulers{}},
	{WaitsFormat, Waits{}},
	{FindingsFormat, Findings{}},
	{VerdictFormat, Verdict{}},
	{SettingsFormat, RecorderSettings{}},
	{DurablesFormat, Durables{}},
	{DurableThreadFormat, DurableThread{}},
}

// A plainAs tells what types that write their JSON themselves look like in it.
var plainAs = map[reflect.Type]reflect.Type{
	reflect.TypeFor[Counts]():       reflect.TypeFor[map[string]int](),
	reflect.TypeFor[ChangeCounts](): reflect.TypeFor[map[string]int](),
	reflect.TypeFor[Figures]():      reflect.TypeFor[map[string]uint64](),
	reflect.TypeFor[Reasons]():      reflect.TypeFor[map[string]int](),
	reflect.TypeFor[Group]():        reflect.TypeFor[groupJSON](),
	reflect.TypeFor[Histogram]():    reflect.TypeFor[histogramJSON](),
	reflect.TypeFor[Carrier]():      reflect.TypeFor[carrierJSON](),
	reflect.TypeFor[PinSite]():      reflect.TypeFor[pinSiteJSON](),
	reflect.TypeFor[Incident]():     reflect.TypeFor[incidentJSON](),
}

// Schema returns the JSON Schema (2020-12) of the documents of this package and of more: docs/dump.schema.json has those that vtdump --json prints. A member that is not in "required" may be absent. Members may come that
// it does not name yet: versions change only when a member goes or means something else.
func Schema(more ...Document) ([]byte, error) {
	s := &schema{defs: map[string]any{}}
	var all []any
	for _, d := range slices.Concat(documents, more) {
		name := s.define(reflect.TypeOf(d.Of))
		def := s.defs[name].(map[string]any)
		def["properties"].(map[string]any)["format"] = map[string]any{"const": d.Format}
		all = append(all, ref(name))
	}
	if len(s.unknown) > 0 {
		return nil, fmt.Errorf("dump: schema: nothing is known of the JSON of %s", strings.Join(s.unknown, ", "))
	}
	b, err := json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "what vtdump --json prints",
		"anyOf":   all,
		"$defs":   s.defs,
	}, "", " ")
	return append(b, '\n'), err
}

// Definitions returns the schemas of documents and of all that they are made of, by name, for a schema of somebody else's: references are "#/$defs/" and a name. A document is a struct of
// any package.
func Definitions(documents ...any) (map[string]any, error) {
	s := &schema{defs: map[string]any{}}
	for _, d := range documents {
		s.define(reflect.TypeOf(d))
	}
	if len(s.unknown) > 0 {
		return nil, fmt.Errorf("dump: schema: nothing is known of the JSON of %s", strings.Join(s.unknown, ", "))
	}
	return s.defs, nil
}

type schema struct {
	defs    map[string]any // by name; nil while they are made
	types   map[string]reflect.Type
	unknown []string
}

func ref(name string) map[string]any { return map[string]any{"$ref": "#/$defs/" + name} }

// define makes the definition of a struct, and returns its name.
func (s *schema) define(t reflect.Type) string {
	name := strings.TrimSuffix(t.Name(), "JSON")
	if _, known := s.defs[name]; known {
		if s.types[name] != t {
			s.unknown = append(s.unknown, t.String()+" beside "+s.types[name].String())
		}
		return name
	}
	if s.types == nil {
		s.types = map[string]reflect.Type{}
	}
	s.types[name] = t
	s.defs[name] = nil
	properties, required := map[string]any{}, []string{}
	s.members(t, properties, &required)
	s.defs[name] = map[string]any{"type": "object", "properties": properties, "required": required}
	return name
}

// members adds those of a struct, and of structs that are embedded in it.
func (s *schema) members(t reflect.Type, properties map[string]any, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && tag == "":
			s.members(f.Type, properties, required)
			continue
		case !f.IsExported() || tag == "-":
			continue
		case tag == "":
			tag = f.Name
		}
		properties[tag] = s.of(f.Type)
		if !strings.Contains(options, "omit") {
			*required = append(*required, tag)
		}
	}
}

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// of returns the schema of a type.
func (s *schema) of(t reflect.Type) map[string]any {
	if as, ok := plainAs[t]; ok {
		t = as
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[json.RawMessage]():
		return map[string]any{} // what somebody else's program has made of it
	case t.Implements(textMarshaler):
		return map[string]any{"type": "string"}
	case t.Implements(marshaler) && t.Kind() != reflect.Pointer:
		s.unknown = append(s.unknown, t.String())
	}
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer"}
	case reflect.Pointer:
		return map[string]any{"anyOf": []any{s.of(t.Elem()), map[string]any{"type": "null"}}}
	case reflect.Slice, reflect.Array:
		return map[string]any{"type": []string{"array", "null"}, "items": s.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return ref(s.define(t))
	}
	s.unknown = append(s.unknown, t.String())
	return nil
}
