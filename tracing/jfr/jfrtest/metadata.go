package jfrtest

import (
	"fmt"
	"strconv"
)

// A Class is a type of a file.
type Class struct {
	ID     uint64
	Name   string
	Super  string
	Simple bool
	Fields []Field
	Notes  map[string][]string // values of annotations, by the name of the annotation's class
	// Settings holds the defaults of an event's settings.
	Settings map[string]string
}

// IsEvent reports whether values of the class are events.
func (c *Class) IsEvent() bool { return c.Super == "jdk.jfr.Event" }

// A Field is one of a class.
type Field struct {
	Name   string
	Class  *Class
	Pooled bool
	List   bool
	Notes  map[string][]string
}

// An element is a node of the metadata.
type element struct {
	name       string
	attributes map[string]string
	order      []string
	children   []*element
}

const maxDepth = 16

func readElement(c *cursor, strings []string, depth int) *element {
	text := func() string {
		i := c.varint()
		if i >= uint64(len(strings)) {
			c.fail("string %d of %d", i, len(strings))
			return ""
		}
		return strings[i]
	}
	e := &element{name: text(), attributes: map[string]string{}}
	if depth > maxDepth {
		c.fail("elements too deep")
		return e
	}
	for n := c.count(); n > 0 && c.err == nil; n-- {
		key := text()
		if _, twice := e.attributes[key]; twice {
			c.fail("attribute %s twice", key)
		}
		e.attributes[key] = text()
		e.order = append(e.order, key)
	}
	for n := c.count(); n > 0 && c.err == nil; n-- {
		e.children = append(e.children, readElement(c, strings, depth+1))
	}
	return e
}

// metadata reads the classes of a chunk.
func metadata(c *cursor) (classes map[uint64]*Class, err error) {
	stringsIn := make([]string, 0, 64)
	for n := c.count(); n > 0 && c.err == nil; n-- {
		s, ok := c.string().(string)
		if !ok {
			c.fail("a string of the metadata that is null or pooled")
		}
		stringsIn = append(stringsIn, s)
	}
	root := readElement(c, stringsIn, 0)
	if c.err != nil {
		return nil, c.err
	}
	if root.name != "root" || len(root.children) != 2 || root.children[0].name != "metadata" || root.children[1].name != "region" {
		return nil, fmt.Errorf("metadata is not a root of metadata and region")
	}
	for _, a := range []string{"locale", "gmtOffset", "dst"} {
		if _, ok := root.children[1].attributes[a]; !ok {
			return nil, fmt.Errorf("region has no %s", a)
		}
	}
	classes = map[uint64]*Class{}
	names := map[string]bool{}
	for _, e := range root.children[0].children {
		if e.name != "class" {
			return nil, fmt.Errorf("element %q among the classes", e.name)
		}
		id, err := strconv.ParseUint(e.attributes["id"], 10, 31)
		if err != nil || id < 2 || classes[id] != nil {
			return nil, fmt.Errorf("class %s: id %q", e.attributes["name"], e.attributes["id"])
		}
		k := &Class{ID: id, Name: e.attributes["name"], Super: e.attributes["superType"], Simple: e.attributes["simpleType"] == "true", Notes: map[string][]string{}, Settings: map[string]string{}}
		if k.Name == "" || names[k.Name] {
			return nil, fmt.Errorf("class %q twice, or without a name", k.Name)
		}
		names[k.Name] = true
		classes[id] = k
	}
	for _, e := range root.children[0].children {
		id, _ := strconv.ParseUint(e.attributes["id"], 10, 31)
		if err := fill(classes, classes[id], e); err != nil {
			return nil, fmt.Errorf("class %s: %w", classes[id].Name, err)
		}
	}
	return classes, check(classes)
}

func classOf(classes map[uint64]*Class, e *element) (*Class, error) {
	id, err := strconv.ParseUint(e.attributes["class"], 10, 31)
	if err != nil || classes[id] == nil {
		return nil, fmt.Errorf("%s %s of class %q, which there is not", e.name, e.attributes["name"], e.attributes["class"])
	}
	return classes[id], nil
}

