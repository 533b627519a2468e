package jfr

import (
	"os/exec"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func TestSymbolsAreSplitWhereGoJoinsThem(t *testing.T) {
	for _, want := range []struct{ function, pkg, class, method string }{
		{"main.main", "", "main", "main"},
		{"main.main.func3.1", "", "main", "main.func3.1"},
		{"main.init.0", "", "main", "init.0"},
		{"main.init.func1", "", "main", "init.func1"},
		{"main.glob..func1", "", "main", "glob..func1"},
		{"main.run.gowrap1", "", "main", "run.gowrap1"},
		{"main.run.deferwrap2", "", "main", "run.deferwrap2"},
		{"main.each-range1", "", "main", "each-range1"},
		{"main.each.func1-range2", "", "main", "each.func1-range2"},
		{"main.run.T.close.func1", "", "main", "run.T.close.func1"},
		{"main.run.(*T).close.func1", "", "main", "run.(*T).close.func1"},
		{"net/http.ListenAndServe", "net", "net/http", "ListenAndServe"},
		{"net/http.(*conn).serve", "net", "net/http.(*conn)", "serve"},
		{"net/http.(*conn).serve.func1", "net", "net/http.(*conn)", "serve.func1"},
		{"net/http.HandlerFunc.ServeHTTP", "net", "net/http.HandlerFunc", "ServeHTTP"},
		{"main.(*Queue[...]).Take", "", "main.(*Queue[...])", "Take"},
		{"main.Queue[...].Take", "", "main.Queue[...]", "Take"},
		{"main.apply[...]", "", "main", "apply[...]"},
		{"main.apply[...].func1", "", "main", "apply[...].func1"},
		{"main.apply[go.shape.struct { a/b.c int }]", "", "main", "apply[go.shape.struct { a/b.c int }]"},
		{"gopkg.in/yaml%2ev3.Unmarshal.func1", "gopkg.in", "gopkg.in/yaml.v3", "Unmarshal.func1"},
		{"github.com/acme/shop/cart.(*Service).Checkout", "github.com/acme/shop", "github.com/acme/shop/cart.(*Service)", "Checkout"},
		{"github.com/acme/shop/cart.Service.Checkout-fm", "github.com/acme/shop", "github.com/acme/shop/cart.Service", "Checkout-fm"},
		{"0x47a3f1", "", "native", "0x47a3f1"},
		{"pthread_create", "", "native", "pthread_create"},
		{"", "", "native", "unknown"},
		{"[I.x", "", "native", "[I.x"},
	} {
		got := split(want.function)
		if got.Package != want.pkg || got.Class != want.class || got.Method != want.method {
			t.Errorf("%s: got package %q, class %q, method %q; want %q, %q, %q", want.function, got.Package, got.Class, got.Method, want.pkg, want.class, want.method)
		}
	}
}

// T is a type with methods that the compiler names.
type T struct{}

func (T) value() string { return here() }

//go:noinline
func (*T) pointer() string { return func() string { return here() }() }

func here() string {
	pc, _, _, _ := runtime.Caller(1)
	return runtime.FuncForPC(pc).Name()
}

func TestNamesOfRealFunctionsComeOutWhole(t *testing.T) {
	const path = "github.com/vtscope/vtscope/tracing/jfr"
	for _, want := range []struct{ function, class, method string }{
		{T{}.value(), path + ".T", "value"},
		{(&T{}).pointer(), path + ".(*T)", "pointer.func1"},
		{here(), path, "TestNamesOfRealFunctionsComeOutWhole"},
		{runtime.FuncForPC(reflect.ValueOf(strings.ToUpper).Pointer()).Name(), "strings", "ToUpper"},
	} {
		if got := split(want.function); got.Class != want.class || got.Method != want.method {
			t.Errorf("%s: got class %q, method %q; want %q, %q", want.function, got.Class, got.Method, want.class, want.method)
		}
	}
}

func TestEveryPackageOfTheStandardLibraryIsKnown(t *testing.T) {
	out, err := exec.Command("go", "list", "std").Output()
	if err != nil {
		t.Skipf("no go command to ask for the standard library: %v", err)
	}
	paths := strings.Fields(string(out))
	if len(paths) < 100 {
		t.Fatalf("got %d packages of the standard library, want more than 100", len(paths))
	}
	for _, path := range paths {
		if !ofStandardLibrary(path) {
			t.Errorf("%s: got a package of the user, want one of the standard library", path)
		}
	}
	for _, path := range []string{"main", "shop", "github.com/acme/shop", "github.com/vtscope/vtscope/fixtures/shop", "timer", "github.com/vtscope/vtscope/runtimes"} {
		if ofStandardLibrary(path) {
			t.Errorf("%s: got a package of the standard library, want one of the user", path)
		}
	}
}

// FuzzSplit checks what readers rely on, of any name.
func FuzzSplit(f *testing.F) {
	for _, name := range []string{"", "main.main", "net/http.(*conn).serve", "a%2eb.c", "gopkg.in/yaml%2ev3.T.M", "main.Q[a/b.c].M", "[", ".", "a.", "/.x", "(.x", "main.(", "a/b", "x.[", "x.]["} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		s := split(name)
		if s.Class == "" || s.Class[0] == '[' || s.Method == "" {
			t.Fatalf("%q: got class %q, method %q", name, s.Class, s.Method)
		}
		if s.Package != "" && (len(s.Class) <= len(s.Package)+1 || !strings.HasPrefix(s.Class, s.Package)) {
			t.Fatalf("%q: got class %q in package %q", name, s.Class, s.Package)
		}
		if joined := s.Class + "." + s.Method; s.Class != "native" && strings.ReplaceAll(joined, "%2e", ".") != strings.ReplaceAll(name, "%2e", ".") {
			t.Fatalf("%q: got %q", name, joined)
		}
	})
}
