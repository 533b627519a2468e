package locals

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
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
	path, err := find()
	if err != nil {
		return nil, err
	}
	return ask(ctx, path, q)
}

func find() (string, error) {
	if self, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), Command)); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(Command)
	if err != nil {
		return "", ErrNoCommand
	}
	return path, nil
}

func ask(ctx context.Context, path string, q Question) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, q.args()...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &limited{to: &errs, left: 4 << 10}
	cmd.WaitDelay = time.Second
	runErr := cmd.Run()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("locals: ask %s: %w", path, err)
	}
	answer, err := Read(&out)
	var p *Problem
	switch {
	case err == nil, errors.As(err, &p):
		return answer, err
	case errors.Is(err, errOtherVersion):
		return nil, fmt.Errorf("%w: build %s again", err, path)
	case runErr != nil:
		return nil, fmt.Errorf("locals: ask %s: %w: %s", path, runErr, bytes.TrimSpace(errs.Bytes()))
	}
	return nil, err
}

// limited passes on the first bytes that it gets, and takes the others.
type limited struct {
	to   *bytes.Buffer
	left int
}

func (l *limited) Write(b []byte) (int, error) {
	n := min(len(b), l.left)
	l.to.Write(b[:n])
	l.left -= n
	return len(b), nil
}