func fill(classes map[uint64]*Class, k *Class, e *element) error {
	seen := map[string]bool{}
	for _, child := range e.children {
		of, err := classOf(classes, child)
		if err != nil {
			return err
		}
		switch child.name {
		case "setting":
			k.Settings[child.attributes["name"]] = child.attributes["defaultValue"]
		case "field":
			f := Field{Name: child.attributes["name"], Class: of, Pooled: child.attributes["constantPool"] == "true", List: child.attributes["dimension"] == "1", Notes: map[string][]string{}}
			if f.Name == "" || seen[f.Name] {
				return fmt.Errorf("field %q twice, or without a name", f.Name)
			}
			seen[f.Name] = true
			for _, n := range child.children {
				if err := note(classes, f.Notes, n); err != nil {
					return fmt.Errorf("field %s: %w", f.Name, err)
				}
			}
			k.Fields = append(k.Fields, f)
		case "annotation":
			if err := note(classes, k.Notes, child); err != nil {
				return err
			}
		default:
			return fmt.Errorf("element %q", child.name)
		}
	}
	return nil
}

func note(classes map[uint64]*Class, notes map[string][]string, e *element) error {
	of, err := classOf(classes, e)
	if err != nil {
		return err
	}
	if e.name != "annotation" || of.Super != "java.lang.annotation.Annotation" {
		return fmt.Errorf("%s of class %s is no annotation", e.name, of.Name)
	}
	var values []string
	for _, key := range e.order {
		if key != "class" {
			values = append(values, e.attributes[key])
		}
	}
	notes[of.Name] = values
	return nil
}

// primitives are the classes without fields that values can be of.
var primitives = map[string]bool{
	"boolean": true, "char": true, "float": true, "double": true, "byte": true, "short": true, "int": true, "long": true, "java.lang.String": true,
}

// check looks for what readers stumble over.
func check(classes map[uint64]*Class) error {
	for _, k := range classes {
		switch {
		case k.Simple && len(k.Fields) != 1:
			return fmt.Errorf("class %s: simple, with %d fields", k.Name, len(k.Fields))
		case k.Super == "" && len(k.Fields) == 0 && !primitives[k.Name]:
			return fmt.Errorf("class %s has no fields", k.Name)
		case k.IsEvent() && (len(k.Fields) == 0 || k.Fields[0].Name != "startTime"):
			return fmt.Errorf("event %s does not begin with startTime", k.Name)
		}
		for i, f := range k.Fields {
			if f.Name == "duration" && k.IsEvent() && i != 1 {
				return fmt.Errorf("event %s: duration is field %d", k.Name, i)
			}
			if f.Pooled && primitives[f.Class.Name] && f.Class.Name != "java.lang.String" {
				return fmt.Errorf("class %s: %s is a pooled %s", k.Name, f.Name, f.Class.Name)
			}
			if err := complete(classes, f.Notes); err != nil {
				return fmt.Errorf("class %s: field %s: %w", k.Name, f.Name, err)
			}
		}
		if err := complete(classes, k.Notes); err != nil {
			return fmt.Errorf("class %s: %w", k.Name, err)
		}
	}
	for name, fields := range known {
		for _, k := range classes {
			if k.Name != name {
				continue
			}
			for i, f := range fields {
				if i >= len(k.Fields) || k.Fields[i].Name != f || len(k.Fields) != len(fields) {
					return fmt.Errorf("class %s: fields are not %v", name, fields)
				}
			}
		}
	}
	return nil
}

// complete reports an annotation that lacks a value, or has one too many.
func complete(classes map[uint64]*Class, notes map[string][]string) error {
	for name, values := range notes {
		for _, k := range classes {
			if k.Name == name && (len(k.Fields) == 0) != (len(values) == 0) {
				return fmt.Errorf("annotation %s with %d values", name, len(values))
			}
		}
	}
	return nil
}

// known are classes whose fields some readers know by heart.
var known = map[string][]string{
	"java.lang.Thread":      {"osName", "osThreadId", "javaName", "javaThreadId", "group", "virtual"},
	"java.lang.Class":       {"classLoader", "name", "package", "modifiers", "hidden"},
	"jdk.types.Method":      {"type", "name", "descriptor", "modifiers", "hidden"},
	"jdk.types.StackFrame":  {"method", "lineNumber", "bytecodeIndex", "type"},
	"jdk.types.StackTrace":  {"truncated", "frames"},
	"jdk.types.Symbol":      {"string"},
	"jdk.types.FrameType":   {"description"},
	"jdk.types.ThreadState": {"name"},
}
