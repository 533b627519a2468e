package memory

// Executable returns the path of the program that has left a core file: that which was given, or else that which ran. "" means that it is not known, or
// that this is no core.
func (s *Source) Executable() string {
	c, ok := s.space.(*core)
	switch {
	case !ok:
		return ""
	case c.override != "":
		return c.override
	}
	return c.exe
}
