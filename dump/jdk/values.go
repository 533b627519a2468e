package jdk

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// values reads JSON value by value, so that no more than one of them is in memory.
type values struct {
	d     *jsontext.Decoder
	words map[string]string // texts that come again and again
}

// maxWords is how many texts are known.
const maxWords = 1 << 12

func newValues(from io.Reader) values {
	// Java programs write what they like.
	return values{jsontext.NewDecoder(from, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)), map[string]string{}}
}

// members reads an object; value must read what follows the name.
func (v *values) members(value func(name string) error) error {
	return v.parts('{', '}', "an object", func() error {
		name, err := v.word()
		if err != nil {
			return err
		}
		return value(name)
	})
}

// elements reads a list.
func (v *values) elements(element func() error) error {
	return v.parts('[', ']', "a list", element)
}

func (v *values) parts(begin, end jsontext.Kind, what string, part func() error) error {
	if kind := v.d.PeekKind(); kind != begin && kind != 0 {
		return v.notA(what)
	}
	if _, err := v.d.ReadToken(); err != nil {
		return ended(err)
	}
	for v.d.PeekKind() != end {
		if err := part(); err != nil {
			return ended(err)
		}
	}
	_, err := v.d.ReadToken()
	return ended(err)
}

// ended is the error of a value that ends too early.
func ended(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (v *values) notA(what string) error {
	got, err := v.d.ReadToken()
	if err != nil {
		return err
	}
	return fmt.Errorf("%.40s where %s must be", got.String(), what)
}

// raw reads a text as it is written, with its quotes; nil stands for null.
func (v *values) raw() (jsontext.Value, error) {
	switch v.d.PeekKind() {
	case '"':
		return v.d.ReadValue()
	case 'n', 0:
		_, err := v.d.ReadToken()
		return nil, err
	}
	return nil, v.notA("a text")
}

// text reads a text; null is "".
func (v *values) text() (string, error) {
	raw, err := v.raw()
	if err != nil || raw == nil {
		return "", err
	}
	b, err := jsontext.AppendUnquote(nil, raw)
	if err != nil && b == nil {
		return "", err
	}
	return string(b), nil // what is no UTF-8 is U+FFFD
}

// word reads a text that comes again and again.
func (v *values) word() (string, error) {
	raw, err := v.raw()
	if err != nil || raw == nil {
		return "", err
	}
	if known, ok := v.words[string(raw)]; ok {
		return known, nil
	}
	b, err := jsontext.AppendUnquote(nil, raw)
	if err != nil && b == nil {
		return "", err
	}
	if len(v.words) < maxWords && len(raw) < maxWords {
		v.words[string(raw)] = string(b)
	}
	return string(b), nil
}

// number reads an id, which the versions write as a number or as a text. null is 0.
func (v *values) number() (uint64, error) {
	switch v.d.PeekKind() {
	case '"', '0', 'n', 0:
	default:
		return 0, v.notA("a number")
	}
	raw, err := v.d.ReadValue()
	if err != nil || raw.Kind() == 'n' {
		return 0, err
	}
	n := uint64(0)
	digits := raw
	if raw.Kind() == '"' {
		digits = raw[1 : len(raw)-1]
	}
	for _, c := range digits {
		d := uint64(c - '0')
		if d > 9 || n > (1<<64-1-d)/10 {
			return 0, fmt.Errorf("%.40s is no id", raw)
		}
		n = n*10 + d
	}
	if len(digits) == 0 {
		return 0, fmt.Errorf("%s is no id", raw)
	}
	return n, nil
}

// yes reads true or false. null is false.
func (v *values) yes() (bool, error) {
	switch v.d.PeekKind() {
	case 't', 'f', 'n', 0:
		t, err := v.d.ReadToken()
		return err == nil && t.Kind() == 't', err
	}
	return false, v.notA("true or false")
}

// into reads a small value as encoding/json does.
func (v *values) into(to any) error {
	raw, err := v.d.ReadValue()
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, to)
}
