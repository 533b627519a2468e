// Package command reads what fixtures are told on the command line.
//
//	code, ok := command.Parse(set, args, stderr, func() string {
//		if o.rate < 1 {
//			return fmt.Sprintf("-rate %d: want 1 or more", o.rate)
//		}
//		return ""
//	})
//
// # Concurrency
//
// [Parse] may be called from any goroutine; a set of flags is of one.
//
// # Where to start reading
//
// [Parse] is all there is.
package command
