package locals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vtscope/vtscope/dump/internal/companion"
)

// Command is the name of the command that answers.
const Command = "vtdelve"

// ErrNoCommand is the error of [Ask] where vtdelve is not to be found. Its text says how to build it.
var ErrNoCommand = errors.New(Command + " is neither beside this command nor on the PATH")

// Build is how to build the command.
const Build = "make build in the repository of vtscope, or go build -C dump/delve -o DIR/ ./cmd/vtdelve, with DIR that of vtdump or on the PATH"

// patience is how long vtdelve may take. Its own limits end it earlier, but for the debug information of a large program.
const patience = time.Minute

// Ask starts vtdelve, found beside this command or else on the PATH, and waits for its answer. Errors are [ErrNoCommand], those of ctx, or
// match one of the kinds of a [Problem].
func Ask(ctx context.Context, q Question) (*Answer, error) {
	path, err := Path()
	if err != nil {
		return nil, err
	}
	return ask(ctx, path, q)
}

// Path returns where vtdelve is, beside this command or else on the PATH. Its error is [ErrNoCommand].
func Path() (string, error) {
	path, ok := companion.Find(Command)
	if !ok {
		return "", ErrNoCommand
	}
	return path, nil
}

func ask(ctx context.Context, path string, q Question) (*Answer, error) {
	answer, err := companion.Ask[Answer, *Problem](ctx, companion.Call{Path: path, Args: q.args(), Patience: patience, OtherVersion: errOtherVersion}, Read)
	if p := (*Problem)(nil); err != nil && !errors.As(err, &p) {
		err = fmt.Errorf("locals: %w", err)
	}
	return answer, err
}
