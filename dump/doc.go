// Package dump takes snapshots of the threads of a process and prints them.
//
// A [Snapshot] tells what all threads did at one moment, folded: threads of one scope with the same
// stack, state and reason are one [Group] with a count, a few examples and how long they have waited;
// sibling scopes of one name are one [Scope]. So the snapshot of a million threads is a few kilobytes.
// [Take] makes one from the flight file of a process that lives, hangs, is stopped, or was killed; it
// needs no help from the process and does not pause it. [Text], [JSON] and [Folded] print one.
//
//	r, err := flight.OpenPID(pid)
//	…
//	s, err := dump.Take(ctx, r, dump.Options{})
//	…
//	err = dump.Text(os.Stdout, s, dump.TextOptions{})
//
// [TakeSchedulers] reads what the process's schedulers tell of themselves, its carriers, and where threads were pinned: [Schedulers], which
// [SchedulersText] and [SchedulersJSON] print.
//
// [TakeWaits] reads who waits for whom: what threads and goroutines wait for, who holds it, and which of them are in a deadlock: [Waits], which
// [WaitsText] and [WaitsJSON] print. [TakeWaitsOf] tells that of some threads.
//
// [Check] makes the [Checks] on two looks at a process, [TakeLook], some time apart: [Findings], which [FindingsText] and [FindingsJSON] print.
//
// [TakeGroup] reads what the threads of one group have in common, and [TakeThread] all that is known of one thread and who waits for it: [GroupReport] and
// [ThreadReport].
//
// [DiffOf] compares two snapshots, of one process or of two builds of a program: a [Diff], which [DiffText] and [DiffJSON] print.
//
// [Marks] know groups that are good, which they hide, and suspicious ones.
//
// [Judge] tells which [Limits] a process keeps: a [Verdict], which [VerdictText] and [VerdictJSON] print. Package dumptest does so at the end of a test.
//
// # The JSON documents
//
// [JSON], [SchedulersJSON], [WaitsJSON], [FindingsJSON], [DiffJSON], [GroupJSON], [ThreadJSON] and [VerdictJSON] write one document. Its "format" is [Format], [SchedulersFormat], [WaitsFormat],
// [FindingsFormat], [DiffFormat], [GroupFormat], [ThreadFormat] or
// [VerdictFormat]; a change that an old reader would misread
// changes that string. Names are lower_snake; durations are whole nanoseconds and their names end in
// _ns; times are RFC 3339; states and reasons stand by their names in [flight.States] and
// [flight.Reasons]; ids are numbers; "key" is an opaque string that stays the same for the same scope
// path or group from one snapshot to the next, so that two snapshots can be compared.
//
// # Concurrency
//
// Take starts no goroutine. A finished Snapshot is plain data:
// any number of goroutines may read it, and nothing in this package changes one but [Compare], [Marks.Apply] and [Snapshot.KeepTop].
//
// # Where to start reading
//
// snapshot.go is the model, take.go the way from a flight file, fold.go the grouping, text.go the page
// a person reads. schedulers.go, takeschedulers.go, delays.go and schedulerstext.go are the same for schedulers;
// waits.go, takewaits.go, waitgraph.go, tellwaits.go and waitstext.go for who waits for whom; findings.go,
// checks.go and findingstext.go are the checks; fingerprint.go, diff.go and difftext.go compare;
// groupreport.go and threadreport.go drill down; limits.go judges; marks.go hides.
package dump
