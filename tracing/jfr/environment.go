package jfr

import (
	"time"

	"github.com/vtscope/vtscope/recording"
	"github.com/vtscope/vtscope/runtime/flight"
)

func event(name, label string, category []string, about string, fields ...field) class {
	notes := []note{categorized(category...), labelled(label)}
	if about != "" {
		notes = append(notes, described(about))
	}
	return class{name: name, super: typeEvent, notes: notes, fields: append([]field{fieldStart}, fields...)}
}

// ioEvent is a class without events: the catalogue has no kinds for them, and the view of latencies wants it.
func ioEvent(name, label string, fields ...field) class {
	return event(name, label, application, "", append([]field{fieldDuration, fieldThread, fieldStack}, fields...)...)
}

var (
	recorderCategory = []string{"Flight Recorder"}
	machine          = []string{"Java Virtual Machine"}
	ofRecorder       = []string{"Go Virtual Threads", string(flight.CategoryRecorder)}
)

// environment are the classes of events that tell of the process and of the recording. Views of readers fail where a class is missing.
var environment = []class{
	event("jdk.ExecutionSample", "Method Profiling Sample", []string{"Java Virtual Machine", "Profiling"}, "Snapshot of a threads state",
		of(typeThread, "sampledThread", "Thread"), of(typeStack, "stackTrace", "Stack Trace"), of(typeStates, "state", "Thread State")),
	event("jdk.ActiveRecording", "Flight Recording", recorderCategory, "",
		is(typeLong, "id", "Id"), is(typeString, "name", "Name"), is(typeString, "destination", "Destination"), is(typeLong, "maxAge", "Max Age", inMillis),
		is(typeLong, "maxSize", "Max Size", inBytes), is(typeLong, "recordingStart", "Start Time", inEpoch),
		is(typeLong, "recordingDuration", "Recording Duration", inMillis)),
	event("jdk.ActiveSetting", "Recording Setting", recorderCategory, "",
		is(typeLong, "id", "Event Id"), is(typeString, "name", "Setting Name"), is(typeString, "value", "Setting Value")),
	event("jdk.JVMInformation", "JVM Information", machine, "Description of the process",
		is(typeString, "jvmName", "JVM Name"), is(typeString, "jvmVersion", "JVM Version"), is(typeString, "jvmArguments", "JVM Command Line Arguments"),
		is(typeString, "jvmFlags", "JVM Settings File Arguments"), is(typeString, "javaArguments", "Java Application Arguments"),
		is(typeLong, "jvmStartTime", "JVM Start Time", inEpoch), is(typeLong, "pid", "Process Identifier")),
	event("jdk.OSInformation", "OS Information", []string{"Operating System"}, "", is(typeString, "osVersion", "OS Version")),
	event("jdk.JavaThreadStatistics", "Java Thread Statistics", []string{"Java Application", "Statistics"}, "",
		is(typeLong, "activeCount", "Active Threads"), is(typeLong, "daemonCount", "Daemon Threads"), is(typeLong, "accumulatedCount", "Accumulated Threads"),
		is(typeLong, "peakCount", "Peak Threads")),
	event("jdk.Shutdown", "JVM Shutdown", machine, "", fieldThread, fieldStack, is(typeString, "reason", "Reason")),
	ioEvent("jdk.SocketRead", "Socket Read", is(typeString, "host", "Remote Host"), is(typeString, "address", "Remote Address"), is(typeInt, "port", "Remote Port"),
		is(typeLong, "timeout", "Timeout Value", inMillis), is(typeLong, "bytesRead", "Bytes Read", inBytes), is(typeBoolean, "endOfStream", "End of Stream")),
	ioEvent("jdk.SocketWrite", "Socket Write", is(typeString, "host", "Remote Host"), is(typeString, "address", "Remote Address"), is(typeInt, "port", "Remote Port"),
		is(typeLong, "bytesWritten", "Bytes Written", inBytes)),
	ioEvent("jdk.FileRead", "File Read", is(typeString, "path", "Path"), is(typeLong, "bytesRead", "Bytes Read", inBytes), is(typeBoolean, "endOfFile", "End of File")),
	ioEvent("jdk.FileWrite", "File Write", is(typeString, "path", "Path"), is(typeLong, "bytesWritten", "Bytes Written", inBytes)),
	event("go.Function", "Go Function", []string{"Go"}, "Where a function of this chunk's stacks is: a method of the JDK has no file",
		of(typeMethod, "method", "Method"), is(typeString, "file", "File")),
	event("vt.EventsLost", "Events Lost", ofRecorder, "Events are missing before this moment", is(typeLong, "count", "Count")),
	event("vt.Incomplete", "Incomplete", ofRecorder, "Something is missing in the recording", is(typeString, "what", "What")),
}

