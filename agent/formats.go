package agent

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/html"
	"github.com/vtscope/vtscope/dump/jdk"
	"github.com/vtscope/vtscope/dump/profile"
)

// A format is a way in which threads are written: their groups, or every thread by itself. The names are those of vtdump --format.
type format struct {
	name, media string
	file        string // the name under which a browser keeps it; "": it shows it
	groups      func(w io.Writer, snap *dump.Snapshot, q *ask) error
	threads     func(ctx context.Context, w io.Writer, src dump.Source, q *ask) error
}

const (
	mediaJSON   = "application/json"
	mediaText   = "text/plain; charset=utf-8"
	mediaBinary = "application/octet-stream"
)

// formats are those of a dump. Other paths know the first two.
var formats = []format{
	{name: "json", media: mediaJSON, groups: func(w io.Writer, snap *dump.Snapshot, _ *ask) error { return dump.JSON(w, snap) }},
	{name: "text", media: mediaText, groups: func(w io.Writer, snap *dump.Snapshot, q *ask) error { return dump.Text(w, snap, q.text) }},
	{name: "folded", media: mediaText, groups: func(w io.Writer, snap *dump.Snapshot, q *ask) error {
		return dump.Folded(w, snap, dump.FoldedOptions{Internal: q.text.Internal})
	}},
	// Its styles and scripts are in it, which the policy of the page forbids: it is kept, and opens from a file.
	{name: "html", media: "text/html; charset=utf-8", file: "dump.html", groups: func(w io.Writer, snap *dump.Snapshot, _ *ask) error { return html.Write(w, snap) }},
	{name: "markdown", media: "text/markdown; charset=utf-8", groups: func(w io.Writer, snap *dump.Snapshot, q *ask) error {
		return dump.Markdown(w, snap, dump.MarkdownOptions{Top: q.text.Top, Internal: q.text.Internal})
	}},
	{name: "pprof", media: mediaBinary, file: "threads.pb.gz", groups: func(w io.Writer, snap *dump.Snapshot, _ *ask) error { return profile.Write(w, snap) }},
	{name: "dot", media: "text/vnd.graphviz; charset=utf-8", groups: func(w io.Writer, snap *dump.Snapshot, q *ask) error {
		return dump.Dot(w, snap, dump.DotOptions{Internal: q.text.Internal})
	}},
	{name: "jdk", media: mediaJSON, threads: jdkJSON(2)},
	{name: "jdk1", media: mediaJSON, threads: jdkJSON(1)},
	{name: "jdk-text", media: mediaText, threads: func(ctx context.Context, w io.Writer, src dump.Source, q *ask) error {
		return jdk.Text(ctx, w, src, jdk.Options{Filter: q.options.Filter})
	}},
}

func jdkJSON(version int) func(context.Context, io.Writer, dump.Source, *ask) error {
	return func(ctx context.Context, w io.Writer, src dump.Source, q *ask) error {
		return jdk.JSON(ctx, w, src, jdk.Options{Filter: q.options.Filter, Version: version})
	}
}

// formatOf returns the format of a name, among the first most ones.
func formatOf(name string, most int) (*format, error) {
	i := slices.IndexFunc(formats[:most], func(f format) bool { return f.name == name })
	if i < 0 {
		var names []string
		for i := range formats[:most] {
			names = append(names, formats[i].name)
		}
		return nil, refusal{400, fmt.Sprintf("there is no format %q here", short(name)), "one of " + strings.Join(names, ", ")}
	}
	return &formats[i], nil
}

// Text and JSON are the formats that every document has.
const documentFormats = 2
