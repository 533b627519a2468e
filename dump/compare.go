package dump

// Compare notes in s how the scopes and groups changed since old, an earlier snapshot of the same process.
// Scopes and groups of old that s does not have are not noted: see [DiffOf].
func Compare(old, s *Snapshot) {
	scopes := tally(old.Scopes, func(sc *Scope) (string, int) { return sc.Key, sc.Total })
	for i := range s.Scopes {
		s.Scopes[i].Change = s.Scopes[i].Total - scopes[s.Scopes[i].Key]
	}
	groups := tally(old.Groups, func(g *Group) (string, int) { return g.Key, g.Count })
	for i := range s.Groups {
		s.Groups[i].Change = s.Groups[i].Count - groups[s.Groups[i].Key]
	}
	s.ChangeOver = s.Taken.Sub(old.Taken)
}

// tally sums the counts of all that have the same key.
func tally[T any](all []T, of func(*T) (key string, count int)) map[string]int {
	sums := make(map[string]int, len(all))
	for i := range all {
		key, n := of(&all[i])
		sums[key] += n
	}
	return sums
}
