package vgrpc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vgrpc"
	"github.com/vtscope/vtscope/runtime/vthread"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// health is a service whose calls do what the name of the asked service says.
type health struct {
	healthpb.UnimplementedHealthServer
	ended chan error
}

// here tells what the calling thread is.
func here() string {
	me := vthread.Current()
	if me == nil {
		return "no thread"
	}
	return fmt.Sprintf("%s %s in %s", me.Kind(), me.Name(), me.Scope().Name)
}

func (h *health) Check(ctx context.Context, q *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	switch q.Service {
	case "sleep":
		err := vthread.SleepContext(ctx, time.Hour)
		h.ended <- err
		return nil, err
	case "fork":
		sum := 0
		return &healthpb.HealthCheckResponse{}, structured.Run(ctx, "parts", func(s *structured.Scope) error {
			part := structured.Fork(s, func() (int, error) { return 1, nil })
			if err := s.Join(); err != nil {
				return err
			}
			n, err := part.Get()
			if sum += n; err == nil && sum != 1 {
				err = fmt.Errorf("sum %d", sum)
			}
			return err
		})
	case "leave":
		structured.Open(ctx, "left")
	case "panic":
		panic("it does")
	}
	return nil, status.Error(codes.Aborted, here())
}

func (h *health) Watch(q *healthpb.HealthCheckRequest, stream grpc.ServerStreamingServer[healthpb.HealthCheckResponse]) error {
	if q.Service == "sleep" {
		err := vthread.SleepContext(stream.Context(), time.Hour)
		h.ended <- err
		return err
	}
	if vthread.Current().Context() != stream.Context() {
		return errors.New("the stream has another context than the thread")
	}
	return status.Error(codes.Aborted, here())
}

// serve returns a client of a server with the interceptors, inside of one that turns panics into errors.
func serve(t *testing.T, h *health) healthpb.HealthClient {
	t.Helper()
	recovered := func(ctx context.Context, q any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (a any, err error) {
		defer func() {
			if v := recover(); v != nil {
				err = status.Error(codes.Internal, fmt.Sprint(v, ", afterwards ", here()))
			}
		}()
		return handler(ctx, q)
	}
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(recovered, vgrpc.UnaryServerInterceptor()), grpc.ChainStreamInterceptor(vgrpc.StreamServerInterceptor()))
	healthpb.RegisterHealthServer(server, h)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return healthpb.NewHealthClient(conn)
}

func TestCallsAreThreads(t *testing.T) {
	client := serve(t, &health{})
	check := func(service, want string) {
		t.Helper()
		if _, err := client.Check(t.Context(), &healthpb.HealthCheckRequest{Service: service}); status.Convert(err).Message() != want {
			t.Errorf("%s: got %v, want %q", service, err, want)
		}
	}
	const thread = "adopted /grpc.health.v1.Health/Check in /grpc.health.v1.Health/Check"
	check("", thread)
	check("fork", "")
	check("leave", thread)
	check("panic", "it does, afterwards no thread")
	check("", thread)
	stream, err := client.Watch(t.Context(), &healthpb.HealthCheckRequest{})
	if err == nil {
		_, err = stream.Recv()
	}
	if want := "adopted /grpc.health.v1.Health/Watch in /grpc.health.v1.Health/Watch"; status.Convert(err).Message() != want {
		t.Errorf("a stream: got %v, want %q", err, want)
	}
}

func TestACallThatIsCancelledIsInterrupted(t *testing.T) {
	h := &health{ended: make(chan error, 1)}
	client := serve(t, h)
	for name, call := range map[string]func(ctx context.Context) error{
		"unary": func(ctx context.Context) error {
			_, err := client.Check(ctx, &healthpb.HealthCheckRequest{Service: "sleep"})
			return err
		},
		"stream": func(ctx context.Context) error {
			stream, err := client.Watch(ctx, &healthpb.HealthCheckRequest{Service: "sleep"})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if err := call(ctx); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("%s: got %v", name, err)
		}
		cancel()
		select {
		case err := <-h.ended:
			if err == nil {
				t.Errorf("%s: the handler slept for an hour", name)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: the handler sleeps on", name)
		}
	}
}

// In a scope, the call is a part of it.
func TestACallInAScopeHasOneOfItsOwn(t *testing.T) {
	intercept := vgrpc.UnaryServerInterceptor()
	var scopes []*vthread.Scope
	call := func(ctx context.Context) error {
		_, err := intercept(ctx, nil, &grpc.UnaryServerInfo{FullMethod: "/a/b"}, func(context.Context, any) (any, error) {
			scopes = append(scopes, vthread.Current().Scope())
			return nil, nil
		})
		return err
	}
	err := structured.Run(t.Context(), "outer", func(outer *structured.Scope) error {
		return errors.Join(call(outer.Context()), call(outer.Context()), call(t.Context()))
	})
	if err := errors.Join(err, call(t.Context()), call(t.Context())); err != nil {
		t.Fatal(err)
	}
	if scopes[0] == scopes[1] || scopes[1] == scopes[2] || scopes[3] != scopes[4] || scopes[2] == scopes[3] {
		t.Errorf("got %p, want one for each call in a scope, and one for all others", scopes)
	}
	for _, s := range scopes {
		if s.Name != "/a/b" {
			t.Errorf("got a scope %q", s.Name)
		}
	}
}
