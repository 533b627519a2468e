package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/flight"
)

// What errors of [Durables] and [DurableThread] match, beside those of [Ask].
var (
	ErrNoKeepers = errors.New("it has no durable threads: it does not use package durable") // or an older one
	ErrNoThread  = errors.New("no such durable thread")
)

// Durables lists the durable threads of a process's keepers. Of a process that does not answer the folders of its file stores are read, if it has any: the document says why.
func Durables(ctx context.Context, p flight.Process, o dump.DurableOptions) (*dump.Durables, error) {
	fold := dump.NewDurableFold(o, time.Now())
	source := sourceOf(p)
	err := silence(p)
	if err == nil {
		source.Stores, err = rows(ctx, p.Path, fold.Add)
	}
	if err == nil {
		return fold.Done(source), nil
	}
	dir, why := instead(p, err)
	if dir == "" {
		return nil, why
	}
	doc, err := dump.DurablesOfFolder(dir, o)
	if doc != nil {
		doc.Source.Why = why.Error()
	}
	return doc, err
}

// DurableThread tells the history of one of a process's durable threads, as [Durables] does.
func DurableThread(ctx context.Context, p flight.Process, id string, l journal.Look) (*dump.DurableThread, error) {
	source := sourceOf(p)
	err := silence(p)
	if err == nil {
		var a *journal.Answer
		if a, err = askDurable(ctx, p.Path, &journal.Question{Thread: id, Look: l}); err == nil {
			if a.History == nil {
				return nil, ErrNoThread
			}
			source.Stores = a.Stores
			return dump.NewDurableThread(a.History, source, time.Now()), nil
		}
	}
	dir, why := instead(p, err)
	if dir == "" {
		return nil, why
	}
	doc, err := dump.DurableThreadOfFolder(dir, id, l)
	switch {
	case doc != nil:
		doc.Source.Why = why.Error()
	case err == nil:
		err = ErrNoThread
	}
	return doc, err
}

func sourceOf(p flight.Process) dump.DurableSource {
	return dump.DurableSource{Kind: dump.FromProcess, PID: p.PID, Program: p.Program, Status: dump.Status(p.Status.String())}
}

// silence is why a process need not be asked.
func silence(p flight.Process) error {
	switch {
	case !p.Status.Live():
		return fmt.Errorf("%w: it is %s", ErrNone, p.Status)
	case p.Status == flight.StatusStopped:
		return fmt.Errorf("%w: it is stopped", ErrSilent)
	}
	return nil
}

// instead returns the folder that tells what a process does not. dir is empty if there is none, or several; then err says what can be done.
func instead(p flight.Process, why error) (dir string, err error) {
	if errors.Is(why, ErrUnknown) {
		return "", fmt.Errorf("%w (%w)", ErrNoKeepers, why)
	}
	if errors.Is(why, context.Canceled) || errors.Is(why, ErrPermission) {
		return "", why
	}
	var dirs []string
	if p.Status.Live() {
		dirs = journal.FoldersOf(p.PID)
	}
	switch len(dirs) {
	case 1:
		return dirs[0], why
	case 0:
		return "", why
	}
	return "", fmt.Errorf("%w; it has several folders: %s", why, strings.Join(dirs, ", "))
}

// rows calls f with each thread of the keepers of the process of a flight file, and returns where they are kept.
func rows(ctx context.Context, path string, f func(journal.DurableRow)) (stores []journal.StoreTold, err error) {
	for q := (journal.Question{}); ; {
		a, err := askDurable(ctx, path, &q)
		if err != nil {
			return nil, err
		}
		for _, r := range a.Rows {
			f(r)
		}
		stores = a.Stores
		if a.Next == "" || a.Next <= q.After {
			return stores, nil
		}
		q.After = a.Next
	}
}

func askDurable(ctx context.Context, path string, q *journal.Question) (*journal.Answer, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	text, err := Ask(ctx, path, journal.Command, body)
	if err != nil {
		return nil, err
	}
	a := new(journal.Answer)
	if err := json.Unmarshal(text, a); err != nil {
		return nil, fmt.Errorf("control: %s: an answer that is none: %w", journal.Command, err)
	}
	return a, nil
}
