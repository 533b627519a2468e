package main

import (
	"go/types"
	"strings"
)

const durablePath = "github.com/vtscope/vtscope/runtime/durable"

// A rule names functions of a package that reach outside, and what to use instead.
type rule struct {
	names string // of functions, separated by spaces; "": all of them
	use   string
}

// outside are the rules by package path; one that ends with "/" holds for all below.
var outside = map[string]rule{
	"time":          {"Now Since Until Sleep After AfterFunc Tick NewTimer NewTicker", "durable.Now or durable.Sleep"},
	"math/rand":     {"", "durable.Random"},
	"math/rand/v2":  {"", "durable.Random"},
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
	"fmt":           {"Print Printf Println Scan Scanf Scanln", "durable.Do"},

	"github.com/vtscope/vtscope/runtime/vthread": {"Start Sleep SleepContext Park ParkFor ParkUntil Recv Send Select Await AwaitFor AwaitContext AwaitAll Blocking", "durable.Fork, durable.Sleep, durable.Park, durable.Await or durable.Do"},
	"github.com/vtscope/vtscope/runtime/vnet":    {"", "durable.Do"},
	"github.com/vtscope/vtscope/runtime/vfile":   {"", "durable.Do"},
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
	case "os", "os/exec", "net", "database/sql", "net/http":
		if r := receiver(f); r == "File" || r == "Process" || r == "Cmd" || r == "Client" || r == "DB" || r == "Tx" || r == "Conn" || strings.HasSuffix(r, "Conn") || strings.HasSuffix(r, "Listener") || r == "Dialer" || r == "Resolver" {
			return outside["os"].use
		}
	}
	return ""
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
