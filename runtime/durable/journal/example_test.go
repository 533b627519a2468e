package journal_test

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/vtscope/vtscope/runtime/durable/journal"
)

// The folder of a file store is read while its process works, is stopped, or has died.
func ExampleReadFolder() {
	dir, err := os.MkdirTemp("", "threads")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	record, err := journal.NewRecord([]journal.Entry{
		{Thread: "order-4711", Op: journal.OpNew, Body: "checkout", Args: json.RawMessage("1")},
		{Thread: "order-4711", Op: journal.OpStep, Step: &journal.Step{Kind: journal.StepSignal, Name: "address", Open: true}},
	})
	if err == nil {
		err = os.WriteFile(journal.LogPath(dir, 1), record, 0o600)
	}
	if err != nil {
		log.Fatal(err)
	}
	folder, err := journal.ReadFolder(dir)
	if err != nil {
		log.Fatal(err)
	}
	for _, thread := range folder.Trees.Roots() {
		row := journal.RowOf(thread)
		fmt.Println(row.ID, row.Body, row.State, "for", row.Wait.Of())
	}
	// Output: order-4711 checkout waiting for signal "address"
}

func ExamplePack() {
	keys, err := journal.NewKeys([]byte("a secret of at least 16 bytes"))
	if err != nil {
		log.Fatal(err)
	}
	bytes, err := journal.Pack(&journal.Image{ID: "one", Body: "checkout", Args: json.RawMessage("1"), Steps: []journal.Step{}}, keys)
	if err != nil {
		log.Fatal(err)
	}
	header, err := journal.ParseHeader(bytes)
	fmt.Println(header.Sealed, err)
	_, err = journal.Unpack(bytes, nil)
	fmt.Println(err)
	thread, err := journal.Unpack(bytes, keys)
	fmt.Println(thread.ID, err)
	// Output:
	// true <nil>
	// the bytes are encrypted with another key, or no key was given
	// one <nil>
}
