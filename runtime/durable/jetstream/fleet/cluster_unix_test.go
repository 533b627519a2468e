//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/vtscope/vtscope/internal/ordeal"
)

// A cluster is three servers, each with a folder that it is started on again.
type cluster struct {
	t     *testing.T
	seats []*ordeal.Seat
	urls  []string
	nc    *nats.Conn
	js    js.JetStream
}

const servers = 3

func newCluster(t *testing.T) *cluster {
	c := &cluster{t: t}
	var listen, routes []string
	for range servers {
		listen, routes = append(listen, freeAddress(t)), append(routes, freeAddress(t))
		c.urls = append(c.urls, "nats://"+listen[len(listen)-1])
	}
	dir := memory(t)
	for i := range servers {
		name := fmt.Sprintf("n%d", i+1)
		c.seats = append(c.seats, &ordeal.Seat{Name: name, Command: func() *exec.Cmd {
			return command("server", "-temporary", dir, "-dir", filepath.Join(dir, name), "-name", name, "-listen", listen[i], "-cluster", routes[i], "-routes", strings.Join(routes, ","))
		}})
		t.Cleanup(c.seats[i].Kill)
	}
	for _, s := range c.seats {
		if err := s.Begin(); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range c.seats {
		if err := s.Process().WaitOpen(); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	c.nc, err = nats.Connect(strings.Join(c.urls, ","), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.RetryOnFailedConnect(true))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.nc.Close)
	if c.js, err = js.New(c.nc); err != nil {
		t.Fatal(err)
	}
	return c
}

// memory is a folder in memory, where the system has such: who is killed loses nothing of it, and servers that synchronize always do not wait for a disk.
func memory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "fleet-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// freeAddress is below the ports that systems give to those who connect, so that it stays free while a server is down.
func freeAddress(t *testing.T) string {
	for range 1000 {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(15000+rand.IntN(15000))))
		if err != nil {
			continue
		}
		defer l.Close()
		return l.Addr().String()
	}
	t.Fatal("no free port")
	return ""
}

// patience bounds each wait.
const patience = 90 * time.Second

// info asks until the stream is as is wants.
func (c *cluster) info(what string, is func(*js.ClusterInfo) bool) (*js.ClusterInfo, error) {
	var last error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		s, err := c.js.Stream(ctx, "vt-fleet")
		if err == nil {
			var info *js.StreamInfo
			if info, err = s.Info(ctx); err == nil {
				last = fmt.Errorf("%+v", info.Cluster)
				if info.Cluster != nil && is(info.Cluster) {
					cancel()
					return info.Cluster, nil
				}
			}
		}
		if err != nil {
			last = err
		}
		cancel()
	}
	return nil, fmt.Errorf("the stream is not %s after %v: %w", what, patience, last)
}

// leader returns the seat of the stream's leader.
func (c *cluster) leader() (*ordeal.Seat, error) {
	info, err := c.info("led", func(i *js.ClusterInfo) bool { return i.Leader != "" })
	if err != nil {
		return nil, err
	}
	for _, s := range c.seats {
		if s.Name == info.Leader {
			return s, nil
		}
	}
	return nil, fmt.Errorf("the leader is %q", info.Leader)
}

// whole waits until all servers have all of the stream: no two are behind at a time.
func (c *cluster) whole() error {
	_, err := c.info("whole", func(i *js.ClusterInfo) bool {
		n := 0
		for _, r := range i.Replicas {
			if r.Current && !r.Offline && r.Lag == 0 {
				n++
			}
		}
		return i.Leader != "" && n == servers-1
	})
	return err
}

// loseLeader kills the stream's leader, and starts it again when another one leads.
func (c *cluster) loseLeader(s *ordeal.Storm) error {
	if err := c.whole(); err != nil {
		return err
	}
	old, err := c.leader()
	if err != nil {
		return err
	}
	old.Kill()
	if _, err := c.info("led by another", func(i *js.ClusterInfo) bool { return i.Leader != "" && i.Leader != old.Name }); err != nil {
		return err
	}
	if err := s.Wait(context.Background(), 0, 3*time.Second); err != nil {
		return err
	}
	if err := old.Begin(); err != nil {
		return err
	}
	if err := old.Process().WaitOpen(); err != nil {
		return err
	}
	return c.whole()
}

// freezeLeader stops the leader until another one leads, and lets it go on.
func (c *cluster) freezeLeader(*ordeal.Storm) error {
	if err := c.whole(); err != nil {
		return err
	}
	old, err := c.leader()
	if err != nil {
		return err
	}
	if err := old.Process().Freeze(10*time.Second, freezer); err != nil {
		return err
	}
	return c.whole()
}

// freezeAll stops all servers and all workers at a time, as a machine does that is suspended, or has no memory.
func (c *cluster) freezeAll(s *ordeal.Storm) error {
	var all sync.WaitGroup
	var errs [2 * servers]error
	for i, seat := range append(slices.Clone(c.seats), s.Seats...) {
		all.Go(func() { errs[i] = seat.Process().Freeze(3*lease, freezer) })
	}
	all.Wait()
	return errors.Join(append(errs[:], c.whole())...)
}
