package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/flight"
)

// What errors of [Ask] match.
var (
	ErrNone       = errors.New("it has no control socket") // it is gone, or could not make one
	ErrSilent     = errors.New("it does not answer")       // it hangs, is stopped, or has too much to do
	ErrBusy       = errors.New("it is busy")               // another long command is executed
	ErrUnknown    = errors.New("it does not know this")    // no such command, or another version of the protocol
	ErrFailed     = errors.New("it says")                  // the command was refused or failed: the rest is the process's
	ErrLarge      = errors.New("its answer is too large")  // beyond the limits of the command
	ErrPermission = errors.New("permission denied")        // the process belongs to another user, or another one answers
)

// errStranger is what errors match of sockets that are not those of the flight file's process. They also match [ErrPermission].
var errStranger = fmt.Errorf("it is not the process's own: %w", fs.ErrPermission)

// Ask has the process of the flight file at path execute a command, and returns its answer. It
// waits until ctx ends, at most as long as the limits of the command say: ten seconds. [Profile]
// waits for commands that take a time.
func Ask(ctx context.Context, path, command string, body []byte) ([]byte, error) {
	return limitOf(command).ask(ctx, path, command, body)
}

// ask is [Ask] within a limit.
func (l *limit) ask(ctx context.Context, path, command string, body []byte) ([]byte, error) {
	began := time.Now()
	answer, err := l.exchange(ctx, path, command, body)
	if err == ErrSilent {
		err = fmt.Errorf("%w in full within %v", ErrSilent, time.Since(began).Round(100*time.Millisecond))
	}
	if err != nil {
		return nil, fmt.Errorf("control: %s: %w", command, err)
	}
	return answer, nil
}

func (l *limit) exchange(ctx context.Context, path, command string, body []byte) ([]byte, error) {
	if len(body) > flight.MaxControlBody {
		return nil, fmt.Errorf("%d bytes: at most %d", len(body), flight.MaxControlBody)
	}
	if flight.SocketPath(path) == "" {
		return nil, ErrNone
	}
	ctx, cancel := context.WithTimeout(ctx, l.time)
	defer cancel()
	c, err := dial(ctx, path)
	if err != nil {
		return nil, why(err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	if err := flight.WriteControl(c, command, body); err != nil {
		return nil, why(err)
	}
	word, answer, err := flight.ReadControl(c, l.bytes)
	var large *flight.LargeError
	if errors.As(err, &large) {
		return nil, l.tooLarge(large.Bytes)
	}
	if errors.Is(err, flight.ErrControlVersion) {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	if err != nil {
		return nil, why(err)
	}
	switch word {
	case flight.AnswerOK:
		return answer, nil
	case flight.AnswerBusy:
		return nil, fmt.Errorf("%w: %s", ErrBusy, clean(answer))
	case flight.AnswerUnknown:
		return nil, fmt.Errorf("%w: %s", ErrUnknown, clean(answer))
	}
	return nil, fmt.Errorf("%w: %s", ErrFailed, clean(answer))
}

// mostWords is how many bytes of a reason an error has.
const mostWords = 4 << 10

// clean returns the first bytes of the reason that a process gives, for a terminal.
func clean(reason []byte) []byte {
	if len(reason) > mostWords {
		reason = append(bytes.Clone(reason[:mostWords]), "…"...)
	}
	return dump.PrintableText(reason)
}

func why(err error) error {
	switch {
	case errors.Is(err, errStranger):
		return fmt.Errorf("%w: %w", ErrPermission, err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return ErrNone
	case errors.Is(err, fs.ErrPermission):
		return ErrPermission
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), errors.Is(err, syscall.EAGAIN):
		return ErrSilent
	case errors.Is(err, context.Canceled):
		return err
	}
	return fmt.Errorf("%w: %w", ErrSilent, err)
}
