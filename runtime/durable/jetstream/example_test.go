package jetstream_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/vtscope/vtscope/runtime/durable"
	"github.com/vtscope/vtscope/runtime/durable/jetstream"
)

// Two keepers share a stream: a thread begins at one, and is told and asked for at the other.
func Example() {
	dir, err := os.MkdirTemp("", "stream")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	server, err := jetstream.NewServer(jetstream.ServerOptions{Dir: dir, Listen: "127.0.0.1:0"}) // or a cluster that is there
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	registry := durable.NewRegistry()
	_ = durable.Register(registry, "checkout", func(t *durable.Thread, item string) (string, error) {
		return item + " to " + durable.Await[string](t, "address"), nil
	})
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	open := func() *durable.Keeper {
		store, err := jetstream.Open(ctx, jetstream.Options{URL: server.URL()})
		if err != nil {
			log.Fatal(err)
		}
		keeper, err := durable.Open(durable.KeeperOptions{Registry: registry, Store: store})
		if err != nil {
			log.Fatal(err)
		}
		return keeper
	}

	here, there := open(), open()
	if _, err := here.Start("order-4711", "checkout", "a chair"); err != nil {
		log.Fatal(err)
	}
	if err := there.Signal("order-4711", "address", "1 Main Street"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(durable.ResultOf[string](ctx, there, "order-4711"))
	for _, keeper := range []*durable.Keeper{here, there} {
		if err := keeper.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output: a chair to 1 Main Street <nil>
}
