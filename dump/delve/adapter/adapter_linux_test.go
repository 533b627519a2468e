package adapter_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-dap"

	"github.com/vtscope/vtscope/dump/delve/internal/steppingtest"
)

// named returns the variable of a name.
func named(t *testing.T, all []dap.Variable, name string) dap.Variable {
	t.Helper()
	i := slices.IndexFunc(all, func(v dap.Variable) bool { return v.Name == name })
	if i < 0 {
		t.Fatalf("no %q among %+v", name, all)
	}
	return all[i]
}

// titled returns the thread whose name matches.
func titled(t *testing.T, all []dap.Thread, pattern string) dap.Thread {
	t.Helper()
	i := slices.IndexFunc(all, func(th dap.Thread) bool { return regexp.MustCompile(pattern).MatchString(th.Name) })
	if i < 0 {
		var names strings.Builder
		for _, th := range all {
			fmt.Fprintf(&names, "%d %s\n", th.Id, th.Name)
		}
		t.Fatalf("no thread is like %q among\n%s", pattern, names.String())
	}
	return all[i]
}

func TestAStopShowsTheThreadThatStoppedAndTheOthersInGroups(t *testing.T) {
	file := mainFile(t)
	line := steppingtest.LineOf(t, file, "locks", "lock.Lock")
	e := edit(t)
	e.launch(stepping(t), file, map[string]any{"line": line})
	parks := fmt.Sprintf(`^8 × parked \(park\) in steps at main.go:%d$`, steppingtest.LineOf(t, file, "parks", "vthread.Park"))
	stopped, all := e.stop(), []dap.Thread(nil)
	for end := time.Now().Add(patience); ; stopped = e.stop() {
		all = e.threads()
		whole := slices.ContainsFunc(all, func(th dap.Thread) bool { return regexp.MustCompile(parks).MatchString(th.Name) })
		if whole || time.Now().After(end) {
			break
		}
		e.ask("continue", map[string]any{"threadId": stopped.ThreadId}) // they are not all there yet
	}

	if first := all[0]; first.Id != stopped.ThreadId || !regexp.MustCompile(`^\* locks\d #\d+ in steps: mounted$`).MatchString(first.Name) {
		t.Errorf("got %+v first, want the thread that stopped, %d", first, stopped.ThreadId)
	}
	if len(all) > 20 { // of 43 threads
		t.Errorf("got %d rows, want groups: %+v", len(all), all)
	}
	for _, th := range all {
		if strings.Contains(th.Name, "vtscope/runtime") || strings.Contains(th.Name, "slot_pull.go") {
			t.Errorf("got %q, which is of vtscope's runtime", th.Name)
		}
	}
	parked := titled(t, all, parks)
	main := titled(t, all, `^main #1: waiting \(scope-join\) at main.go:\d+$`)

	t.Run("a stack ends with who forked the thread", func(t *testing.T) {
		frames := e.stack(stopped.ThreadId)
		if frames[0].Name != "main.locks" || frames[0].Line != line || frames[1].Name != "main.each.func1" {
			t.Errorf("got %+v first", frames[:2])
		}
		last := frames[len(frames)-1]
		if last.Name != `forked in scope "steps" by main #1, which is here now` || last.Source == nil || last.Source.Path != file || last.Line != steppingtest.LineOf(t, file, "main", "s.Join()") {
			t.Errorf("got %+v last", last)
		}
		for _, f := range frames[2 : len(frames)-1] {
			if f.Source != nil && f.PresentationHint != "subtle" {
				t.Errorf("got %+v, want the runtime's frames subtle", f)
			}
		}
	})
	t.Run("the stack of a parked thread begins in the program", func(t *testing.T) {
		if frames := e.stack(main.Id); frames[0].Name != "main.main.func1.1" {
			t.Errorf("got %+v first", frames[0])
		}
		paged := read[dap.StackTraceResponseBody](t, e.ask("stackTrace", map[string]any{"threadId": main.Id, "startFrame": 1, "levels": 1})).StackFrames
		if len(paged) != 1 || paged[0].Name != e.stack(main.Id)[1].Name {
			t.Errorf("got %+v as the second frame", paged)
		}
	})
	t.Run("a group has the stack of all and examples", func(t *testing.T) {
		frames := e.stack(parked.Id)
		if frames[0].Name != "main.parks" || frames[0].Source.Path != file {
			t.Errorf("got %+v first", frames[0])
		}
		example := frames[len(frames)-1]
		if !regexp.MustCompile(`^for example parks\d #\d+, for .*: vt pin #\d+$`).MatchString(example.Name) || example.PresentationHint != "label" {
			t.Errorf("got %+v last, want an example", example)
		}
		group := e.vtscope(frames[0].Id)
		if len(e.variables(named(t, group, "examples").VariablesReference)) != 5 {
			t.Errorf("got %+v, want 5 examples", group)
		}
	})
	t.Run("variables have what vtscope knows beside those of Delve", func(t *testing.T) {
		frame := e.stack(stopped.ThreadId)[0]
		scopes := read[dap.ScopesResponseBody](t, e.ask("scopes", map[string]any{"frameId": frame.Id})).Scopes
		if len(scopes) != 2 || !strings.HasPrefix(scopes[0].Name, "Locals") {
			t.Fatalf("got scopes %+v", scopes)
		}
		if n := named(t, e.variables(scopes[0].VariablesReference), "n"); n.Value == "" {
			t.Errorf("got %+v of Delve", n)
		}
		about := e.vtscope(frame.Id)
		if v := named(t, about, "name").Value; !strings.HasPrefix(v, "locks") {
			t.Errorf("got name %q", v)
		}
		if v := named(t, e.variables(named(t, about, "scope").VariablesReference), "steps").Value; !strings.Contains(v, "owner main #1") {
			t.Errorf("got scope %q", v)
		}
		if v := e.variables(named(t, about, "events").VariablesReference); len(v) == 0 || !slices.ContainsFunc(v, func(v dap.Variable) bool { return strings.HasPrefix(v.Value, "mount") }) {
			t.Errorf("got events %+v", v)
		}
		tree := e.variables(named(t, about, "scopes of threads").VariablesReference)
		within := e.variables(named(t, tree, "steps").VariablesReference)
		if !slices.ContainsFunc(within, func(v dap.Variable) bool { return regexp.MustCompile(parks).MatchString(v.Value) }) {
			t.Errorf("got %+v in the scope", within)
		}
	})
	t.Run("console", func(t *testing.T) {
		for command, want := range map[string]string{
			"vt threads":                     "main.parks           main.go",
			`vt threads name~"^parks" `:      "8 threads",
			"vt scopes":                      "root/steps",
			"vt waits":                       "waits for the threads of scope 1",
			"vt findings":                    "no findings",
			"vt thread #1":                   `"main"`,
			"vt thread 1":                    "goroutine",
			"vt":                             "vt pin #ID|GOROUTINE",
			fmt.Sprint("vt pin ", main.Id):   fmt.Sprintf("goroutine %d has a row of its own", main.Id),
			fmt.Sprint("vt unpin ", main.Id): "is with the others again",
		} {
			if got := e.console(command); !strings.Contains(got, want) {
				t.Errorf("%s: got\n%s\nwant %q in it", command, got, want)
			}
		}
		for command, want := range map[string]string{
			"vt what":             `vt has no "what"; try: vt help`,
			"vt thread x":         `"x" is no thread, such as #5123, nor a goroutine, such as 18`,
			"vt threads state=no": "state=no\n      ^^",
			"vt pin #999":         "thread #999 has no goroutine",
		} {
			m := e.answer(e.send("evaluate", map[string]any{"expression": command, "context": "repl"}))
			if got := read[dap.ErrorResponseBody](t, m); m.Success || got.Error == nil || !strings.Contains(got.Error.Format, want) {
				t.Errorf("%s: got %s, want %q", command, m.Body, want)
			}
		}
		if got := e.console("1 + 2"); got != "3" { // of Delve
			t.Errorf("1 + 2: got %q", got)
		}
	})
	t.Run("a pin gives a thread a row of its own", func(t *testing.T) {
		e.console("vt pin #5")
		pinned := titled(t, e.threads(), `^parks0 #5 in steps: parked \(park\)`)
		if frames := e.stack(pinned.Id); frames[0].Name != "main.parks" {
			t.Errorf("got %+v", frames[0])
		}
		titled(t, e.threads(), `^7 × parked \(park\) in steps`)
		e.console("vt unpin #5")
		titled(t, e.threads(), `^8 × parked \(park\) in steps`)
	})
	t.Run("requests of clients that know vtscope", func(t *testing.T) {
		got := read[struct{ Documents []struct{ Format string } }](t, e.ask("vtscope/threads", map[string]any{"argument": "name~parks"}))
		if len(got.Documents) != 2 || !strings.HasPrefix(got.Documents[0].Format, "vtscope/") {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("the runtime's own goroutines on request", func(t *testing.T) {
		before := len(e.threads())
		e.console("vt internal on")
		if after := e.threads(); len(after) <= before {
			t.Errorf("got %d rows before and %d after", before, len(after))
		}
		e.console("vt internal off")
	})
}

func TestBreakpointsForSomeThreads(t *testing.T) {
	file := mainFile(t)
	line := steppingtest.LineOf(t, file, "locks", "lock.Lock")
	e := edit(t)
	e.launch(stepping(t), file, map[string]any{"line": line, "condition": `name=locks3 scope=root/steps`})
	goroutine := 0
	for range 4 {
		s := e.stop()
		titled(t, e.threads(), `^\* locks3 #\d+ in steps: mounted$`)
		if goroutine != 0 && s.ThreadId != goroutine {
			t.Errorf("stopped in %d, want %d", s.ThreadId, goroutine)
		}
		goroutine = s.ThreadId
		e.ask("continue", map[string]any{"threadId": s.ThreadId})
	}
	e.stop()
	set := func(breakpoint map[string]any) dap.Breakpoint {
		breakpoint["line"] = line
		return read[dap.SetBreakpointsResponseBody](t, e.ask("setBreakpoints", map[string]any{"source": map[string]any{"path": file}, "breakpoints": []any{breakpoint}})).Breakpoints[0]
	}
	id := regexp.MustCompile(`#(\d+)`).FindStringSubmatch(titled(t, e.threads(), `^\* locks3`).Name)[1]

	t.Run("by number, and an expression of Delve's", func(t *testing.T) {
		if b := set(map[string]any{"condition": "thread=" + id + "; n % 2 == 0"}); !b.Verified {
			t.Fatalf("got %+v", b)
		}
		e.ask("continue", map[string]any{"threadId": goroutine})
		if s := e.stop(); s.ThreadId != goroutine {
			t.Errorf("stopped in %d, want %d", s.ThreadId, goroutine)
		}
		if n := e.console("n % 2"); n != "0" {
			t.Errorf("n %% 2 is %s", n)
		}
	})
	t.Run("hits count by thread", func(t *testing.T) {
		set(map[string]any{"condition": "name~locks", "hitCondition": "3"})
		seen := map[int]bool{}
		for range 3 {
			e.ask("continue", map[string]any{"threadId": goroutine})
			s := e.stop()
			if seen[s.ThreadId] {
				t.Errorf("thread %d has stopped twice, want once, at its third hit", s.ThreadId)
			}
			seen[s.ThreadId] = true
		}
	})
	t.Run("a message instead of a stop", func(t *testing.T) {
		set(map[string]any{"condition": "name=locks5", "logMessage": "n is {n}"})
		e.ask("continue", map[string]any{"threadId": goroutine})
		said := regexp.MustCompile(`goroutine \d+: n is \d+\n`)
		for !said.MatchString(e.output.String()) {
			if m := e.next(); m.Event == "stopped" {
				t.Fatalf("it stopped: %s", m.Body)
			}
		}
		e.ask("pause", map[string]any{"threadId": goroutine})
		e.stop()
	})
	t.Run("what is neither", func(t *testing.T) {
		if b := set(map[string]any{"condition": "(name"}); b.Verified || !strings.Contains(b.Message, "neither an expression of Go nor a filter of threads") {
			t.Errorf("got %+v", b)
		}
	})
}

func TestStopsInTheLifeOfAThread(t *testing.T) {
	e := edit(t)
	e.ask("launch", map[string]any{"mode": "exec", "program": stepping(t)})
	e.ask("setExceptionBreakpoints", map[string]any{
		"filters":       []string{"unrecovered-panic"},
		"filterOptions": []any{map[string]any{"filterId": "vtscope.start", "condition": "name=locks3"}},
	})
	e.ask("configurationDone", nil)
	if s := e.stop(); s.Reason != "exception" || s.Description != "Thread starts" {
		t.Errorf("got %+v", s)
	}
	titled(t, e.threads(), `^\* locks3 #\d+ in steps: mounted$`)
	e.ask("setExceptionBreakpoints", map[string]any{"filters": []string{"vtscope.park"}})
	e.ask("continue", map[string]any{"threadId": 1})
	s := e.stop()
	if s.Description != "Thread parks" {
		t.Errorf("got %+v", s)
	}
	if top := e.stack(s.ThreadId)[0]; !strings.HasPrefix(top.Name, "main.") {
		t.Errorf("got %+v first, want the program's frame", top)
	}
}

func TestThreadsAreThoseOfTheProcessThatRunsNow(t *testing.T) {
	file := mainFile(t)
	e := edit(t)
	e.launch(stepping(t), file, map[string]any{"line": steppingtest.LineOf(t, file, "locks", "lock.Lock")})
	e.stop()
	titled(t, e.threads(), `^main #1`)
	e.ask("restart", map[string]any{"arguments": map[string]any{"request": "launch", "rebuild": false}})
	e.event("initialized") // that of the launch
	e.event("initialized")
	e.ask("configurationDone", nil)
	s := e.stop()
	titled(t, e.threads(), `^\* locks\d #\d+ in steps: mounted$`)
	titled(t, e.threads(), `^main #1`)
	e.vtscope(e.stack(s.ThreadId)[0].Id)
}

func TestAFindingStopsTheProcess(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	e := edit(t)
	e.ask("launch", map[string]any{"mode": "exec", "program": build(t, root, "./fixtures/deadlock")})
	wrong := read[dap.SetExceptionBreakpointsResponseBody](t, e.ask("setExceptionBreakpoints", map[string]any{
		"filters": []string{}, "filterOptions": []any{map[string]any{"filterId": "vtscope.finding", "condition": "nothing"}},
	}))
	if len(wrong.Breakpoints) != 1 || wrong.Breakpoints[0].Verified || !strings.Contains(wrong.Breakpoints[0].Message, `"nothing" is no check of vtdump findings: deadlock`) {
		t.Errorf("got %+v", wrong)
	}
	e.ask("setExceptionBreakpoints", map[string]any{"filters": []string{"vtscope.finding"}})
	e.ask("configurationDone", nil)
	s := e.stop()
	if s.Reason != "exception" || s.Description != "Finding: deadlock" || !strings.Contains(s.Text, "wait for each other") {
		t.Errorf("got %+v", s)
	}
	about := e.vtscope(e.stack(s.ThreadId)[0].Id)
	if v := named(t, about, "waits for").Value; !strings.Contains(v, "mutex") {
		t.Errorf("stopped in a thread that waits for %q", v)
	}
	if got := e.console("vt waits"); !strings.Contains(got, "deadlock") {
		t.Errorf("got\n%s", got)
	}
	e.ask("continue", map[string]any{"threadId": s.ThreadId})
	time.Sleep(3 * time.Second) // what was told is not told again
	e.ask("threads", nil)       // what came is read
	if i := slices.IndexFunc(e.events, func(m message) bool { return m.Event == "stopped" }); i >= 0 {
		t.Errorf("it stopped again: %s", e.events[i].Body)
	}
}

func TestAPauseIsInTheProgramsOwnThread(t *testing.T) {
	file := mainFile(t)
	e := edit(t)
	e.launch(stepping(t), file, map[string]any{"line": steppingtest.LineOf(t, file, "together", "use(threads)")})
	s := e.stop()
	for range 5 {
		e.ask("continue", map[string]any{"threadId": s.ThreadId})
		e.ask("pause", map[string]any{"threadId": s.ThreadId})
		s = e.stop()
		if s.Reason != "pause" {
			t.Errorf("got %+v", s)
		}
		if frames := e.stack(s.ThreadId); !slices.ContainsFunc(frames, func(f dap.StackFrame) bool { return strings.HasPrefix(f.Name, "main.") }) {
			t.Errorf("paused in %d, where nothing is of the program: %+v", s.ThreadId, frames)
		}
	}
}

func TestStepsStayInTheThread(t *testing.T) {
	file := mainFile(t)
	e := edit(t)
	line := steppingtest.LineOf(t, file, "sleeps", "vthread.Sleep")
	e.launch(stepping(t), file, map[string]any{"line": line})
	s := e.stop()
	e.ask("setBreakpoints", map[string]any{"source": map[string]any{"path": file}, "breakpoints": []any{}})
	title := titled(t, e.threads(), `^\* sleeps\d #\d+ in steps`).Name
	for step := range 3 {
		e.ask("next", map[string]any{"threadId": s.ThreadId})
		now := e.stop()
		if now.ThreadId != s.ThreadId || now.Reason != "step" {
			t.Fatalf("step %d: got %+v, want it in thread %d", step, now, s.ThreadId)
		}
		if got := titled(t, e.threads(), `^\* `).Name; got != title {
			t.Errorf("step %d: stopped in %q, want %q", step, got, title)
		}
	}
	// A group is no thread: what steps is the one that stopped.
	group := titled(t, e.threads(), ` × `)
	e.ask("next", map[string]any{"threadId": group.Id})
	if now := e.stop(); now.ThreadId != s.ThreadId {
		t.Errorf("a step of a group was one of %d, want %d", now.ThreadId, s.ThreadId)
	}
}

func TestAStepOutOfABodyEndsAtTheJoin(t *testing.T) {
	file, err := filepath.Abs("../testdata/joining/main.go")
	if err != nil {
		t.Fatal(err)
	}
	e := edit(t)
	e.launch(build(t, "..", "./testdata/joining", "-gcflags=all=-N -l"), file, map[string]any{"line": steppingtest.LineOf(t, file, "work", "fmt.Sprint")})
	for range 3 {
		s := e.stop()
		titled(t, e.threads(), `^\* worker #\d+ in round`)
		e.ask("stepOut", map[string]any{"threadId": s.ThreadId}) // to the function literal that is the thread's
		s = e.stop()
		if top := e.stack(s.ThreadId)[0]; !strings.Contains(top.Name, "func1") {
			t.Fatalf("a step out of work ends in %+v", top)
		}
		e.ask("stepOut", map[string]any{"threadId": s.ThreadId})
		now := e.stop()
		if top := e.stack(now.ThreadId)[0]; now.Reason != "step" || now.ThreadId == s.ThreadId || top.Line != steppingtest.LineOf(t, file, "main", "s.Join()") {
			t.Errorf("a step out of the body ends with %+v in %+v, want who joins", now, top)
		}
		titled(t, e.threads(), `^\* main #1`)
		e.ask("continue", map[string]any{"threadId": now.ThreadId})
	}
}

func TestGoroutinesOfAnUnchangedProgram(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	plain := build(t, root, "./fixtures/plain", "-gcflags=all=-N -l")
	e := edit(t)
	e.ask("launch", map[string]any{"mode": "exec", "program": plain, "args": []string{"-each", "50"}})
	e.ask("configurationDone", nil)
	for {
		e.ask("pause", map[string]any{"threadId": 1})
		s := e.stop()
		all := e.threads()
		if slices.ContainsFunc(all, func(th dap.Thread) bool { return strings.HasPrefix(th.Name, "50 × ") }) {
			group := titled(t, all, `^50 × .* at main.go:\d+, started by main\.`)
			example := e.stack(group.Id)
			pin := regexp.MustCompile(`^for example goroutine (\d+).*: vt pin (\d+)$`).FindStringSubmatch(example[len(example)-1].Name)
			if pin == nil || pin[1] != pin[2] {
				t.Fatalf("got %+v as an example", example[len(example)-1])
			}
			e.console("vt pin " + pin[1])
			own := titled(t, e.threads(), `^goroutine `+pin[1]+`: `)
			if frames := e.stack(own.Id); !strings.HasPrefix(frames[len(frames)-1].Name, "started by main.") {
				t.Errorf("got %+v last, want who started it", frames[len(frames)-1])
			}
			return
		}
		e.ask("continue", map[string]any{"threadId": s.ThreadId})
	}
}
