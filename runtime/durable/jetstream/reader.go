package jetstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// A Reader looks at the trees of a stream, and takes no part.
//
//	V1  It asks for what is there, and hears beats. It commits nothing, takes no lease, and makes neither stream nor consumer: what it may publish can be limited to
//	    $JS.API.STREAM.INFO, $JS.API.STREAM.NAMES and $JS.API.DIRECT.GET.
//	V2  No answer is waited for without a limit.
//	V3  A tree is as it was at one moment, several are not: [Look] tells how much came meanwhile.
type Reader struct {
	s *Store // has a connection, and is never joined

	mu struct {
		sync.Mutex
		beats   map[string]beat
		trouble error // what the servers have said without being asked
	}
	listens  time.Time     // since when beats are heard
	patience time.Duration // beatsMost; only tests change it
	limits   journal.Limits
	large    sync.Mutex // held while a tree is kept that is more than smallTree
}

// ReaderOptions say which stream a [Reader] looks at. URL must be set.
type ReaderOptions struct {
	URL       string         // as [Options.URL]
	Connect   []nats.Option  // as [Options.Connect]
	Namespace string         // as [Options.Namespace]
	Limits    journal.Limits // how much the journal of a tree may be, as bytes of a thread: of one that is more its head is told
	Within    time.Duration  // how long each server may take to let it in, and one of them to answer. Default: 5 s
}

// Errors of readers.
var (
	ErrNoServer = errors.New("no server lets us in")
	ErrDenied   = errors.New("the servers do not allow it")
	ErrSilent   = errors.New("no server has answered")
	ErrNoStream = errors.New("there is no such stream")
)

// A NoStream is the error of a namespace without a stream. It matches [ErrNoStream].
type NoStream struct {
	Namespace string
	Others    []string // namespaces that have one, if the servers tell
}

func (e *NoStream) Error() string {
	return fmt.Sprintf("no stream %s: no durable threads of namespace %q", subjects{e.Namespace}.stream(), e.Namespace)
}

// Is makes it match [ErrNoStream].
func (e *NoStream) Is(target error) bool { return target == ErrNoStream }

// OpenReader connects, and finds the stream. The error matches [ErrNoServer], [ErrDenied], [ErrSilent], [ErrNoStream], or is of the options.
func OpenReader(ctx context.Context, o ReaderOptions) (*Reader, error) {
	checked, err := Options{URL: o.URL, Namespace: o.Namespace, Limits: o.Limits}.checked()
	if err != nil {
		return nil, err
	}
	o.Within = cmp.Or(o.Within, 5*time.Second)
	o.Limits = journal.Limits{Bytes: cmp.Or(o.Limits.Bytes, journal.MaxFile), Memory: cmp.Or(o.Limits.Memory, 1<<30)}
	r := &Reader{s: &Store{options: checked, names: subjects{checked.Namespace}, answerWithin: o.Within}, patience: beatsMost, limits: o.Limits}
	r.mu.beats = map[string]beat{}
	r.s.relink()
	r.s.hard, r.s.stop = context.WithCancelCause(context.Background())
	err = r.connect(ctx, o)
	if err == nil {
		err = r.find(ctx)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Close ends the connection.
func (r *Reader) Close() {
	r.s.stop(nil)
	if r.s.nc != nil {
		r.s.nc.Close()
	}
}

// A dialer notes why servers could not be reached, which NATS tells of some errors only, and of one server.
type dialer struct {
	ctx context.Context
	net.Dialer
	why []string
}

func (d *dialer) Dial(network, address string) (net.Conn, error) {
	c, err := d.DialContext(d.ctx, network, address)
	if err != nil {
		d.why = append(d.why, err.Error())
	}
	return c, err
}

func (r *Reader) connect(ctx context.Context, o ReaderOptions) error {
	d := &dialer{ctx: ctx, Dialer: net.Dialer{Timeout: o.Within}}
	all := append([]nats.Option{
		nats.Name("vtscope durable: a reader"), nats.Timeout(o.Within), nats.SetCustomDialer(d), nats.MaxReconnects(3), nats.ReconnectWait(100 * time.Millisecond),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { r.setTrouble(err) }),
	}, o.Connect...)
	var err error
	if r.s.nc, err = nats.Connect(o.URL, all...); err == nil {
		d.ctx = context.Background() // of connections that are made again
		r.s.js, err = js.New(r.s.nc)
		return err
	}
	switch {
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked), errors.Is(err, nats.ErrAccountAuthExpired),
		errors.Is(err, nats.ErrNkeysNotSupported), errors.Is(err, nats.ErrUserButNoSigCB), strings.Contains(strings.ToLower(err.Error()), "authorization"):
		return fmt.Errorf("%w: %w", ErrDenied, err)
	case len(d.why) > 0:
		return fmt.Errorf("%w: %s", ErrNoServer, strings.Join(d.why, "; "))
	}
	return fmt.Errorf("%w: %w", ErrNoServer, err)
}

