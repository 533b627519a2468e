package incident_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/vtscope/vtscope/incident"
	"github.com/vtscope/vtscope/runtime/flight"
)

func Example() {
	dir, err := os.MkdirTemp("", "incidents-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	recorder, err := flight.New(flight.Options{Mode: flight.ModePrivate, Program: "shop"})
	if err != nil {
		log.Fatal(err)
	}
	defer recorder.Close()
	reader, err := recorder.Reader()
	if err != nil {
		log.Fatal(err)
	}
	defer reader.Close()

	store, err := incident.OpenStore(incident.Options{Dir: dir, Take: incident.TakeOptions{CPU: -1}})
	if err != nil {
		log.Fatal(err)
	}
	path, err := store.Take(context.Background(), reader, incident.Cause{What: "asked for"})
	if err != nil {
		log.Fatal(err)
	}
	bundle, err := incident.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer bundle.Close()
	settings, err := bundle.Text("settings")
	fmt.Printf("%s of %s: %s%v", bundle.Manifest.Causes[0].What, bundle.Manifest.Process.Program, settings, err)
	// Output:
	// asked for of shop: settings = default
	// <nil>
}
