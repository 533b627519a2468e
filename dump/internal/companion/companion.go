package companion

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Find returns the path of a command that is beside the one that executes, or else on the PATH; ok is false if it is neither.
func Find(command string) (path string, ok bool) {
	if self, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), command)); err == nil {
			return path, true
		}
	}
	path, err := exec.LookPath(command)
	return path, err == nil
}

// A Call is one of a companion.
type Call struct {
	Path         string
	Args         []string
	In           io.Reader // its standard input; nil: none
	Patience     time.Duration
	OtherVersion error // what errors match of an answer in another form: the command is to be built again
}

// Ask starts a companion and waits for its answer, which read reads; an error of type P is one, and is returned as it is. Others are those of ctx, say what the command has
// printed, or that it is to be built again.
func Ask[A any, P error](ctx context.Context, c Call, read func(io.Reader) (*A, error)) (*A, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.In, &out, &limited{to: &errs, left: 4 << 10}
	cmd.WaitDelay = time.Second
	runErr := cmd.Run()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("ask %s: %w", c.Path, err)
	}
	answer, err := read(&out)
	var problem P
	switch {
	case err == nil, errors.As(err, &problem):
		return answer, err
	case errors.Is(err, c.OtherVersion):
		return nil, fmt.Errorf("%w: build %s again", err, c.Path)
	case runErr != nil:
		return nil, fmt.Errorf("ask %s: %w: %s", c.Path, runErr, bytes.TrimSpace(errs.Bytes()))
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
