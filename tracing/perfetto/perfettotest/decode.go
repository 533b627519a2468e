package perfettotest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// A record is a decoded message. Values are uint64, int64, bool, float64, string and record.
type record map[string][]any

var errShort = errors.New("the message is cut")

// decode decodes a message of a type of the schema.
func decode(b []byte, of string) (record, error) {
	fields, known := schema[of]
	if !known {
		return nil, fmt.Errorf("%s is not in the schema", of)
	}
	r, chosen := record{}, map[string]string{}
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, fmt.Errorf("%s: %w", of, errShort)
		}
		b = b[n:]
		f, known := fields[tag>>3]
		if !known {
			return nil, fmt.Errorf("%s has no field %d", of, tag>>3)
		}
		if want := f.shape.wire(); tag&7 != want {
			return nil, fmt.Errorf("%s.%s has wire type %d, want %d", of, f.name, tag&7, want)
		}
		v, n, err := f.value(b)
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", of, f.name, err)
		}
		b = b[n:]
		if len(r[f.name]) > 0 && !f.many {
			return nil, fmt.Errorf("%s.%s is there twice", of, f.name)
		}
		if was := chosen[f.oneof]; f.oneof != "" && was != "" {
			return nil, fmt.Errorf("%s has both %s and %s", of, was, f.name)
		}
		chosen[f.oneof] = f.name
		r[f.name] = append(r[f.name], v)
	}
	return r, nil
}

func (s shape) wire() uint64 {
	switch s {
	case eight, double:
		return 1
	case text, raw, message:
		return 2
	}
	return 0
}

// value decodes the value that b begins with, and returns its length.
func (f *fieldOf) value(b []byte) (v any, n int, err error) {
	switch f.shape.wire() {
	case 0:
		w, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, 0, errShort
		}
		switch f.shape {
		case signed:
			return int64(w), n, nil
		case boolean:
			if w > 1 {
				return nil, 0, fmt.Errorf("got %d, want 0 or 1", w)
			}
			return w == 1, n, nil
		}
		return w, n, nil
	case 1:
		if len(b) < 8 {
			return nil, 0, errShort
		}
		w := binary.LittleEndian.Uint64(b)
		if f.shape == double {
			return math.Float64frombits(w), 8, nil
		}
		return w, 8, nil
	}
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, 0, errShort
	}
	body := b[n : n+int(size)]
	n += int(size)
	if f.shape == message {
		r, err := decode(body, f.of)
		return r, n, err
	}
	if f.shape == text && !utf8.Valid(body) {
		return nil, 0, fmt.Errorf("%q is no UTF-8", body)
	}
	return string(body), n, nil
}

// The methods below return a field's value, or the zero value if it is not there.

func (r record) has(name string) bool { return len(r[name]) > 0 }

func first[T any](r record, name string) (v T) {
	if r.has(name) {
		v = r[name][0].(T)
	}
	return v
}

func (r record) uint(name string) uint64   { return first[uint64](r, name) }
func (r record) int(name string) int64     { return first[int64](r, name) }
func (r record) bool(name string) bool     { return first[bool](r, name) }
func (r record) text(name string) string   { return first[string](r, name) }
func (r record) record(name string) record { return first[record](r, name) }
func (r record) uints(name string) (all []uint64) {
	for _, v := range r[name] {
		all = append(all, v.(uint64))
	}
	return all
}
