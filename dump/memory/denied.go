package memory

// Denied is the error of a process that may not be looked at. It matches [flight.ErrPermission].
type Denied struct {
	Err error
	Try string // who may, in words that go on after "try:"
}

func (d *Denied) Error() string { return d.Err.Error() }
func (d *Denied) Unwrap() error { return d.Err }
