package control

import (
	"context"
	"fmt"
	"time"

	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// A limit bounds what the answer to a command may cost its caller: a process owns its flight file,
// and may answer what it likes.
type limit struct {
	what  string
	bytes int
	time  time.Duration // from connecting to the last byte, beside what the command itself takes
}

const (
	profileCommand = "profile"
	durablePages   = "durable, all pages" // the answers together that list the durable threads of a process
	otherCommands  = "any other"
)

// limits are those of answers, by command. docs/security.md has this table.
var limits = []limit{
	{"hello", 64 << 10, 10 * time.Second},
	{"settings", 64 << 10, 10 * time.Second},
	{profileCommand, 16 << 20, 10 * time.Second},
	{journal.Command, 32 << 20, 10 * time.Second},
	{durablePages, 512 << 20, 2 * time.Minute},
	{otherCommands, 1 << 20, 10 * time.Second},
}

// limitOf returns the row of a command. The last row is that of all others.
func limitOf(what string) *limit {
	for i := range limits[:len(limits)-1] {
		if limits[i].what == what {
			return &limits[i]
		}
	}
	return &limits[len(limits)-1]
}

func (l *limit) tooLarge(n int) error {
	return fmt.Errorf("%w: %d bytes, of at most %d", ErrLarge, n, l.bytes)
}

// Profile has the process of the flight file at path take one of Go's profiles of itself: "cpu" for
// the time d, others with d 0. Package dump/profile reads the answer.
func Profile(ctx context.Context, path, name string, d time.Duration) ([]byte, error) {
	if d > 0 {
		name += " " + d.String()
	}
	l := *limitOf(profileCommand)
	l.time += d
	return l.ask(ctx, path, profileCommand, []byte(name))
}
