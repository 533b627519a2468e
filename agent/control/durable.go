package control

import (
	"bytes"
	"cmp"
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
		var text []byte
		if text, err = askDurable(ctx, p.Path, &journal.Question{Thread: id, Look: l}); err == nil {
			if a, err = history(text); err != nil {
				err = malformed(err)
			}
		}
		if err == nil {
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

// rows calls f with each thread of the keepers of the process of a flight file, and returns where
// they are kept. There are as many pages as the process says, within their limit.
func rows(ctx context.Context, path string, f func(journal.DurableRow)) (stores []journal.StoreTold, err error) {
	l := limitOf(durablePages)
	ctx, cancel := context.WithTimeoutCause(ctx, l.time, fmt.Errorf("control: %s: %w in full within %v", l.what, ErrSilent, l.time))
	defer cancel()
	all := 0
	for q := (journal.Question{}); ; {
		text, err := askDurable(ctx, path, &q)
		if ctx.Err() == context.DeadlineExceeded {
			err = context.Cause(ctx)
		}
		if all += len(text); err == nil && all > l.bytes {
			err = fmt.Errorf("control: %s: %w", l.what, l.tooLarge(all))
		}
		if err != nil {
			return nil, err
		}
		a, err := page(text, f)
		if err != nil {
			return nil, malformed(err)
		}
		stores = a.Stores
		if a.Next == "" || a.Next <= q.After {
			return stores, nil
		}
		q.After = a.Next
	}
}

func malformed(err error) error {
	if errors.Is(err, ErrLarge) {
		return fmt.Errorf("control: %s: %w", journal.Command, err)
	}
	return fmt.Errorf("control: %s: malformed answer: %w", journal.Command, err)
}

func askDurable(ctx context.Context, path string, q *journal.Question) ([]byte, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	return Ask(ctx, path, journal.Command, body)
}

// What an answer may consist of: two bytes of JSON may become a structure of hundreds.
const (
	mostRow    = 8 << 10 // bytes of a row; an honest one has a few hundred
	mostOfPage = 1 << 16 // bytes of what a page has beside its rows
	mostParts  = 400_000 // values of the history of a thread, which has at most ten thousand steps of a dozen
)

// page calls f with each row of an answer, and returns the rest of it. Rows are decoded one by one:
// all of them together could become a hundred times the text.
func page(text []byte, f func(journal.DurableRow)) (rest journal.Answer, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if err := begin(d, '{'); err != nil {
		return rest, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return rest, err
		}
		switch key {
		case "rows":
			err = eachRow(d, f)
		case "stores":
			err = decodeRest(d, &rest.Stores)
		case "next":
			err = decodeRest(d, &rest.Next)
		default:
			err = decodeRest(d, new(json.RawMessage))
		}
		if err != nil {
			return rest, err
		}
	}
	return rest, nil
}

func eachRow(d *json.Decoder, f func(journal.DurableRow)) error {
	if err := begin(d, '['); err != nil {
		return err
	}
	for d.More() {
		var row journal.DurableRow
		at := d.InputOffset()
		if err := d.Decode(&row); err != nil {
			return err
		}
		if n := int(d.InputOffset() - at); n > mostRow {
			return fmt.Errorf("%w: a row of %d bytes, of at most %d", ErrLarge, n, mostRow)
		}
		f(row)
	}
	_, err := d.Token()
	return err
}

func begin(d *json.Decoder, want json.Delim) error {
	if t, err := d.Token(); err != nil || t != want {
		return cmp.Or(err, fmt.Errorf("%v instead of %v", t, want))
	}
	return nil
}

// decodeRest decodes the next value, which is none of the rows.
func decodeRest(d *json.Decoder, to any) error {
	var text json.RawMessage
	if err := d.Decode(&text); err != nil {
		return err
	}
	if len(text) > mostOfPage {
		return fmt.Errorf("%w: a value of %d bytes, of at most %d", ErrLarge, len(text), mostOfPage)
	}
	return json.Unmarshal(text, to)
}

// history decodes the answer about one thread.
func history(text []byte) (*journal.Answer, error) {
	if n := parts(text); n > mostParts {
		return nil, fmt.Errorf("%w: %d values, of at most %d", ErrLarge, n, mostParts)
	}
	a := new(journal.Answer)
	return a, json.Unmarshal(text, a)
}

// parts counts the commas between the values of a JSON text.
func parts(text []byte) (n int) {
	within := false // of a string
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			within = !within
		case '\\':
			if within {
				i++
			}
		case ',':
			if !within {
				n++
			}
		}
	}
	return n
}
