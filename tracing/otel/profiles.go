package otel

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	pprof "github.com/google/pprof/profile"
	colprofilespb "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	profilespb "go.opentelemetry.io/proto/otlp/profiles/v1development"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
	"github.com/vtscope/vtscope/tracing/profile"
)

const profilesMethod = "/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"

const (
	// profileSamples bounds the samples of a profile, so that an export stays far below what receivers take.
	profileSamples = 2000
	// maxProfiles is how many exports may wait.
	maxProfiles = 4
)

// A profileQueue sends profiles. Nobody waits for it.
type profileQueue struct {
	*signalCounters
	limit  time.Duration
	poster *poster

	mu struct {
		sync.Mutex
		items  chan *colprofilespb.ExportProfilesServiceRequest
		closed bool
	}
}

func newProfileQueue(c *signalCounters, limit time.Duration, p *poster) *profileQueue {
	q := &profileQueue{signalCounters: c, limit: limit, poster: p}
	q.mu.items = make(chan *colprofilespb.ExportProfilesServiceRequest, maxProfiles)
	return q
}

func profilesIn(r *colprofilespb.ExportProfilesServiceRequest) int {
	return len(r.ResourceProfiles[0].ScopeProfiles[0].Profiles)
}

func (q *profileQueue) put(r *colprofilespb.ExportProfilesServiceRequest) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := uint64(profilesIn(r))
	if q.mu.closed || len(q.mu.items) == cap(q.mu.items) {
		q.dropped.Add(n)
		return
	}
	q.built.Add(n)
	q.mu.items <- r // there is room, and mu is had
}

func (q *profileQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.mu.closed {
		q.mu.closed = true
		close(q.mu.items)
	}
}

func (q *profileQueue) run(ctx context.Context, s *sender) {
	w := &way{q.signalCounters, q.limit, q.poster.asked}
	for r := range q.mu.items {
		s.send(ctx, w, profilesIn(r), func(ctx context.Context) (int, error) {
			var answer colprofilespb.ExportProfilesServiceResponse
			err := q.poster.post(ctx, r, &answer)
			return int(answer.GetPartialSuccess().GetRejectedProfiles()), refusal(err, answer.GetPartialSuccess().GetErrorMessage())
		})
	}
}

// A profiler is an observer that sends what happened since the time before, now and then.
type profiler struct {
	*profile.Collector
	x        *Exporter
	exe      string
	resource *resourcepb.Resource
	cancel   context.CancelFunc
	done     sync.WaitGroup
}

func startProfiler(x *Exporter, p flight.Process, src recording.Source) (*profiler, error) {
	_, live := src.(*recording.Live)
	c, err := profile.NewCollector(src.Stack, profile.CollectorOptions{Samples: profileSamples, Live: live})
	if err != nil {
		return nil, fmt.Errorf("otlp: profiles: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &profiler{Collector: c, x: x, exe: p.Exe, resource: resourceOf(x.o.Env.Resource(p)), cancel: cancel}
	r.done.Go(func() { r.run(ctx) })
	return r, nil
}

func (r *profiler) run(ctx context.Context) {
	tick := time.NewTicker(r.x.o.Profiles)
	defer tick.Stop()
	before := r.Mark()
	began := time.Now()
	for last := false; !last; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			last = true
		}
		if !r.Began() {
			continue
		}
		now, at := r.Mark(), time.Now()
		if request := r.request(before, now, began, at); request != nil {
			r.x.shapes.put(request)
		}
		before, began = now, at
	}
}

// request returns the profiles of a stretch, nil if nothing happened.
func (r *profiler) request(from, to *profile.Mark, began, until time.Time) *colprofilespb.ExportProfilesServiceRequest {
	b := newShape()
	for i := range profile.Kinds {
		if k := &profile.Kinds[i]; k.Origin == profile.OfEvents {
			b.add(k.Name, r.Profile(k, r.exe, until, from, to), began, until)
		}
	}
	if len(b.profiles) == 0 {
		return nil
	}
	return &colprofilespb.ExportProfilesServiceRequest{
		ResourceProfiles: []*profilespb.ResourceProfiles{{
			Resource: r.resource, SchemaUrl: schemaURL,
			ScopeProfiles: []*profilespb.ScopeProfiles{{Scope: instrumentation(), Profiles: b.profiles, SchemaUrl: schemaURL}},
		}},
		Dictionary: &b.dictionary,
	}
}

// Close sends what happened since the last time.
func (r *profiler) Close() error {
	r.cancel()
	r.done.Wait()
	return nil
}

// A shape is profiles with the dictionary that they share. Of each of its tables the first element is empty: it stands for none.
type shape struct {
	dictionary profilespb.ProfilesDictionary
	profiles   []*profilespb.Profile
	texts      map[string]int32
	functions  map[[2]string]int32
	attributes map[[2]string]int32
	stacks     map[string]int32
}

