package jfr

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/pprof/profile"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

// The labels that the runtime gives samples.
const (
	labelThread = "vtscope.thread"
	labelScope  = "vtscope.scope"
)

// maxSamples is how many samples of a profile are exported at most.
const maxSamples = 1 << 22

// samples are the samples of a CPU profile. A profile says how often each stack was seen, not when: they are spread evenly over the time that the profile took,
// in an order by chance, so that each part of that time has about the mixture of the whole.
type samples struct {
	profile *profile.Profile
	order   []uint32 // positions in profile.Sample
	keys    []uint32 // of stacks, by position, plus one
	next    int      // in order
	from    time.Duration
	took    time.Duration
	outside uint64 // of the recording
	tooMany uint64
}

func newSamples(p *profile.Profile, info recording.Info) samples {
	if p == nil {
		return samples{}
	}
	s := samples{profile: p, keys: make([]uint32, len(p.Sample)), from: time.Unix(0, p.TimeNanos).Sub(info.From), took: time.Duration(p.DurationNanos)}
	counts := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "samples" && t.Unit == "count" })
	for i, sample := range p.Sample {
		n := int64(1)
		if counts >= 0 && counts < len(sample.Value) {
			n = max(sample.Value[counts], 0)
		}
		fits := min(n, int64(maxSamples-len(s.order)))
		s.tooMany += uint64(n - fits)
		for range fits {
			s.order = append(s.order, uint32(i))
		}
	}
	random := rand.New(rand.NewPCG(1, 2)) // two exports are the same
	random.Shuffle(len(s.order), func(i, j int) { s.order[i], s.order[j] = s.order[j], s.order[i] })
	return s
}

// at returns when sample i is taken to have been.
func (s *samples) at(i int) time.Duration {
	return s.from + time.Duration((float64(i)+0.5)/float64(len(s.order))*float64(s.took))
}

// sampled writes the samples up to a moment.
func (w *writer) sampled(now time.Duration) {
	s := &w.samples
	for ; s.next < len(s.order); s.next++ {
		at := s.at(s.next)
		if at > now {
			return
		}
		if at < 0 {
			s.outside++
			continue
		}
		w.sample(s.order[s.next], at)
	}
}

func (w *writer) sample(i uint32, at time.Duration) {
	s := &w.samples
	sample := s.profile.Sample[i]
	if s.keys[i] == 0 {
		s.keys[i] = 1 + w.pools.stack(framesOf(sample), false)
	}
	stack := s.keys[i] - 1
	w.stacks.mark(stack, w.present)
	w.states.mark(stateRunnable, w.present)
	thread := w.threads.other(sampledName(sample), w.present)
	w.stats.Samples++
	w.add(w.execution, at, func(b []byte) []byte {
		b = appendVarint(b, uint64(thread))
		b = appendVarint(b, uint64(stack))
		return append(b, stateRunnable)
	})
}

// sampledName returns whom a sample is of, as far as its labels say.
func sampledName(s *profile.Sample) string {
	for _, label := range []string{labelThread, labelScope} {
		if v := s.Label[label]; len(v) > 0 && v[0] != "" {
			if label == labelScope {
				return "threads of " + valid(v[0])
			}
			return valid(v[0])
		}
	}
	return "goroutines"
}

func framesOf(s *profile.Sample) []flight.Frame {
	var frames []flight.Frame
	for _, l := range s.Location {
		for i, line := range l.Line {
			f := flight.Frame{PC: l.Address, Line: int(line.Line), Inlined: i < len(l.Line)-1}
			if line.Function != nil {
				f.Func, f.File = line.Function.Name, line.Function.Filename
			}
			frames = append(frames, f)
		}
	}
	return frames
}
