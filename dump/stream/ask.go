package stream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/vtscope/vtscope/dump/internal/companion"
)

// Command is the name of the command that answers.
const Command = "vtstream"

// ErrNoCommand is the error of [Ask] where vtstream is not to be found.
var ErrNoCommand = errors.New(Command + ", which reads streams, is neither beside this command nor on the PATH")

// Build is how to build the command.
const Build = "make build in the repository of vtscope, or go build -C runtime/durable/jetstream -o DIR/ ./cmd/vtstream, with DIR that of vtdump or on the PATH"

// patience is how long vtstream may take. Its own limits end it earlier.
const patience = 3 * time.Minute

// Ask starts vtstream, found beside this command or else on the PATH, and waits for its answer. Errors are [ErrNoCommand], those of ctx, or a [Problem].
func Ask(ctx context.Context, q Question) (*Answer, error) {
	path, ok := companion.Find(Command)
	if !ok {
		return nil, ErrNoCommand
	}
	return ask(ctx, path, q)
}

func ask(ctx context.Context, path string, q Question) (*Answer, error) {
	q.Format = Format
	text, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	answer, err := companion.Ask[Answer, *Problem](ctx, companion.Call{Path: path, In: bytes.NewReader(text), Patience: patience, OtherVersion: errOtherVersion}, Read)
	if p := (*Problem)(nil); err != nil && !errors.As(err, &p) {
		err = fmt.Errorf("stream: %w", err)
	}
	return answer, err
}
