package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/vtscope/vtscope/dump"
	"github.com/vtscope/vtscope/dump/filter"
	"github.com/vtscope/vtscope/dump/stream"
	"github.com/vtscope/vtscope/runtime/durable/jetstream"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// patience is how long all of it may take.
const patience = 2 * time.Minute

// run answers, and returns the exit code: 0 for an answer, 1 for a problem, 2 for a question that is none.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	var q stream.Question
	err := error(nil)
	if len(args) > 0 {
		err = fmt.Errorf("unknown argument %q", args[0])
	} else {
		q, err = stream.ReadQuestion(in)
	}
	if err != nil {
		fmt.Fprintf(dump.CleanText(errs, false), "%s: %v\n    try: vtdump durable nats://HOST:PORT, which calls it\n", stream.Command, err)
		return 2
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	code := 0
	a, err := answer(ctx, &q)
	if err != nil {
		a, code = &stream.Answer{Problem: problem(&q, err)}, 1
	}
	if err := stream.Write(out, a); err != nil {
		fmt.Fprintf(dump.CleanText(errs, false), "%s: %v\n", stream.Command, err)
		return 1
	}
	return code
}

func answer(ctx context.Context, q *stream.Question) (*stream.Answer, error) {
	o := dump.DurableOptions{Top: q.Top}
	var err error
	if o.Filter, err = filter.ParseDurable(q.Filter); err != nil {
		return nil, err
	}
	if q.Sort != "" {
		if o.Sort, err = dump.ParseDurableSort(q.Sort); err != nil {
			return nil, err
		}
	}
	connect, err := letIn(q)
	if err != nil {
		return nil, err
	}
	r, err := jetstream.OpenReader(ctx, jetstream.ReaderOptions{URL: q.URL, Namespace: q.Namespace, Connect: connect})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if q.Thread != "" {
		return history(ctx, r, q)
	}
	return list(ctx, r, q, o)
}

// letIn says how the servers know us. Files are looked at here, since NATS says less of what is wrong with them.
func letIn(q *stream.Question) (o []nats.Option, err error) {
	if (q.Certificate == "") != (q.Key == "") {
		return nil, errors.New("a certificate needs its key, and a key its certificate")
	}
	for _, path := range []string{q.Credentials, q.NKey, q.CA, q.Certificate, q.Key} {
		if path == "" {
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		f.Close()
	}
	if q.Credentials != "" {
		o = append(o, nats.UserCredentials(q.Credentials))
	}
	if q.NKey != "" {
		key, err := nats.NkeyOptionFromSeed(q.NKey)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", q.NKey, err)
		}
		o = append(o, key)
	}
	if q.User != "" {
		o = append(o, nats.UserInfo(q.User, q.Password))
	}
	if q.CA != "" {
		o = append(o, nats.RootCAs(q.CA))
	}
	if q.Certificate != "" {
		o = append(o, nats.ClientCert(q.Certificate, q.Key))
	}
	return o, nil
}

// mostDamaged is how many threads are named whose journals cannot be read.
const mostDamaged = 5

