package jetstream

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// ServerOptions say how a [Server] keeps what it is told. Dir must be set.
type ServerOptions struct {
	Dir string // its files; one server uses a folder at a time

	// Listen is the address that other processes connect to, "127.0.0.1:4222"; port 0 is a free one. "": none do. Who listens on an address that is not of this machine
	// alone needs a Token.
	Listen string
	Token  string // that those who connect give; it is part of [Server.URL]

	// Of a cluster: its name, where this server listens for the others, and where they listen. Name and ClusterListen go together.
	Name          string // of this server, which no other of the cluster has
	Cluster       string
	ClusterListen string
	Routes        []string
}

// A Server is a NATS server with JetStream in this process. It synchronizes its files before it says that something lasts.
type Server struct {
	options ServerOptions
	nats    *server.Server
}

// readyWithin is how long a server may take to begin.
const readyWithin = 30 * time.Second

// NewServer starts a server, and returns when it can be connected to. One of a cluster is usable when most of the others are there.
func NewServer(o ServerOptions) (*Server, error) {
	s, err := newServer(o)
	if err != nil {
		return nil, fmt.Errorf("jetstream: server: %w", err)
	}
	return s, nil
}

func newServer(o ServerOptions) (*Server, error) {
	if o.Dir == "" {
		return nil, errors.New("want a folder")
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	so := &server.Options{
		ServerName: o.Name, JetStream: true, StoreDir: o.Dir, SyncAlways: true, NoLog: true, NoSigs: true, DontListen: o.Listen == "",
		Authorization: o.Token, MaxPayload: maxPayload, JetStreamMaxMemory: -1, JetStreamMaxStore: -1,
	}
	var err error
	if o.Listen != "" {
		if so.Host, so.Port, err = hostPort(o.Listen); err != nil {
			return nil, err
		}
		if ip := net.ParseIP(so.Host); so.Host != "localhost" && (ip == nil || !ip.IsLoopback()) && o.Token == "" {
			return nil, fmt.Errorf("listen on %s: want a token, as others than this machine can connect", o.Listen)
		}
	}
	if o.Cluster != "" {
		so.Cluster.Name = o.Cluster
		if so.Cluster.Host, so.Cluster.Port, err = hostPort(o.ClusterListen); err != nil {
			return nil, fmt.Errorf("cluster: %w", err)
		}
		for _, r := range o.Routes {
			u, err := url.Parse("nats-route://" + r)
			if err != nil {
				return nil, fmt.Errorf("route: %w", err)
			}
			so.Routes = append(so.Routes, u)
		}
	}
	n, err := server.NewServer(so)
	if err != nil {
		return nil, err
	}
	n.Start()
	s := &Server{options: o, nats: n}
	if !n.ReadyForConnections(readyWithin) {
		s.Close()
		return nil, errors.New("it was not ready in time")
	}
	if !n.JetStreamEnabled() {
		s.Close()
		return nil, fmt.Errorf("its files in %s cannot be used", o.Dir)
	}
	return s, nil
}

// hostPort takes an address apart. The port 0 means a free one, which is -1 to the server.
func hostPort(address string) (string, int, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("port of %s: %w", address, err)
	}
	if n == 0 {
		return host, server.RANDOM_PORT, nil
	}
	return host, int(n), nil
}

// URL returns what others connect to, with the token; "" if the server does not listen.
func (s *Server) URL() string {
	if s.options.Listen == "" {
		return ""
	}
	u := url.URL{Scheme: "nats", Host: s.nats.Addr().String()}
	if s.options.Token != "" {
		u.User = url.User(s.options.Token)
	}
	return u.String()
}

// ClusterAddr returns where the server listens for the others of its cluster, "" if it is alone.
func (s *Server) ClusterAddr() string {
	if a := s.nats.ClusterAddr(); a != nil {
		return a.String()
	}
	return ""
}

// Close stops the server, and returns when it has stopped. What it has is in its folder.
func (s *Server) Close() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}
