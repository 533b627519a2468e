package jdk

import (
	"strconv"
	"strings"

	"github.com/vtscope/vtscope/runtime/flight"
)

// cutModule takes the loader and the module off a frame of Java: app//java.base@25/java.lang.Object.wait(…).
func cutModule(frame string) (module, rest string, ok bool) {
	end := strings.IndexByte(frame, '(')
	if end < 0 {
		end = len(frame)
	}
	slash := strings.LastIndexByte(frame[:end], '/')
	return frame[:slash+1], frame[slash+1:], slash >= 0
}

// internals begin the frames of Java that are hidden.
var internals = []string{
	"java.lang.VirtualThread.", "java.lang.Thread.run", "java.lang.Thread.sleep", "java.lang.System$1.", "java.lang.Object.wait", "jdk.internal.",
	"java.util.concurrent.locks.LockSupport.", "java.util.concurrent.locks.AbstractQueuedSynchronizer", "java.util.concurrent.ThreadPerTaskExecutor",
	"java.lang.ThreadBuilders$",
}

// parseFrame reads function(file:line), of Java or as [appendFrame] writes it.
func parseFrame(s string) flight.Frame {
	f := flight.Frame{Func: s}
	open := strings.LastIndexByte(s, '(')
	if open < 0 || !strings.HasSuffix(s, ")") {
		return f
	}
	f.Func = s[:open]
	f.File = s[open+1 : len(s)-1]
	if file, line, ok := strings.Cut(f.File, ":"); ok {
		if n, err := strconv.Atoi(line); err == nil && n > 0 {
			f.File, f.Line = file, n
		}
	}
	if f.File == "Native Method" || f.File == "Unknown Source" {
		f.File = ""
	}
	f.Internal = flight.InternalFunction(f.Func, f.File)
	_, call, _ := cutModule(s)
	for _, begin := range internals {
		if strings.HasPrefix(call, begin) {
			f.Internal = true
		}
	}
	return f
}
