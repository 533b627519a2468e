package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/vtscope/vtscope/agent/control"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/dump/stream"
	"github.com/vtscope/vtscope/internal/plainfile"
	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/flight"
)

// durableFlags are those of vtdump durable.
type durableFlags struct {
	sort      *dump.DurableSort
	values    bool
	namespace string
	creds     string
	journals  int
}

func (s *settings) durableOptions() dump.DurableOptions {
	return dump.DurableOptions{Filter: s.filter, Sort: s.durable.sort, Top: orDefault(s.top)}
}

// parseFilter reads --filter, in the language of the command.
func (s *settings) parseFilter() (err error) {
	if s.command == commandDurable {
		s.filter, err = filter.ParseDurable(s.filtered)
	} else if s.given("filter") {
		s.filter, err = filter.Parse(s.filtered)
	}
	return err
}

// durableSorts tells what --sort can be.
func durableSorts() string {
	var all []string
	for i := range dump.DurableSorts {
		o := &dump.DurableSorts[i]
		all = append(all, o.Name+" ("+o.About+")")
	}
	return strings.Join(all, ", ")
}

// look says how much of a history is wanted: --top and --values.
func (s *settings) look() journal.Look {
	l := journal.Look{Last: dump.UsualSteps, Value: dump.UsualValue}
	if s.top != unset {
		l.Last = s.top
	}
	if s.durable.values {
		l.Value = 0
	}
	return l
}

// durables prints the durable threads of a process, a folder or a file, or the history of one.
func (s *settings) durables(ctx context.Context, w world) error {
	if len(s.more) > 1 {
		return usageError{fmt.Sprintf("one durable thread at a time, and not %q", s.more), s.call() + " " + s.shown() + " " + s.more[0]}
	}
	id := ""
	if len(s.more) == 1 {
		id = s.more[0]
		for _, row := range s.used {
			if row.name == "filter" || row.name == "sort" {
				return usageError{"--" + row.name + " is of the list", s.call() + " " + s.shown() + " without the id " + id}
			}
		}
	} else if s.durable.values {
		return usageError{"--values is of one thread", s.call() + " " + s.shown() + " ID --values"}
	}
	kind, err := durableTarget(s.target)
	if err == nil && kind != dump.FromStream {
		err = s.refuseOfStream()
	}
	switch {
	case err != nil:
		return err
	case kind == dump.FromStream:
		return s.durablesOfStream(ctx, w, id)
	case kind == dump.FromFolder:
		return s.durablesOfFolder(w, id)
	case kind == dump.FromBytes:
		return s.durablesOfBytes(w, id)
	case s.remote.key != "":
		return usageError{"--key: " + s.target + " is no file with the bytes of a thread", s.call() + " " + s.shown() + " without it"}
	}
	r, err := open(s.call(), s.target, w.now())
	if err != nil {
		return err
	}
	p := r.Process()
	r.Close()
	if id == "" {
		doc, err := control.Durables(ctx, p, s.durableOptions())
		return s.printDurables(w, doc, s.askedTry(p, err))
	}
	doc, err := control.DurableThread(ctx, p, id, s.look())
	return s.printDurable(w, doc, s.askedTry(p, err))
}

// durableTarget tells whether a target is a folder, bytes, or a stream; "" is a process.
func durableTarget(target string) (kind string, err error) {
	if stream.Is(target) {
		return dump.FromStream, nil
	}
	info, err := os.Stat(target)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		return "", hint{err, "as the user who runs the program"}
	}
	switch {
	case info.IsDir() && !isProgram(target):
		return dump.FromFolder, nil
	case info.Mode().IsRegular() && isBytes(target):
		return dump.FromBytes, nil
	}
	return "", nil
}

// isProgram reports whether a process is called so, which then is meant, as in other commands.
func isProgram(name string) bool {
	if strings.ContainsAny(name, "/"+string(os.PathSeparator)) || name == "." || name == ".." {
		return false
	}
	if _, err := strconv.Atoi(name); err == nil {
		return true
	}
	processes, _ := flight.List()
	for _, p := range processes {
		if p.Program == name {
			return true
		}
	}
	return false
}

func isBytes(path string) bool {
	f, err := plainfile.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, 64)
	n, _ := f.Read(b)
	_, err = journal.ParseHeader(b[:n])
	return err == nil
}

func (s *settings) durablesOfFolder(w world, id string) error {
	if s.remote.key != "" {
		return usageError{"--key: a folder is not encrypted", s.call() + " " + s.target + " without it"}
	}
	try := func(err error) error {
		switch {
		case err == nil:
			return nil
		case errors.Is(err, journal.ErrDamaged):
			return hint{err, "the disk, and a copy of the folder: a keeper refuses it as it is"}
		case errors.Is(err, fs.ErrPermission):
			return hint{err, "as the user who runs the program, or with sudo"}
		case errors.Is(err, fs.ErrNotExist):
			return hint{err, s.call() + " PID, if a process has the threads"}
		}
		return hint{err, "the folder that durable.NewFileStore was given; of another store: " + s.call() + " PID"}
	}
	if id == "" {
		doc, err := dump.DurablesOfFolder(s.target, s.durableOptions())
		return s.printDurables(w, doc, try(err))
	}
	doc, err := dump.DurableThreadOfFolder(s.target, id, s.look())
	if doc == nil && err == nil {
		err = control.ErrNoThread
		return s.printDurable(w, nil, s.noThread(err))
	}
	return s.printDurable(w, doc, try(err))
}