func list(ctx context.Context, r *jetstream.Reader, q *stream.Question, o dump.DurableOptions) (*stream.Answer, error) {
	fold := dump.NewDurableFold(o, time.Now())
	var damaged []string
	look, err := r.Look(ctx, jetstream.LookOptions{Journals: q.Journals}, func(t *jetstream.TreeSeen) error {
		if t.Trouble != nil && len(damaged) < mostDamaged {
			damaged = append(damaged, fmt.Sprintf("the journal of %s: %v: told is what its head says", t.ID, t.Trouble))
		}
		for _, row := range t.Rows() {
			fold.Add(row)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	incomplete := damaged
	if n := look.Damaged - len(damaged); n > 0 {
		incomplete = append(incomplete, fmt.Sprintf("%s cannot be read", dump.Count(n, "more journal")))
	}
	if n := look.Trees - look.Read; n > 0 {
		why := "--journals 0 reads all"
		if look.Late {
			why = "there was no time for more"
		}
		incomplete = append(incomplete, fmt.Sprintf("of %s the heads alone were read (%s): their steps, bytes, errors, children and when they began are not known, and filters and orders by those pass them over",
			dump.Count(n, "thread"), why))
	}
	if look.Came > 0 {
		incomplete = append(incomplete, fmt.Sprintf("not one moment: %s came in the %s that it took; each thread with its children is as it was at one of them", dump.Count(look.Came, "message"), dump.Span(look.Took)))
	}
	return &stream.Answer{Durables: fold.Done(sourceOf(q, look), incomplete...)}, nil
}

func history(ctx context.Context, r *jetstream.Reader, q *stream.Question) (*stream.Answer, error) {
	t, look, err := r.Thread(ctx, q.Thread)
	if err != nil {
		return nil, err
	}
	if t != nil && t.Trouble != nil {
		return nil, fmt.Errorf("thread %s: %w", q.Thread, t.Trouble)
	}
	var im *journal.Image
	if t != nil {
		im = journal.Find([]*journal.Image{t.Root}, q.Thread)
	}
	if im == nil {
		return nil, fmt.Errorf("%w", stream.ErrNoThread)
	}
	h := journal.HistoryOf(im, q.Look)
	h.Row = t.Row(im)
	for i := range im.Children {
		h.Children[i] = t.Row(&im.Children[i])
	}
	h.Leases = t.Moves
	return &stream.Answer{Thread: dump.NewDurableThread(h, sourceOf(q, look), time.Now())}, nil
}

func sourceOf(q *stream.Question, look *jetstream.Look) dump.DurableSource {
	s := dump.DurableSource{Kind: dump.FromStream, Path: stream.Shown(q.URL), Bytes: int64(look.Bytes), Stream: &dump.DurableStream{
		Name: look.Stream, Namespace: strings.TrimPrefix(look.Stream, "vt-"), Messages: look.Messages, Trees: look.Trees, Read: look.Read, Came: look.Came,
		Took: look.Took, Listened: look.Listened,
	}}
	for _, m := range look.Members {
		s.Stream.Keepers = append(s.Stream.Keepers, dump.DurableKeeper{Name: m.Name, Trees: m.Trees, Lease: m.Lease, Silent: m.Silent, Unheard: m.Unheard})
	}
	return s
}

// problem writes an error down, with the next step.
func problem(q *stream.Question, err error) *stream.Problem {
	p := &stream.Problem{Kind: "other", Text: withoutSecrets(q, err.Error())}
	var none *jetstream.NoStream
	switch {
	case errors.Is(err, stream.ErrNoThread):
		p.Kind = "no-thread"
	case errors.As(err, &none):
		p.Kind, p.Try = "no-stream", "--namespace NAME, that of the store's options"
		if len(none.Others) > 0 {
			p.Try = "--namespace " + strings.Join(none.Others, ", or ")
		}
	case errors.Is(err, jetstream.ErrDenied):
		p.Kind, p.Try = "denied", "--creds FILE, nats://USER:PASSWORD@HOST:PORT, or a certificate with --cert and --key; docs/durable.md has the permissions that are needed"
	case errors.Is(err, jetstream.ErrSilent):
		p.Kind, p.Try = "silent", "nats server report jetstream, to see whether the stream has a leader; the user may lack permissions, which docs/durable.md has"
	case errors.Is(err, jetstream.ErrNoServer):
		p.Kind, p.Try = "no-server", "the address as the program's options have it; tls:// and --ca FILE for servers with certificates"
	case errors.Is(err, journal.ErrDamaged):
		p.Try = "vtdump durable " + stream.Shown(q.URL) + ", for what its head says"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		p.Try = "a file that can be read"
	}
	return p
}

// withoutSecrets keeps what lets us in out of an error.
func withoutSecrets(q *stream.Question, text string) string {
	for one := range strings.SplitSeq(q.URL, ",") {
		one = strings.TrimSpace(one)
		text = strings.ReplaceAll(text, one, stream.Shown(one))
		if i := strings.LastIndexByte(one, '@'); i >= 0 {
			if _, secret, ok := strings.Cut(one[:i], "://"); ok && secret != "" {
				text = strings.ReplaceAll(text, secret+"@", "")
			}
		}
	}
	if q.Password != "" {
		text = strings.ReplaceAll(text, q.Password, "…")
	}
	return text
}
