package dump

// Compare notes in s how the scopes and groups changed since old, an earlier snapshot of the same process.
// Scopes and groups of old that s does not have are not noted.
func Compare(old, s *Snapshot) {
	scopes := make(map[string]int, len(old.Scopes))
	for i := range old.Scopes {
		scopes[old.Scopes[i].Key] += old.Scopes[i].Total
	}
	for i := range s.Scopes {
		s.Scopes[i].Change = s.Scopes[i].Total - scopes[s.Scopes[i].Key]
	}
	groups := make(map[string]int, len(old.Groups))
	for i := range old.Groups {
		groups[old.Groups[i].Key] += old.Groups[i].Count
	}
	for i := range s.Groups {
		s.Groups[i].Change = s.Groups[i].Count - groups[s.Groups[i].Key]
	}
	s.ChangeOver = s.Taken.Sub(old.Taken)
}
