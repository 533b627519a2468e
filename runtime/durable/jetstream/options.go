package jetstream

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// Options say which stream a [Store] is in, and how it takes part. URL or Dir must be set, but not both.
type Options struct {
	// URL is where the servers are: one, or some of a cluster, separated by commas. They have JetStream.
	URL string
	// Dir is the folder of a server in this process, which is started and closed with the store. Others can use it if Listen is set: see [ServerOptions].
	Dir    string
	Listen string
	Token  string

	Connect []nats.Option // how to connect to URL: credentials, certificates

	// Namespace tells threads of different programs apart, in one cluster: letters, digits, minus and underscore. Default: "durable".
	Namespace string
	// Replicas is how many servers have the stream, if it is made. Default: 3 in a cluster, else 1. A stream that is there stays as it is.
	Replicas int

	// Name is what this participant is called where people look. Default: the host and the process.
	Name string
	// Lease is how long a participant may be silent before others take its trees. Default: 10 s. 100 ms to 24 h. A longer one is slower after a death; with a shorter one
	// trees are taken from participants that are merely slow, which costs a replay, and harms nothing. Where participants have other ones, one is given the time of its own lease, or
	// of that of who would take the tree, whichever is longer.
	Lease time.Duration
	// Room is how many trees this participant has at most before it takes no more; those that are started here are not refused. Default (0): no limit. -1: it takes none.
	Room int
	// Limits say how much memory a message may ask for where it is read; entries that ask for more are not committed. All participants have the same. Bytes is not looked at: the
	// servers say how large a message is.
	Limits journal.Limits
	// Patience is how long Close tries to tell servers that do not answer what is under way. Default: 5 s.
	Patience time.Duration
}

func (o Options) checked() (Options, error) {
	bad := func(what string, args ...any) (Options, error) {
		return o, fmt.Errorf("jetstream: open: "+what, args...)
	}
	if (o.URL == "") == (o.Dir == "") {
		return bad("want a URL, or a folder")
	}
	if o.Dir == "" && o.Listen != "" {
		return bad("listen on %s: there is a server elsewhere", o.Listen)
	}
	o.Namespace = cmp.Or(o.Namespace, "durable")
	if strings.Trim(o.Namespace, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" || len(o.Namespace) > 64 {
		return bad("namespace %q", o.Namespace)
	}
	o.Lease = cmp.Or(o.Lease, usualLease)
	o.Patience = cmp.Or(o.Patience, 5*time.Second)
	switch {
	case o.Lease < 100*time.Millisecond, o.Lease > longestLease:
		return bad("a lease of %v", o.Lease)
	case o.Room < -1:
		return bad("room for %d", o.Room)
	case o.Replicas < 0 || o.Replicas > 5:
		return bad("%d replicas", o.Replicas)
	case o.Patience < 0:
		return bad("a patience of %v", o.Patience)
	}
	if _, err := o.Limits.PackEntries(nil); err != nil {
		return bad("%w", err)
	}
	if o.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown"
		}
		o.Name = fmt.Sprintf("%s:%d", host, os.Getpid())
	}
	return o, nil
}

// Open connects, and makes the stream if there is none. It waits until the servers answer, or ctx ends. [durable.Open] is given the store, and closes it.
func Open(ctx context.Context, o Options) (*Store, error) {
	o, err := o.checked()
	if err != nil {
		return nil, err
	}
	s := &Store{options: o, names: subjects{o.Namespace}, giveUp: givesUp}
	var id [8]byte
	rand.Read(id[:])
	s.id = hex.EncodeToString(id[:])
	if err := s.connect(ctx); err != nil {
		if s.nc != nil {
			s.nc.Close()
		}
		if s.server != nil {
			s.server.Close()
		}
		return nil, fmt.Errorf("jetstream: open: %w", err)
	}
	s.hard, s.stop = context.WithCancelCause(context.Background())
	s.mu.owned = map[string]*tree{}
	s.index.init(s)
	return s, nil
}

func (s *Store) connect(ctx context.Context) (err error) {
	o := []nats.Option{
		nats.Name("vtscope durable: " + s.options.Name), nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond),
		nats.ReconnectJitter(50*time.Millisecond, 50*time.Millisecond), nats.ReconnectBufSize(-1), nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		nats.IgnoreAuthErrorAbort(), nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				s.setTrouble(fmt.Errorf("connection: %w", err))
			}
			s.relink()
		}),
	}
	s.relink()
	url := s.options.URL
	if s.options.Dir != "" {
		if s.server, err = NewServer(ServerOptions{Dir: s.options.Dir, Listen: s.options.Listen, Token: s.options.Token}); err != nil {
			return err
		}
		o = append(o, nats.InProcessServer(s.server.nats), nats.Token(s.options.Token))
	} else {
		o = append(o, s.options.Connect...)
	}
	for { // the servers may come later
		if s.nc, err = nats.Connect(url, o...); err == nil {
			break
		}
		if waited := sleep(ctx, 100*time.Millisecond); waited != nil {
			return err
		}
	}
	if s.js, err = js.New(s.nc); err != nil {
		return err
	}
	return s.findStream(ctx)
}

// relink ends what waits for answers by the connection that was.
func (s *Store) relink() {
	s.link.Lock()
	defer s.link.Unlock()
	if s.link.cut != nil {
		s.link.cut()
	}
	s.link.Context, s.link.cut = context.WithCancel(context.Background())
}

// findStream finds or makes the stream.
func (s *Store) findStream(ctx context.Context) error {
	config := js.StreamConfig{
		Name: s.names.stream(), Description: "durable threads of vtscope", Subjects: s.names.all(), Retention: js.LimitsPolicy, Discard: js.DiscardNew,
		Storage: js.FileStorage, AllowRollup: true, AllowDirect: true, Duplicates: window, Replicas: s.options.Replicas,
	}
	if config.Replicas == 0 {
		config.Replicas = 1
		if s.nc.ConnectedClusterName() != "" {
			config.Replicas = 3
		}
	}
	for {
		within, cancel := context.WithTimeout(ctx, ackWithin)
		stream, err := s.js.Stream(within, config.Name)
		if errors.Is(err, js.ErrStreamNotFound) {
			stream, err = s.js.CreateStream(within, config)
		}
		cancel()
		if err == nil {
			c := stream.CachedInfo().Config
			if !c.AllowRollup || !c.AllowDirect || c.Duplicates < time.Minute || c.Discard != js.DiscardNew || c.MaxAge != 0 || c.MaxMsgsPerSubject > 0 {
				return fmt.Errorf("stream %s is no store: want rollups, direct gets, discard new, no limit of age or of messages of a subject, and ids known for a minute", c.Name)
			}
			s.stream = stream
			return nil
		}
		if errors.Is(err, js.ErrStreamNameAlreadyInUse) {
			continue
		}
		if waited := sleep(ctx, 100*time.Millisecond); waited != nil {
			return fmt.Errorf("%w; the last answer: %w", waited, err)
		}
	}
}
