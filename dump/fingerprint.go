package dump

// fingerprints know the groups of a snapshot by what is the same in other snapshots and processes: the path of the scope, and the stack as far as a
// [Similarity] looks at it. Of groups without a stack it is the state. States do not count otherwise: a thread that leaves a lock for a moment is still there.
type fingerprints struct {
	s       *Snapshot
	similar Similarity
	paths   []hash   // by scope
	stacks  []string // by stack
}

// fingerprintsOf makes names of scopes templates if that is wanted.
func fingerprintsOf(s *Snapshot, similar Similarity, templates bool) *fingerprints {
	f := &fingerprints{s, similar, make([]hash, len(s.Scopes)), make([]string, len(s.Stacks))}
	for i := range s.Scopes {
		sc, up := &s.Scopes[i], newHash
		if sc.Parent >= 0 {
			up = f.paths[sc.Parent]
		}
		f.paths[i] = up.word(nameIn(sc.Name, templates))
	}
	for i := range s.Stacks {
		f.stacks[i] = similar.fingerprint(&s.Stacks[i])
	}
	return f
}

func nameIn(name string, templates bool) string {
	if templates {
		return Template(name)
	}
	return name
}

// scope returns the fingerprint of a scope's path.
func (f *fingerprints) scope(i int) string { return f.paths[i].String() }

// group returns the fingerprint of a group.
func (f *fingerprints) group(g *Group) string {
	h := f.paths[g.Scope]
	if g.Stack >= 0 {
		return h.word(f.similar.String()).word(f.stacks[g.Stack]).String()
	}
	return h.word(g.State.String()).String()
}