func (s *settings) noThread(err error) error {
	return hint{fmt.Errorf("%s: %s: %w", s.target, s.more[0], err),
		s.call() + " " + s.target + ", for a list; one that was joined, or forgotten, is not kept"}
}

func (s *settings) durablesOfBytes(w world, id string) error {
	b, err := plainfile.Read(s.target, journal.MaxFile)
	if err != nil {
		return err
	}
	header, err := journal.ParseHeader(b)
	if err != nil {
		return fmt.Errorf("%s: %w", s.target, err)
	}
	var keys *journal.Keys
	if s.remote.key != "" {
		secret, err := plainfile.Read(s.remote.key, 64<<10)
		if err != nil {
			return fmt.Errorf("--key: %w", err)
		}
		secrets := [][]byte{secret}
		if trimmed := bytes.TrimRight(secret, "\r\n"); len(trimmed) < len(secret) { // editors end a file with one
			secrets = append(secrets, trimmed)
		}
		if keys, err = journal.NewKeys(secrets...); err != nil {
			return hint{fmt.Errorf("--key %s: %w", s.remote.key, err), "the secret that the program gave to journal.NewKeys, as it is"}
		}
	}
	explain := func(err error) error {
		at := fmt.Errorf("%s: %w", s.target, err)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, journal.ErrKey) && keys == nil:
			return hint{fmt.Errorf("%s: %s of a thread of format %d, encrypted with the key %s: nothing else can be told without it",
				s.target, dump.Count(len(b), "byte"), header.Version, header.KeyID), "--key FILE, with the secret that the program gave to journal.NewKeys"}
		case errors.Is(err, journal.ErrKey):
			return hint{fmt.Errorf("%s: it is encrypted with the key %s, and %s has %s", s.target, header.KeyID, s.remote.key, strings.Join(keys.IDs(), ", ")),
				"the secret of the program that has written it"}
		case errors.Is(err, journal.ErrUnsigned):
			return hint{at, s.call() + " " + s.target + " without --key, if who wrote it may be trusted"}
		case errors.Is(err, journal.ErrVersion):
			return hint{at, "a vtdump of the program's version"}
		case errors.Is(err, journal.ErrDamaged):
			return hint{at, "another copy: none of it can be trusted"}
		}
		return at
	}
	if id == "" {
		doc, err := dump.DurablesOfBytes(s.target, b, keys, s.durableOptions())
		return s.printDurables(w, doc, explain(err))
	}
	doc, err := dump.DurableThreadOfBytes(s.target, b, keys, id, s.look())
	if doc == nil && err == nil {
		return s.noThread(control.ErrNoThread)
	}
	return s.printDurable(w, doc, explain(err))
}

// askedTry adds the next step to an error of asking a process.
func (s *settings) askedTry(p flight.Process, err error) error {
	at := fmt.Errorf("%s: %w", s.target, err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, control.ErrNoThread):
		return s.noThread(err)
	case errors.Is(err, control.ErrNoKeepers):
		return hint{at, s.call() + " DIR, if they are in a folder; threads without a keeper are told by vtdump " + s.target}
	case errors.Is(err, control.ErrPermission):
		return hint{at, "as the user who runs the program"}
	case errors.Is(err, journal.ErrDamaged):
		return hint{at, "the disk"}
	case !p.Status.Live():
		return hint{at, s.call() + " DIR, the folder of its file store: what it had is there"}
	case errors.Is(err, control.ErrSilent), errors.Is(err, control.ErrNone), errors.Is(err, control.ErrBusy), errors.Is(err, control.ErrLarge):
		return hint{at, s.call() + " DIR, the folder of its file store, if it has one; vtdump " + strconv.Itoa(p.PID) + " shows its virtual threads without asking it"}
	}
	return at
}

// printDurables prints what there is, and returns err: of a damaged folder there are both.
func (s *settings) printDurables(w world, doc *dump.Durables, err error) error {
	if doc == nil {
		return err
	}
	print := func() error { return dump.DurablesText(w.stdout, doc, s.textOptions(w)) }
	if s.format == "json" {
		print = func() error { return dump.DurablesJSON(w.stdout, doc) }
	}
	if err := written(0, print()); err != nil {
		return err
	}
	return err
}

func (s *settings) printDurable(w world, doc *dump.DurableThread, err error) error {
	if doc == nil {
		return err
	}
	print := func() error { return dump.DurableThreadText(w.stdout, doc, s.durable.values, s.textOptions(w)) }
	if s.format == "json" {
		print = func() error { return dump.DurableThreadJSON(w.stdout, doc) }
	}
	if err := written(0, print()); err != nil {
		return err
	}
	return err
}

// durableIDs are those of the threads of the target that are worth a look first.
func (s *settings) durableIDs(ctx context.Context, w world) (found []candidate) {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	o := dump.DurableOptions{Top: 200} // of more nobody chooses
	var doc *dump.Durables
	switch kind, _ := durableTarget(s.target); kind {
	case dump.FromFolder:
		doc, _ = dump.DurablesOfFolder(s.target, o) // vtdump tells when it is called
	case dump.FromStream:
		if answer, err := stream.Ask(ctx, s.streamQuestion(w, "")); err == nil {
			doc = answer.Durables
		}
	case "":
		r, err := open(s.call(), s.target, w.now())
		if err != nil {
			return nil
		}
		p := r.Process()
		r.Close()
		doc, _ = control.Durables(ctx, p, o)
	}
	if doc == nil {
		return nil
	}
	for i := range doc.Rows {
		row := &doc.Rows[i]
		found = append(found, candidate{row.ID, strings.TrimSpace(row.Body + ", " + string(row.State) + " " + row.Wait.Of())})
	}
	return found
}
