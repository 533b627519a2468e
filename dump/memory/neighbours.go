package memory

// neighbours reads many objects of one size, twice: those that lie close together by one piece.
type neighbours struct {
	size   int
	runs   []span
	places []place
	spans  []span
	first  []byte
	second []byte
}

// A place is where an object was copied to.
type place struct{ run, at int }

const (
	runGap = 1024 // bytes between objects that are read with them rather than by another call
	maxRun = 512 << 10
)

// plan lays out how n objects are read, which are sorted by address.
func (r *neighbours) plan(n int, address func(i int) uint64) {
	r.runs, r.places = r.runs[:0], r.places[:0]
	size := uint64(r.size)
	total := 0
	for i := range n {
		at := address(i)
		k := len(r.runs)
		if k > 0 {
			s := &r.runs[k-1]
			if end := s.address + uint64(s.n); at <= end+runGap && at+size-s.address <= maxRun && at+size > at {
				if more := int(at + size - s.address); more > s.n {
					total += more - s.n
					s.n = more
				}
				r.places = append(r.places, place{k - 1, int(at - s.address)})
				continue
			}
		}
		r.runs = append(r.runs, span{address: at, n: r.size}) // n is the length, until there is a buffer
		r.places = append(r.places, place{k, 0})
		total += r.size
	}
	if cap(r.first) < total {
		r.first, r.second = make([]byte, total), make([]byte, total)
	}
	at := 0
	for i := range r.runs {
		s := &r.runs[i]
		s.to, at, s.n = r.first[at:at+s.n:at+s.n], at+s.n, 0
	}
}

// read reads them for the first time.
func (r *neighbours) read(s space) { s.readMany(r.runs) }

// before returns what object i was, or nil if it could not be read.
func (r *neighbours) before(i int) []byte { return r.in(r.runs, i) }

// readAgain reads them for the second time.
func (r *neighbours) readAgain(s space) {
	r.spans = r.spans[:0]
	at := 0
	for i := range r.runs {
		n := len(r.runs[i].to)
		r.spans = append(r.spans, span{address: r.runs[i].address, to: r.second[at : at+n : at+n]})
		at += n
	}
	s.readMany(r.spans)
}

// after returns what object i was the second time, or nil.
func (r *neighbours) after(i int) []byte { return r.in(r.spans, i) }

func (r *neighbours) in(spans []span, i int) []byte {
	p := r.places[i]
	s := &spans[p.run]
	if p.at+r.size > s.n {
		return nil
	}
	return s.to[p.at : p.at+r.size]
}

// tops reads the innermost parts of many stacks.
type tops struct {
	spans []span
	bytes []byte
}

// stackTop is how many bytes of a stack are read at once.
const stackTop = 4096

// plan adds the part of a stack that is used, from sp to hi. Nothing is read of one that is empty.
func (t *tops) plan(sp, hi uint64) {
	t.spans = append(t.spans, span{address: sp, n: int(min(hi-min(sp, hi), stackTop))})
}

// read reads those that were planned.
func (t *tops) read(s space) {
	total := 0
	for i := range t.spans {
		total += t.spans[i].n
	}
	if cap(t.bytes) < total {
		t.bytes = make([]byte, total)
	}
	at := 0
	for i := range t.spans {
		top := &t.spans[i]
		top.to, at, top.n = t.bytes[at:at+top.n:at+top.n], at+top.n, 0
	}
	s.readMany(t.spans)
}
