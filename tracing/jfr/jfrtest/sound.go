package jfrtest

import (
	"fmt"
	"strings"
)

// inPlace are events of which a reader in use takes strings in place alone.
var inPlace = map[string]bool{"jdk.ExecutionSample": true, "jdk.ThreadPark": true, "jdk.JavaMonitorEnter": true, "jdk.ActiveSetting": true}

// resolvable reports a key that stands for nothing, and constants that break readers.
func (c *Chunk) resolvable() error {
	for _, e := range c.Events {
		if err := c.keys(e.Struct); err != nil {
			return fmt.Errorf("event %s: %w", e.Class.Name, err)
		}
		for i, v := range e.Values {
			if r, ok := v.(ref); ok && inPlace[e.Class.Name] && r.class.Name == "java.lang.String" {
				return fmt.Errorf("event %s: %s is a pooled string", e.Class.Name, e.Class.Fields[i].Name)
			}
		}
	}
	for k, pool := range c.pools {
		for key, v := range pool {
			err := c.keys(v.value)
			if s, ok := v.value.(*Struct); ok && err == nil {
				err = s.sound()
			}
			if err != nil {
				return fmt.Errorf("%s %d: %w", k.Name, key, err)
			}
		}
	}
	return nil
}

func (c *Chunk) keys(v any) error {
	switch v := v.(type) {
	case ref:
		if _, ok := c.pools[v.class][v.key]; !ok && v.key != 0 {
			return fmt.Errorf("no %s %d in the chunk", v.class.Name, v.key)
		}
	case *Struct:
		for i := range v.Values {
			if err := c.keys(v.Values[i]); err != nil {
				return err
			}
		}
	case []any:
		for i := range v {
			if err := c.keys(v[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// sound reports what breaks a reader in use.
func (s *Struct) sound() error {
	text := func(path string) string { v, _ := s.Get(path).(string); return v }
	switch s.Class.Name {
	case "jdk.types.StackTrace":
		if frames, _ := s.Get("frames").([]any); len(frames) == 0 {
			return fmt.Errorf("a stack without frames")
		}
	case "jdk.types.Method":
		if s.Get("type") == nil || text("name") == "" || !strings.Contains(text("descriptor"), "(") {
			return fmt.Errorf("a method with class %v, name %q, descriptor %q", s.Get("type"), text("name"), text("descriptor"))
		}
	case "java.lang.Class":
		name, in := text("name"), text("package.name")
		if name == "" || name[0] == '[' || in != "" && (len(name) <= len(in)+1 || !strings.HasPrefix(name, in)) {
			return fmt.Errorf("class %q in package %q", name, in)
		}
	case "java.lang.Thread":
		if s.Get("javaName") == nil || s.Get("javaThreadId").(int64) <= 0 || s.Get("osThreadId").(int64) <= 0 || s.Get("group") == nil {
			return fmt.Errorf("thread %v (%v) with ids %v and %v, group %v", s.Get("javaName"), s.Get("osName"), s.Get("javaThreadId"), s.Get("osThreadId"), s.Get("group"))
		}
	}
	return nil
}

// stable reports what means something else in a later chunk, and lines of time that are not one.
func (f *File) stable() error {
	type key struct {
		class string
		key   uint64
	}
	first := f.Chunks[0]
	constants := map[key]string{}
	classes := map[uint64]string{}
	trees := map[uint64]string{}
	for i, c := range f.Chunks {
		if c.TicksPerSecond != first.TicksPerSecond {
			return fmt.Errorf("chunk %d: %d ticks per second, before %d", i, c.TicksPerSecond, first.TicksPerSecond)
		}
		if c.TicksPerSecond == 1e9 && c.StartNanos-c.StartTicks != first.StartNanos-first.StartTicks {
			return fmt.Errorf("chunk %d: another line of time", i)
		}
		for id, k := range c.Classes {
			if was, ok := classes[id]; ok && was != k.Name {
				return fmt.Errorf("chunk %d: class %d is %s, before %s", i, id, k.Name, was)
			}
			classes[id] = k.Name
		}
		if was, ok := trees[c.MetadataID]; ok && was != c.kinds {
			return fmt.Errorf("chunk %d: other metadata %d than before", i, c.MetadataID)
		}
		trees[c.MetadataID] = c.kinds
		for k, pool := range c.pools {
			for id, v := range pool {
				at := key{k.Name, id}
				if was, ok := constants[at]; ok && was != v.raw {
					return fmt.Errorf("chunk %d: %s %d is %q, before %q", i, k.Name, id, v.raw, was)
				}
				constants[at] = v.raw
			}
		}
	}
	return nil
}
