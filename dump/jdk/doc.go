// Package jdk writes and reads thread dumps in the forms of the JDK, so that its tools can read ours, and ours read those of Java programs.
//
// [JSON] writes the form of HotSpotDiagnosticMXBean.dumpThreads and jcmd Thread.dump_to_file -format=json, version 2 or 1, with every thread by itself;
// [Text] the plain form. [Read] reads both forms. docs/formats.md tells what becomes of what.
//
//	err := jdk.JSON(ctx, w, src, jdk.Options{})
//	…
//	r, err := jdk.Read(file)
//	s, err := dump.Take(ctx, r, dump.Options{})
//
// # Concurrency
//
// Nothing here starts a goroutine or keeps anything.
//
// # Where to start reading
//
// The table states, then [JSON].
package jdk
