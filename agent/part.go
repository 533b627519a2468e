package agent

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"weak"
)

// A part is an encoded member of a frame. It does not change, but for the delta that it remembers; any number of clients may have it.
type part struct {
	json   []byte
	fields []field // of an object, but for its rows
	rows   []row   // of an object with rows, or of a list
	list   bool    // it is a list
	apart  bool    // it has rows

	delta struct {
		sync.Mutex
		from weak.Pointer[part] // the last one that a client had; weak, or each part would keep all before it
		json []byte
	}
}

// A field is an encoded member of an object.
type field struct {
	name string
	json []byte
}

// A row is an encoded row with what tells it from the others.
type row struct {
	key    string
	fields []field
}

// newPart encodes x, a pointer to a struct or a slice of structs; nil gives nil. Members named in key tell rows from each other; a part without key is sent as a whole.
func newPart(x any, key []string) *part {
	v := reflect.ValueOf(x)
	if !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice) && v.IsNil() {
		return nil
	}
	if key == nil {
		return &part{json: encode(v)}
	}
	if v = reflect.Indirect(v); v.Kind() == reflect.Slice {
		p := &part{list: true, apart: true}
		p.addRows(v, key)
		p.json = appendRows(nil, p.rows)
		return p
	}
	p := &part{}
	out := []byte{'{'}
	visitFields(v, func(name string, f reflect.Value) {
		out = appendName(out, name)
		if name == "rows" && len(key) > 0 {
			p.apart = true
			p.addRows(f, key)
			out = appendRows(out, p.rows)
			return
		}
		p.fields = append(p.fields, field{name, encode(f)})
		out = append(out, p.fields[len(p.fields)-1].json...)
	})
	p.json = append(out, '}')
	return p
}

func (p *part) addRows(all reflect.Value, key []string) {
	for i := range all.Len() {
		var r row
		var k strings.Builder
		visitFields(all.Index(i), func(name string, f reflect.Value) {
			r.fields = append(r.fields, field{name, encode(f)})
			if slices.Contains(key, name) {
				k.Write(r.fields[len(r.fields)-1].json)
				k.WriteByte(0)
			}
		})
		r.key = k.String()
		p.rows = append(p.rows, r)
	}
}

// visitFields calls f with the members of a struct, those of embedded structs among them, as encoding/json has them.
func visitFields(v reflect.Value, f func(name string, v reflect.Value)) {
	t := v.Type()
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		switch {
		case t.Field(i).Anonymous && name == "":
			visitFields(v.Field(i), f)
		case name != "" && !(strings.Contains(options, "omitempty") && v.Field(i).IsZero()):
			f(name, v.Field(i))
		}
	}
}

// encode is JSON of what the protocol is made of, which has no value that cannot be encoded.
func encode(v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		return strconv.AppendInt(nil, v.Int(), 10)
	case reflect.Uint64:
		return strconv.AppendUint(nil, v.Uint(), 10)
	case reflect.Bool:
		return strconv.AppendBool(nil, v.Bool())
	}
	b, err := json.Marshal(v.Interface())
	if err != nil {
		return []byte("null")
	}
	return b
}

func appendName(out []byte, name string) []byte {
	if c := out[len(out)-1]; c != '{' {
		out = append(out, ',')
	}
	return append(strconv.AppendQuote(out, name), ':')
}

func appendFields(out []byte, fields []field) []byte {
	out = append(out, '{')
	for i := range fields {
		out = append(appendName(out, fields[i].name), fields[i].json...)
	}
	return append(out, '}')
}

func appendRows(out []byte, rows []row) []byte {
	out = append(out, '[')
	for i := range rows {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendFields(out, rows[i].fields)
	}
	return append(out, ']')
}

// same reports whether two parts are equal. Each may be nil.
func (p *part) same(q *part) bool {
	return p == q || p != nil && q != nil && bytes.Equal(p.json, q.json)
}

// from returns how p differs from what a client has, in the form of docs/protocol.md; nil if that saves too little.
func (p *part) from(old *part) []byte {
	if old == nil || p.fields == nil && p.rows == nil && !p.list || p.list != old.list {
		return nil
	}
	p.delta.Lock()
	defer p.delta.Unlock()
	if p.delta.from == weak.Make(old) {
		return p.delta.json
	}
	var out []byte
	if p.list {
		out = appendDeltaRows(nil, old.rows, p.rows)
	} else {
		out = append(out, '{')
		for _, f := range changed(old.fields, p.fields) {
			out = append(appendName(out, f.name), f.json...)
		}
		if p.apart {
			if rows := appendDeltaRows(nil, old.rows, p.rows); len(p.rows) != len(old.rows) || !allSame(rows, len(p.rows)) {
				out = append(appendName(out, "rows"), rows...)
			}
		}
		out = append(out, '}')
	}
	if 3*len(out) > 2*len(p.json) {
		out = nil
	}
	p.delta.from, p.delta.json = weak.Make(old), out
	return out
}

// changed are the fields of fresh that differ from those of old.
func changed(old, fresh []field) (all []field) {
	for i, f := range fresh {
		if i < len(old) && old[i].name == f.name {
			if !bytes.Equal(old[i].json, f.json) {
				all = append(all, f)
			}
			continue
		}
		if at := slices.IndexFunc(old, func(o field) bool { return o.name == f.name }); at < 0 || !bytes.Equal(old[at].json, f.json) {
			all = append(all, f)
		}
	}
	return all
}

// lacks reports whether old has a member that fresh has not: such a row is sent as a whole.
func lacks(old, fresh []field) bool {
	return slices.ContainsFunc(old, func(o field) bool { return !slices.ContainsFunc(fresh, func(f field) bool { return f.name == o.name }) })
}

// appendDeltaRows appends fresh as a list made from old: a run [i, n] of rows from i on that are the same, [i, {…}] for row i with members that changed, and whole
// rows that are new.
func appendDeltaRows(out []byte, old, fresh []row) []byte {
	at := make(map[string]int, len(old))
	for i := range old {
		at[old[i].key] = i
	}
	first, n := 0, 0 // the run that is not written yet
	out = append(out, '[')
	comma := func() {
		if out[len(out)-1] != '[' {
			out = append(out, ',')
		}
	}
	flush := func() {
		if n > 0 {
			comma()
			out = append(out, '[')
			out = strconv.AppendInt(out, int64(first), 10)
			out = append(out, ',')
			out = strconv.AppendInt(out, int64(n), 10)
			out = append(out, ']')
			n = 0
		}
	}
	for i := range fresh {
		was, ok := at[fresh[i].key]
		var diff []field
		if ok {
			if ok = !lacks(old[was].fields, fresh[i].fields); ok {
				diff = changed(old[was].fields, fresh[i].fields)
			}
		}
		switch {
		case !ok:
			flush()
			comma()
			out = appendFields(out, fresh[i].fields)
		case len(diff) == 0 && n > 0 && was == first+n:
			n++
		case len(diff) == 0:
			flush()
			first, n = was, 1
		default:
			flush()
			comma()
			out = append(out, '[')
			out = strconv.AppendInt(out, int64(was), 10)
			out = append(out, ',')
			out = appendFields(out, diff)
			out = append(out, ']')
		}
	}
	flush()
	return append(out, ']')
}

// allSame reports whether a delta says that all n rows are as they were.
func allSame(delta []byte, n int) bool {
	return n == 0 && string(delta) == "[]" || string(delta) == "[[0,"+strconv.Itoa(n)+"]]"
}