func newShape() *shape {
	return &shape{
		dictionary: profilespb.ProfilesDictionary{
			MappingTable: []*profilespb.Mapping{{}}, LocationTable: []*profilespb.Location{{}}, FunctionTable: []*profilespb.Function{{}},
			LinkTable: []*profilespb.Link{{}}, StringTable: []string{""}, AttributeTable: []*profilespb.KeyValueAndUnit{{}}, StackTable: []*profilespb.Stack{{}},
		},
		texts: map[string]int32{"": 0}, functions: map[[2]string]int32{}, attributes: map[[2]string]int32{}, stacks: map[string]int32{"": 0},
	}
}

func (b *shape) text(s string) int32 {
	s = cut(s, 0)
	i, ok := b.texts[s]
	if !ok {
		i = int32(len(b.dictionary.StringTable))
		b.texts[s] = i
		b.dictionary.StringTable = append(b.dictionary.StringTable, s)
	}
	return i
}

// add takes a profile: each type of its values is one of its own, since those of the protocol have one type each.
func (b *shape) add(name string, p *pprof.Profile, began, until time.Time) {
	if len(p.Sample) == 0 {
		return
	}
	locations := map[uint64]int32{}
	for v, t := range p.SampleType {
		id := make([]byte, 0, 16)
		id = binary.BigEndian.AppendUint64(id, rand.Uint64())
		id = binary.BigEndian.AppendUint64(id, rand.Uint64()|1)
		to := &profilespb.Profile{
			SampleType:   &profilespb.ValueType{TypeStrindex: b.text(name + "." + t.Type), UnitStrindex: b.text(t.Unit)},
			TimeUnixNano: uint64(began.UnixNano()), DurationNano: uint64(max(until.Sub(began), 0)), ProfileId: id,
		}
		for _, s := range p.Sample {
			if s.Value[v] == 0 {
				continue
			}
			sample := &profilespb.Sample{StackIndex: b.stack(s, locations), Values: []int64{s.Value[v]}}
			for key, values := range s.Label {
				for _, value := range values {
					sample.AttributeIndices = append(sample.AttributeIndices, b.attribute("vt."+key, value))
				}
			}
			slices.Sort(sample.AttributeIndices)
			to.Samples = append(to.Samples, sample)
		}
		if len(to.Samples) > 0 {
			b.profiles = append(b.profiles, to)
		}
	}
}

func (b *shape) attribute(key, value string) int32 {
	value = cut(value, 0)
	i, ok := b.attributes[[2]string{key, value}]
	if !ok {
		i = int32(len(b.dictionary.AttributeTable))
		b.attributes[[2]string{key, value}] = i
		b.dictionary.AttributeTable = append(b.dictionary.AttributeTable, &profilespb.KeyValueAndUnit{
			KeyStrindex: b.text(key), Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}},
		})
	}
	return i
}

func (b *shape) stack(s *pprof.Sample, locations map[uint64]int32) int32 {
	var key []byte
	all := make([]int32, len(s.Location))
	for i, l := range s.Location {
		all[i] = b.location(l, locations)
		key = binary.AppendUvarint(key, uint64(all[i]))
	}
	i, ok := b.stacks[string(key)]
	if !ok {
		i = int32(len(b.dictionary.StackTable))
		b.stacks[string(key)] = i
		b.dictionary.StackTable = append(b.dictionary.StackTable, &profilespb.Stack{LocationIndices: all})
	}
	return i
}

// location returns the index of a location; those of one profile have ids of their own.
func (b *shape) location(l *pprof.Location, known map[uint64]int32) int32 {
	if i, ok := known[l.ID]; ok {
		return i
	}
	i := int32(len(b.dictionary.LocationTable))
	known[l.ID] = i
	to := &profilespb.Location{Address: l.Address}
	for _, line := range l.Line {
		f := [2]string{line.Function.Name, line.Function.Filename}
		at, ok := b.functions[f]
		if !ok {
			at = int32(len(b.dictionary.FunctionTable))
			b.functions[f] = at
			b.dictionary.FunctionTable = append(b.dictionary.FunctionTable, &profilespb.Function{
				NameStrindex: b.text(f[0]), SystemNameStrindex: b.text(line.Function.SystemName), FilenameStrindex: b.text(f[1]), StartLine: line.Function.StartLine,
			})
		}
		to.Lines = append(to.Lines, &profilespb.Line{FunctionIndex: at, Line: line.Line, Column: line.Column})
	}
	b.dictionary.LocationTable = append(b.dictionary.LocationTable, to)
	return i
}