// add appends an event without duration that has no thread; put appends its fields.
func (w *writer) add(class int, at time.Duration, put func(b []byte) []byte) {
	from := len(w.buf)
	w.buf = end(put(begin(w.buf, class, ticks(at))), from)
	w.stats.Events++
}

// describe writes what is known before the first event.
func (w *writer) describe(info recording.Info) {
	w.add(w.meta.id("jdk.JVMInformation"), w.to, func(b []byte) []byte {
		b = w.pooled(b, "Go")
		b = w.pooled(b, info.GoVersion)
		b = append(b, stringNull, stringNull)
		program := info.Exe
		if program == "" {
			program = info.Program
		}
		b = w.pooled(b, program)
		b = appendVarint(b, uint64(info.Started.UnixMilli()))
		return appendVarint(b, uint64(info.PID))
	})
	if info.GoArch != "" {
		w.add(w.meta.id("jdk.OSInformation"), w.to, func(b []byte) []byte { return w.pooled(b, info.GoArch) })
	}
	settings, err := flight.NamedSettings(info.Settings)
	if err != nil {
		return // the user's own: what they were at the beginning is not known
	}
	for k := range flight.KindCount {
		if w.kinds[k].id != 0 {
			w.settings(&w.kinds[k], settings.Kinds[k])
		}
	}
}

// settings writes what the recorder was told of events of a class.
func (w *writer) settings(c *eventClass, s flight.Setting) {
	w.setting(c.id, "enabled", yesNo(s.On))
	if c.duration != nil {
		w.setting(c.id, "threshold", millis(s.Threshold))
	}
	if c.stack != nil {
		w.setting(c.id, "stackTrace", yesNo(s.Stack))
	}
}

// setting writes one word of them in place: some readers take it in no other way. All have one time: readers show those of the last moment that has any.
func (w *writer) setting(class int, name, value string) {
	w.add(w.meta.id("jdk.ActiveSetting"), w.first, func(b []byte) []byte {
		b = appendVarint(b, uint64(class))
		return appendString(appendString(b, name), value)
	})
}

// conclude writes what is known after the last event.
func (w *writer) conclude(info recording.Info) {
	w.add(w.meta.id("jdk.ActiveRecording"), w.to, func(b []byte) []byte {
		b = appendVarint(b, 1)
		b = w.pooled(b, info.Program)
		b = append(b, stringNull)
		b = appendVarint(b, unknown) // no limits
		b = appendVarint(b, unknown)
		b = appendVarint(b, uint64(info.From.Add(w.first).UnixMilli()))
		return appendVarint(b, uint64((w.to - w.first).Milliseconds()))
	})
	w.writeFigures(w.to)
	for _, what := range w.src.Info().Incomplete { // reading may have added to it
		w.add(w.meta.id("vt.Incomplete"), w.to, func(b []byte) []byte { return w.pooled(b, what) })
	}
}

// lose notes that events are missing before a batch.
func (w *writer) lose(n uint64, b *recording.Batch) {
	at := w.to
	if len(b.Events) > 0 {
		at = max(at, b.Events[0].Time)
	}
	w.stats.Lost += n
	w.add(w.lost, at, func(b []byte) []byte { return appendVarint(b, n) })
}

// figuresEvery is how often the number of threads is told.
const figuresEvery = time.Second

// figures writes how many threads there are if it is time to.
func (w *writer) figures(now time.Duration) {
	if now >= w.nextFigures {
		w.nextFigures = now.Truncate(figuresEvery) + figuresEvery
		w.writeFigures(now)
	}
}

func (w *writer) writeFigures(at time.Duration) {
	live := uint64(w.tracker.Len())
	w.peak = max(w.peak, live)
	w.add(w.statistics, at, func(b []byte) []byte {
		b = appendVarint(b, live)
		b = append(b, 0)
		b = appendVarint(b, w.before+w.started)
		return appendVarint(b, w.peak)
	})
}
