// Package schemacheck holds tests that validate what vtdump --json prints of a real process against docs/dump.schema.json, and what vtserve answers against docs/openapi.json, by a validator that knows
// nothing of vtscope. It is a module of its own, so that nobody else needs the validator. There is no code to import.
//
//	go test -C internal/schemacheck .
//
// # Concurrency
//
// The tests have child processes, which they stop by their ids.
//
// # Where to start reading
//
// TestDocumentsAreAsTheSchemaSays, TestAnswersAreAsTheDescriptionOfTheInterfaceSays.
package schemacheck
