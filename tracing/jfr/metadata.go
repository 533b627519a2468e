package jfr

import (
	"fmt"
	"strconv"
)

// firstID is the id of the first class; 0 and 1 are the metadata and the constants.
const firstID = 10

// metadata is the list of a file's classes. It only grows, so that an id means the same in all chunks.
type metadata struct {
	classes []class
	ids     map[string]int
	encoded []byte // without size and time; nil if classes were added since
}

func newMetadata(lists ...[]class) *metadata {
	m := &metadata{ids: map[string]int{}}
	for _, list := range lists {
		for _, c := range list {
			m.add(c)
		}
	}
	return m
}

// add appends a class, and returns its id.
func (m *metadata) add(c class) int {
	if _, ok := m.ids[c.name]; ok {
		panic("jfr: class " + c.name + " twice")
	}
	id := firstID + len(m.classes)
	m.ids[c.name] = id
	m.classes = append(m.classes, c)
	m.encoded = nil
	return id
}

// id returns the id of a class that was added.
func (m *metadata) id(name string) int {
	id, ok := m.ids[name]
	if !ok {
		panic("jfr: no class " + name)
	}
	return id
}

// append appends the metadata event. Its id is the number of classes: readers that know an id do not look at what follows.
func (m *metadata) append(b []byte, ticks uint64) []byte {
	at := len(b)
	b = append(b, make([]byte, padded)...)
	b = appendVarint(b, 0)
	b = appendVarint(b, ticks)
	b = append(b, 0) // duration
	b = appendVarint(b, uint64(len(m.classes)))
	if m.encoded == nil {
		m.encoded = m.tree()
	}
	b = append(b, m.encoded...)
	putPadded(b[at:], len(b)-at)
	return b
}

// A tree is metadata as it is written: strings, and elements that refer to them.
type tree struct {
	strings  []byte
	index    map[string]int
	elements []byte
}

func (t *tree) string(s string) {
	i, ok := t.index[s]
	if !ok {
		i = len(t.index)
		t.index[s] = i
		t.strings = appendUTF8(t.strings, s)
	}
	t.elements = appendVarint(t.elements, uint64(i))
}

// element appends an element that so many children follow, with attributes: names and values.
func (t *tree) element(name string, children int, attributes ...string) {
	t.string(name)
	t.elements = appendVarint(t.elements, uint64(len(attributes)/2))
	for _, a := range attributes {
		t.string(a)
	}
	t.elements = appendVarint(t.elements, uint64(children))
}

// tree returns the number of strings, the strings and the elements.
func (m *metadata) tree() []byte {
	t := tree{index: map[string]int{}}
	t.element("root", 2)
	t.element("metadata", len(m.classes))
	for i := range m.classes {
		m.class(&t, firstID+i, &m.classes[i])
	}
	t.element("region", 0, "locale", "en_US", "gmtOffset", "0", "dst", "0")
	b := appendVarint(nil, uint64(len(t.index)))
	b = append(b, t.strings...)
	return append(b, t.elements...)
}

func (m *metadata) class(t *tree, id int, c *class) {
	attributes := []string{"name", c.name}
	if c.super != "" {
		attributes = append(attributes, "superType", c.super)
	}
	attributes = append(attributes, "id", strconv.Itoa(id))
	if c.simple {
		attributes = append(attributes, "simpleType", "true")
	}
	t.element("class", len(c.settings)+len(c.fields)+len(c.notes), attributes...)
	for _, s := range c.settings {
		t.element("setting", 0, "name", s.name, "class", m.text(s.class), "defaultValue", s.value)
	}
	for _, f := range c.fields {
		attributes := []string{"name", f.name, "class", m.text(f.class)}
		if f.pooled {
			attributes = append(attributes, "constantPool", "true")
		}
		if f.list {
			attributes = append(attributes, "dimension", "1")
		}
		t.element("field", len(f.notes), attributes...)
		m.notes(t, f.notes)
	}
	m.notes(t, c.notes)
}

func (m *metadata) notes(t *tree, notes []note) {
	for _, n := range notes {
		attributes := []string{"class", m.text(n.class)}
		for i, v := range n.values {
			key := "value"
			if n.list {
				key = fmt.Sprintf("value-%d", i)
			}
			attributes = append(attributes, key, v)
		}
		t.element("annotation", 0, attributes...)
	}
}

func (m *metadata) text(class string) string { return strconv.Itoa(m.id(class)) }
