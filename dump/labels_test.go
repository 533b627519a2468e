package dump_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/runtime/flight/flighttest"
)

const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"

// labelled is a flight file in which every other thread of 40 is of the tenant acme, and one has a trace.
func labelled(t *testing.T) string {
	return flighttest.Write(t, flighttest.Spec{Threads: 40, Thread: func(i int) flighttest.Thread {
		th := flighttest.Thread{State: flight.StateParked, Reason: flight.ReasonPark}
		switch {
		case i == 6:
			th.Labels = map[string]string{"tenant": "acme", "trace_id": traceID, "span_id": "00f067aa0ba902b7"}
		case i%2 == 0:
			th.Labels = map[string]string{"tenant": "acme"}
		}
		return th
	}}).Path
}

func TestAThreadReportHasTheLabelsAndTheTraceThatTheyName(t *testing.T) {
	path := labelled(t)
	r := threadReport(t, path, 7)
	if want := []dump.Label{{"span_id", "00f067aa0ba902b7"}, {"tenant", "acme"}, {"trace_id", traceID}}; !reflect.DeepEqual(r.Labels, want) || r.LabelsCut {
		t.Errorf("got labels %+v, cut %v, want %+v", r.Labels, r.LabelsCut, want)
	}
	if want := (&dump.Trace{ID: traceID, Span: "00f067aa0ba902b7", Key: "trace_id"}); !reflect.DeepEqual(r.Trace, want) {
		t.Errorf("got trace %+v, want %+v", r.Trace, want)
	}
	var text, doc bytes.Buffer
	if err := dump.ThreadText(&text, r, dump.TextOptions{Width: 120}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nlabels      span_id=00f067aa0ba902b7\n            tenant=acme\n", "\ntrace       " + traceID + ", span 00f067aa0ba902b7\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("want %q in\n%s", want, text.String())
		}
	}
	if err := dump.ThreadJSON(&doc, r); err != nil || !json.Valid(doc.Bytes()) || !strings.Contains(doc.String(), `"trace": {`) {
		t.Errorf("%v, got\n%s", err, doc.String())
	}
	if r := threadReport(t, path, 2); r.Labels != nil || r.Trace != nil {
		t.Errorf("a thread without labels has %+v, %+v", r.Labels, r.Trace)
	}
}

func TestAGroupReportHasTheLabelsOfItsExamples(t *testing.T) {
	path := labelled(t)
	g, err := dump.TakeGroup(t.Context(), open(t, path), take(t, path, dump.Options{}).Groups[0].Key, dump.Options{})
	if err != nil {
		t.Fatal(err)
	}
	examples := map[flight.ThreadID]bool{}
	for _, all := range [][]dump.Example{g.Oldest, g.Newest, g.Random} {
		for _, e := range all {
			examples[e.ID] = true
		}
	}
	told := map[flight.ThreadID]bool{}
	for _, l := range g.Labelled {
		r := threadReport(t, path, l.Thread)
		if !examples[l.Thread] || told[l.Thread] || !reflect.DeepEqual(l.Labels, r.Labels) || !reflect.DeepEqual(l.Trace, r.Trace) || l.Cut {
			t.Errorf("got %+v, want once the labels %+v and trace %+v of an example", l, r.Labels, r.Trace)
		}
		told[l.Thread] = true
	}
	for id := range examples {
		if r := threadReport(t, path, id); told[id] != (r.Labels != nil) {
			t.Errorf("of the example #%d labels are told: %v, want those %+v", id, told[id], r.Labels)
		}
	}
	if len(told) == 0 || len(told) == len(examples) {
		t.Errorf("%d of %d examples have labels, want some", len(told), len(examples))
	}
}

func TestLabelsThatNameATraceAreFoundHoweverTheyAreWritten(t *testing.T) {
	for key, is := range map[string]bool{"trace_id": true, "traceId": true, "TraceID": true, "otel.trace-id": true, "dd.trace_id": true, "trace": false, "trace_ids": false, "id": false} {
		path := flighttest.Write(t, flighttest.Spec{Threads: 1, Thread: func(int) flighttest.Thread {
			return flighttest.Thread{State: flight.StateParked, Labels: map[string]string{key: "7b"}}
		}}).Path
		if r := threadReport(t, path, 1); (r.Trace != nil) != is {
			t.Errorf("%s: got %+v, want a trace: %v", key, r.Trace, is)
		}
	}
	path := flighttest.Write(t, flighttest.Spec{Threads: 1, Thread: func(int) flighttest.Thread {
		return flighttest.Thread{State: flight.StateParked, Labels: map[string]string{"trace_id": "../../x?y"}}
	}}).Path
	if r := threadReport(t, path, 1); r.Trace != nil || len(r.Labels) != 1 {
		t.Errorf("what is no id is a label alone: got %+v, %+v", r.Trace, r.Labels)
	}
}

func TestThreadsAreFilteredAndGroupedByTheirLabels(t *testing.T) {
	src := open(t, labelled(t))
	for text, want := range map[string]int{"label:tenant=acme": 20, "label:tenant!=acme": 20, "label:trace_id=" + traceID: 1, "label:tenant~ac": 20, "label:none=x": 0} {
		f, err := filter.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		s, err := dump.Take(context.Background(), src, dump.Options{Filter: f})
		if err != nil || s.Threads != want {
			t.Errorf("%s: %d threads, %v; want %d", text, s.Threads, err, want)
		}
	}
	by, err := dump.ParseBy("label:tenant")
	if err != nil {
		t.Fatal(err)
	}
	table, err := dump.TakeTable(context.Background(), src, by, dump.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%+v", table); !strings.Contains(got, "acme") || !strings.Contains(got, "(no label)") {
		t.Errorf("grouped by a label: %s", got)
	}
}
