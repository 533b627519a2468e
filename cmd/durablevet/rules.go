package main

import (
	"go/types"
	"strings"
)

const durablePath = "github.com/vtscope/vtscope/runtime/durable"

// continuations are parts of the thread that runs them: a body may have them, and make steps in them.
const continuations = "github.com/vtscope/vtscope/runtime/continuation"

// A rule names functions of a package that reach outside, and what to use instead.
type rule struct {
	names string // of functions, separated by spaces; "": all of them
	use   string
}

// outside are the rules by package path; one that ends with "/" holds for all below.
var outside = map[string]rule{
	"time":          {"Now Since Until Sleep After AfterFunc Tick NewTimer NewTicker", "durable.Now or durable.Sleep"},
	"math/rand":     {"", "durable.Rand"},
	"math/rand/v2":  {"", "durable.Rand"},
	"crypto/rand":   {"", "durable.Random or durable.NewID"},
	"os":            {"", "durable.Do"},
	"os/":           {"", "durable.Do"},
	"net":           {"", "durable.Do"},
	"net/http":      {"", "durable.Do"},
	"net/smtp":      {"", "durable.Do"},
	"database/sql":  {"", "durable.Do"},
	"log":           {"", "durable.Do"},
	"log/slog":      {"", "durable.Do"},
	"syscall":       {"", "durable.Do"},
	"runtime":       {"NumCPU NumGoroutine GOMAXPROCS ReadMemStats Goexit", "durable.Do"},
	"io/ioutil":     {"", "durable.Do"},
	"path/filepath": {"Glob Walk WalkDir Abs EvalSymlinks", "durable.Do"},
	"context":       {"WithTimeout WithTimeoutCause WithDeadline WithDeadlineCause AfterFunc Cause", "durable.AwaitFor or durable.Do"},
	"maps":          {"All Keys Values", "slices.Sorted around it: the order is another in a replay"},
	"fmt":           {"Print Printf Println Scan Scanf Scanln", "durable.Do"},

	"github.com/vtscope/vtscope/runtime/vthread": {"Start Sleep SleepContext Park ParkFor ParkUntil Recv Send Select Await AwaitFor AwaitContext AwaitAll Blocking", "durable.Fork, durable.Sleep, durable.Park, durable.Await or durable.Do"},
	"github.com/google/uuid":                     {"New NewString NewRandom NewUUID NewV6 NewV7 NewDCEPerson NewDCEGroup", "durable.NewID"},
	"github.com/gofrs/uuid":                      {"NewV1 NewV4 NewV6 NewV7", "durable.NewID"},
	"github.com/rs/xid":                          {"New NewWithTime", "durable.NewID"},
	"github.com/segmentio/ksuid":                 {"New NewRandom NewRandomWithTime", "durable.NewID"},
	"github.com/oklog/ulid/v2":                   {"Make MustNewDefault Now", "durable.NewID"},

	"github.com/vtscope/vtscope/runtime/vnet":  {"", "durable.Do"},
	"github.com/vtscope/vtscope/runtime/vfile": {"", "durable.Do"},
}

// harmless are functions of packages of which all others reach outside.
var harmless = map[string]bool{
	"net.JoinHostPort": true, "net.SplitHostPort": true, "net.ParseIP": true, "net.ParseCIDR": true, "net.ParseMAC": true, "net.IPv4": true,
	"net/http.StatusText": true, "net/http.CanonicalHeaderKey": true, "net/http.DetectContentType": true, "net/http.ParseTime": true,
	"os.IsExist": true, "os.IsNotExist": true, "os.IsPermission": true, "os.IsTimeout": true, "os.IsPathSeparator": true, "os.NewSyscallError": true,
	"math/rand.New": true, "math/rand.NewSource": true, "math/rand/v2.New": true, "math/rand/v2.NewPCG": true, "math/rand/v2.NewChaCha8": true,
	"log.New": true, "log/slog.New": true,
}

// reaches tells how a function of somebody else's reaches outside; "" if it does not.
func reaches(f *types.Func) (use string) {
	if f.Pkg() == nil {
		return ""
	}
	path := f.Pkg().Path()
	if f.Signature().Recv() != nil {
		return methodReaches(path, f)
	}
	r, ok := outside[path]
	if !ok {
		if at := strings.IndexByte(path, '/'); at > 0 {
			r, ok = outside[path[:at+1]]
		}
	}
	switch {
	case !ok, harmless[path+"."+f.Name()], !f.Exported():
		return ""
	case r.names == "":
		return r.use
	}
	for name := range strings.FieldsSeq(r.names) {
		if name == f.Name() {
			return r.use
		}
	}
	return ""
}

// methodReaches is reaches for methods: those of what is open outside.
func methodReaches(path string, f *types.Func) string {
	switch path {
	case "reflect":
		if f.Name() == "MapKeys" || f.Name() == "MapRange" {
			return "sorted keys: the order is another in a replay"
		}
	case "context":
		switch f.Name() {
		case "Err", "Deadline": // a receive from Done is found by itself
			return outside["context"].use
		}
	case "log", "log/slog":
		if receiver(f) == "Logger" && (path == "log" || !strings.HasPrefix(f.Name(), "With")) {
			switch f.Name() {
			case "Flags", "Prefix", "Writer", "SetFlags", "SetPrefix", "SetOutput", "Handler", "Enabled":
				return ""
			}
			return outside["log"].use
		}
	case "os", "os/exec", "net", "database/sql", "net/http":
		if r := receiver(f); r == "File" || r == "Process" || r == "Cmd" || r == "Client" || r == "DB" || r == "Tx" || r == "Conn" || strings.HasSuffix(r, "Conn") || strings.HasSuffix(r, "Listener") || r == "Dialer" || r == "Resolver" {
			return outside["os"].use
		}
	}
	return ""
}

// variables are those of packages that are outside, with what to use instead.
var variables = map[string]string{
	"crypto/rand.Reader": "durable.Random or durable.NewID",
	"time.Local":         "time.UTC, or durable.Do",
	"os.Args":            "durable.Do", "os.Stdin": "durable.Do", "os.Stdout": "durable.Do", "os.Stderr": "durable.Do",
	"flag.CommandLine": "durable.Do",
}

// stepless reports whether a function of package durable reaches outside without being a step: it starts threads, or asks another one.
func stepless(f *types.Func) bool {
	if f.Signature().Recv() == nil {
		switch f.Name() {
		case "Start", "Open", "Result", "ResultOf", "NewFileStore", "DeserializeAndUnpark":
			return true
		}
		return false
	}
	switch receiver(f) {
	case "Thread":
		return f.Name() != "ID" && f.Name() != "Name"
	case "Keeper", "Generator", "FileStore", "Builder":
		return true
	}
	return false
}

// shares reports whether a function is for what several threads use at a time.
func shares(f *types.Func) bool {
	switch f.Pkg().Path() {
	case "sync", "sync/atomic", "github.com/vtscope/vtscope/runtime/vsync":
		return f.Name() != "NewCond" && f.Name() != "OnceFunc"
	}
	return false
}

func receiver(f *types.Func) string {
	t := f.Signature().Recv().Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := t.(*types.Named); ok {
		return n.Obj().Name()
	}
	return ""
}
