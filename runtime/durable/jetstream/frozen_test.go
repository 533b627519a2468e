package jetstream_test

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"

	natsd "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/jetstream"
)

// A parted is a cluster of three whose servers hear each other through proxies alone.
type parted struct {
	servers [3]*natsd.Server
	ways    [3][3]*proxy // from, to
}

func newParted(t testing.TB) *parted {
	c := &parted{}
	var at [3]string
	var held [3]net.Listener
	for i := range at {
		held[i] = reserved(t)
		at[i] = held[i].Addr().String()
	}
	for i := range at {
		for j := range at {
			if i != j {
				c.ways[i][j] = newProxy(t, "nats://"+at[j])
			}
		}
	}
	for i := range at {
		_, port, err := net.SplitHostPort(at[i])
		if err != nil {
			t.Fatal(err)
		}
		o := &natsd.Options{
			ServerName: fmt.Sprint("n", i), JetStream: true, StoreDir: folder(t), Host: "127.0.0.1", Port: natsd.RANDOM_PORT, NoLog: true, NoSigs: true,
			// What others are told of it leads nowhere, so that they do not come by another way.
			Cluster: natsd.ClusterOpts{Name: "parted", Host: "127.0.0.1", Advertise: "127.0.0.1:9"},
		}
		fmt.Sscan(port, &o.Cluster.Port)
		for j := range at {
			if i != j {
				o.Routes = append(o.Routes, &url.URL{Scheme: "nats-route", Host: c.ways[i][j].listener.Addr().String()})
			}
		}
		n, err := natsd.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		c.servers[i] = n
	}
	for i, n := range c.servers {
		held[i].Close()
		n.Start()
		t.Cleanup(func() {
			n.Shutdown()
			n.WaitForShutdown()
		})
	}
	for i, n := range c.servers {
		if !n.ReadyForConnections(time.Minute) {
			t.Fatalf("server %d is not ready", i)
		}
	}
	return c
}

// alone holds all between a server and the others, as if either side were stopped.
func (c *parted) alone(i int, held bool) {
	for j := range c.ways {
		if i != j {
			c.ways[i][j].hold(held)
			c.ways[j][i].hold(held)
		}
	}
}

// A server that led the stream, and has not found out yet that it leads no more, says that there is no thread that was started since. It is not believed.
func TestWhoLeadsNoMoreDoesNotSayThatThereIsNoThread(t *testing.T) {
	c := newParted(t)
	var urls [3]string
	all := ""
	for i, n := range c.servers {
		urls[i] = "nats://" + n.Addr().String()
		all += urls[i] + ","
	}
	l := newLedger()
	there := func(o *jetstream.Options) {
		o.Lease = time.Hour
		o.Connect = []nats.Option{nats.IgnoreDiscoveredServers(), nats.DontRandomize()}
	}
	first := open(t, all[:len(all)-1], works(t, l, 0), there)
	begun := time.Now()
	for try := 1; ; try++ {
		leader := -1
		until(t, "a leader", func() bool {
			for i := range c.servers {
				if first.store.LeaderForTest() == fmt.Sprint("n", i) {
					leader = i
				}
			}
			return leader >= 0
		})
		old := open(t, urls[leader], works(t, l, 0), there, func(o *jetstream.Options) { o.Room = -1 })
		rest := open(t, urls[(leader+1)%3]+","+urls[(leader+2)%3], works(t, l, 0), there)
		c.alone(leader, true)
		late := fmt.Sprint("late ", try)
		if _, err := rest.Start(late, "asks", 1); err != nil {
			t.Fatal(err)
		}
		if !old.store.SaysNoneForTest(late) {
			c.alone(leader, false)
			if time.Since(begun) > patience { // half of them are like that
				t.Fatalf("a server that leads no more never said what is old, %d times: this test tests nothing", try)
			}
			continue // it has found out already
		}
		told := make(chan error, 1)
		retries := old.store.Stats().Retries
		go func() { told <- old.Signal(late, "word", "w") }()
		until(t, "the old leader was asked", func() bool { return old.store.Stats().Retries > retries || len(told) > 0 })
		c.alone(leader, false)
		if err := <-told; err != nil {
			t.Fatalf("a signal to a thread that is there: %v", err)
		}
		if got, err := durable.ResultOf[string](within(t), old.Keeper, late); got != "w" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		if err := old.Signal("nobody", "word", "w"); !errors.Is(err, durable.ErrNone) {
			t.Errorf("a signal to nobody: %v", err)
		}
		return
	}
}