func (r *Reader) setTrouble(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.trouble == nil || errors.Is(err, nats.ErrPermissionViolation) {
		r.mu.trouble = err
	}
}

// attempts is how often a question is asked that nobody answers.
const attempts = 2

// ask asks until there is an answer, at most attempts times. The error matches [ErrSilent] or [ErrDenied] if there is none.
func (r *Reader) ask(ctx context.Context, what string, question func(ctx context.Context) error) (err error) {
	for range attempts {
		within, cancel := context.WithTimeout(ctx, r.s.answerWithin)
		err = question(within)
		late := within.Err() != nil
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%s: %w: %w", what, ErrSilent, context.Cause(ctx))
		case errors.Is(err, nats.ErrNoResponders):
			return fmt.Errorf("%s: %w: JetStream is off there, or off for this account: %w", what, ErrSilent, err)
		case errors.Is(err, js.ErrJetStreamNotEnabled), errors.Is(err, js.ErrJetStreamNotEnabledForAccount):
			return fmt.Errorf("%s: %w: %w", what, ErrSilent, err)
		case !late && !errors.Is(err, nats.ErrTimeout) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, errHole) && !errors.Is(err, nats.ErrConnectionClosed):
			return fmt.Errorf("%s: %w", what, err)
		}
		r.mu.Lock()
		trouble := r.mu.trouble
		r.mu.Unlock()
		if errors.Is(trouble, nats.ErrPermissionViolation) {
			return fmt.Errorf("%s: %w: %w", what, ErrDenied, trouble)
		}
	}
	return fmt.Errorf("%s: %w within %v, asked %d times: %w", what, ErrSilent, r.s.answerWithin, attempts, err)
}

// find finds the stream.
func (r *Reader) find(ctx context.Context) error {
	name := r.s.names.stream()
	err := r.ask(ctx, "stream "+name, func(ctx context.Context) (err error) {
		r.s.stream, err = r.s.js.Stream(ctx, name)
		return err
	})
	if !errors.Is(err, js.ErrStreamNotFound) {
		return err
	}
	no := &NoStream{Namespace: r.s.names.namespace}
	within, cancel := context.WithTimeout(ctx, r.s.answerWithin)
	defer cancel()
	names := r.s.js.StreamNames(within) // if they are not told, nothing is missing
	for other := range names.Name() {
		if ns, ok := strings.CutPrefix(other, subjects{}.stream()); ok && len(no.Others) < 10 {
			no.Others = append(no.Others, ns)
		}
	}
	return no
}

// listen begins to hear beats. Where that is not allowed nobody is heard.
func (r *Reader) listen() {
	r.listens = time.Now()
	_, err := r.s.nc.Subscribe(r.s.names.alive(), func(m *nats.Msg) {
		var b beat
		if json.Unmarshal(m.Data, &b) != nil || b.ID == "" {
			return
		}
		r.mu.Lock()
		r.mu.beats[b.ID] = b
		r.mu.Unlock()
	})
	if err != nil {
		r.setTrouble(err)
	}
}

// heard returns what has been heard of a participant.
func (r *Reader) heard(id string) (b beat, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok = r.mu.beats[id]
	return b, ok && !b.Leaves
}
