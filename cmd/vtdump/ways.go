package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/html"
	"github.com/vtscope/vtscope/dump/jdk"
	"github.com/vtscope/vtscope/dump/profile"
)

// A way is a format in which others read the threads: groups, or every thread by itself. docs/formats.md tells of them.
type way struct {
	name, about string
	groups      func(w io.Writer, snap *dump.Snapshot, s *settings) error
	threads     func(ctx context.Context, w io.Writer, src dump.Source, s *settings) error
}

// ways are the formats of threads beside text, json and folded. Parser, help and docs/cli.md derive from it.
var ways = []way{
	{name: "html", about: "one page that opens from a file", groups: func(w io.Writer, snap *dump.Snapshot, _ *settings) error { return html.Write(w, snap) }},
	{name: "markdown", about: "for an issue", groups: func(w io.Writer, snap *dump.Snapshot, s *settings) error {
		return dump.Markdown(w, snap, dump.MarkdownOptions{Top: orDefault(s.top), Internal: s.internal})
	}},
	{name: "pprof", about: "for go tool pprof", groups: func(w io.Writer, snap *dump.Snapshot, _ *settings) error { return profile.Write(w, snap) }},
	{name: "dot", about: "merged call paths, for Graphviz", groups: func(w io.Writer, snap *dump.Snapshot, s *settings) error {
		return dump.Dot(w, snap, dump.DotOptions{Internal: s.internal})
	}},
	{name: "jdk", about: "every thread, as the JDK's thread dumps in JSON", threads: jdkJSON(2)},
	{name: "jdk1", about: "the older version of that", threads: jdkJSON(1)},
	{name: "jdk-text", about: "every thread, as the JDK's plain thread dumps", threads: func(ctx context.Context, w io.Writer, src dump.Source, s *settings) error {
		return jdk.Text(ctx, w, src, jdk.Options{Filter: s.filter})
	}},
}

func jdkJSON(version int) func(ctx context.Context, w io.Writer, src dump.Source, s *settings) error {
	return func(ctx context.Context, w io.Writer, src dump.Source, s *settings) error {
		return jdk.JSON(ctx, w, src, jdk.Options{Filter: s.filter, Version: version})
	}
}

// wayNames returns the names of the ways, or of those that groups can go.
func wayNames(groups bool) (names []string) {
	for i := range ways {
		if !groups || ways[i].groups != nil {
			names = append(names, ways[i].name)
		}
	}
	return names
}

// waysText tells of the ways, for help.
func waysText() string {
	var all []string
	for i := range ways {
		all = append(all, ways[i].name+" ("+ways[i].about+")")
	}
	return strings.Join(all, ", ")
}

func wayOf(name string) *way {
	for i := range ways {
		if ways[i].name == name {
			return &ways[i]
		}
	}
	return nil
}

// listed prints every thread of a source, if the format is one that does. done is false if it is none.
func (s *settings) listed(ctx context.Context, w world, src dump.Source) (done bool, err error) {
	way := wayOf(s.format)
	if way == nil || way.threads == nil {
		return false, nil
	}
	for _, row := range s.used {
		switch row.name {
		case "top", "by", "growth":
			return true, usageError{"--" + row.name + ": " + way.name + " has every thread by itself", s.call() + " " + s.target + " --format " + way.name}
		}
	}
	if err := s.mayPrint(way, src); err != nil {
		return true, err
	}
	if err := way.threads(ctx, w.stdout, src, s); err != nil {
		return true, fmt.Errorf("%s: %w", s.target, err)
	}
	return true, nil
}

// fromGroups prints a snapshot, if the format is a way of groups.
func (s *settings) fromGroups(w world, snap *dump.Snapshot) (done bool, err error) {
	way := wayOf(s.format)
	switch {
	case way == nil:
		return false, nil
	case way.groups == nil:
		return true, usageError{fmt.Sprintf("%s has groups, and %s is of every thread", s.target, way.name), s.call() + " " + s.target + " --format html"}
	}
	return true, written(0, way.groups(w.stdout, snap, s))
}
