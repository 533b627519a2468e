package access

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vtscope/vtscope/internal/leaktest"
	"github.com/vtscope/vtscope/runtime/flight"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const (
	readToken    = "read-0123456789abcdef0123456789abcdef"
	operateToken = "operate-0123456789abcdef0123456789abcdef"
)

func tokens() []Token {
	return []Token{{Role: Read, Secret: readToken}, {Role: Operate, Name: "ann", Secret: operateToken}}
}

func TestATokenFileIsReadLineByLine(t *testing.T) {
	got, err := ParseTokens("# who may look\nread " + readToken + "\n\n  operate\tann " + operateToken + "\r\n")
	if err != nil || len(got) != 2 || got[0].Role != Read || got[1].Role != Operate || got[1].Name != "ann" || string(got[1].Secret) != operateToken {
		t.Fatalf("got %+v, %v", got, err)
	}
	for _, bad := range []string{
		"", "# nothing", operateToken, "admin " + operateToken, "read short", "none " + readToken, "read a b " + readToken,
		"read " + readToken + "\noperate " + readToken, "read " + strings.Repeat("x", 257), "read täglich-" + readToken, "read \x1b[31m " + readToken,
	} {
		got, err := ParseTokens(bad)
		if err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
			continue
		}
		for _, secret := range []string{readToken, operateToken} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%q: the error has the token in it: %v", bad, err)
			}
		}
	}
}

func TestASecretPrintsAsNothing(t *testing.T) {
	s := Secret(operateToken)
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "token", s, "all", tokens())
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %q %s %x %d", s, s, s, s, s, s, s), fmt.Sprintf("%+v %#v", tokens(), tokens()), log.String()} {
		if strings.Contains(text, "0123456789abcdef") || strings.Contains(text, "30313233") {
			t.Errorf("it shows in %q", text)
		}
	}
}

func TestATokenFileThatOthersMayReadIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	for _, c := range []struct {
		mode os.FileMode
		ok   bool
	}{{0o600, true}, {0o400, true}, {0o640, false}, {0o604, false}, {0o620, false}, {0o666, false}} {
		os.Remove(path)
		if err := os.WriteFile(path, []byte("read "+readToken), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadTokens(path); (err == nil) != c.ok {
			t.Errorf("mode %#o: got %v, want it read: %v", c.mode, err, c.ok)
		} else if r := (*Refusal)(nil); err != nil && (!errors.As(err, &r) || !strings.Contains(r.Try, "chmod 600")) {
			t.Errorf("mode %#o: %v does not say what to try", c.mode, err)
		}
	}
	if _, err := ReadTokens(t.TempDir()); err == nil {
		t.Error("a directory was read")
	}
}

func TestTheEnvironmentGivesTokensOnce(t *testing.T) {
	t.Setenv(EnvRead, readToken)
	t.Setenv(EnvOperate, " "+operateToken+"\n")
	got, err := TakeEnvironment()
	if err != nil || len(got) != 2 || got[1].Role != Operate || string(got[1].Secret) != operateToken {
		t.Fatalf("got %v, %v", got, err)
	}
	if _, ok := os.LookupEnv(EnvOperate); ok {
		t.Error("it is still in the environment, which children get")
	}
	t.Setenv(EnvRead, "short")
	if _, err := TakeEnvironment(); err == nil || strings.Contains(err.Error(), "short") {
		t.Errorf("got %v, want an error without the token", err)
	}
}

// A comparison that ends at the first difference, or at the first row that matches, tells how near a guess was. That is a matter of how it is written: times
// are not measured here.
func TestTokensAreComparedInConstantTime(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "tokens.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if why := variableTime(file); why != "" {
		t.Error(why)
	}
	for _, bad := range []string{
		`for i := range k.rows { if k.rows[i].sum == sum { return Caller{}, true } }; _ = subtle.ConstantTimeCompare(a, b)`,
		`for i := range k.rows { if subtle.ConstantTimeCompare(a, b) == 1 { break } }`,
		`for i := range k.rows { _ = bytes.Equal(a, b) }`,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc (k *keyring) find(p string) (Caller, bool) {"+bad+"\nreturn Caller{}, false}", 0)
		if err != nil {
			t.Fatal(err)
		}
		if variableTime(file) == "" {
			t.Errorf("not found: %s", bad)
		}
	}
	k := newKeyring(tokens())
	for shown, want := range map[string]string{readToken: "token:read", operateToken: "ann", "": "", readToken[1:]: "", readToken + "x": "", strings.ToUpper(readToken): ""} {
		if c, ok := k.find(shown); ok != (want != "") || c.Name != want {
			t.Errorf("%q: got %+v, %v; want %q", shown, c, ok, want)
		}
	}
}

// variableTime tells why find does not take as long for every token.
func variableTime(file *ast.File) (why string) {
	compares, loops := 0, 0
	ast.Inspect(file, func(n ast.Node) bool {
		find, ok := n.(*ast.FuncDecl)
		if !ok || find.Name.Name != "find" {
			return true
		}
		ast.Inspect(find, func(n ast.Node) bool {
			if loop, ok := n.(*ast.RangeStmt); ok {
				loops++
				ast.Inspect(loop.Body, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.ReturnStmt, *ast.BranchStmt, *ast.IfStmt, *ast.SwitchStmt:
						why = "the loop over tokens branches"
					case *ast.BinaryExpr:
						if n.Op == token.EQL || n.Op == token.NEQ {
							why = "the loop over tokens compares by operator"
						}
					case *ast.SelectorExpr:
						if n.Sel.Name == "ConstantTimeCompare" {
							compares++
						}
					}
					return true
				})
			}
			return true
		})
		return false
	})
	if why == "" && (compares != 1 || loops != 1) {
		why = "no loop with one ConstantTimeCompare"
	}
	return why
}

func TestRulesHideWhatTheyMatch(t *testing.T) {
	r, err := ParseRules(`name=~/card-\d+/`, `scope=~/tenant\/[a-z]+/i`, `any=~/s3cret/`, `blocker=~/user-\w+/t`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind     flight.TextKind
		in, want string
	}{
		{flight.TextThread, "GET card-4711 of card-12", "GET [redacted] of [redacted]"},
		{flight.TextScope, "card-4711", "card-4711"},
		{flight.TextScope, "root Tenant/ACME", "root [redacted]"},
		{flight.TextOther, "x s3cret", "x [redacted]"},
		{flight.TextUnknown, "card-1 tenant/a s3cret", "[redacted] [redacted] [redacted]"}, // nobody knows whose it is: all rules
		{flight.TextThread, "", ""},
	} {
		for range 2 { // the second time it is remembered
			if got := r.Text(c.kind, c.in); got != c.want {
				t.Errorf("kind %d, %q: got %q, want %q", c.kind, c.in, got, c.want)
			}
		}
	}
	a, b := r.Text(flight.TextBlocker, "queue of user-ann"), r.Text(flight.TextBlocker, "lock of user-ann")
	other := r.Text(flight.TextBlocker, "queue of user-bob")
	if a[len("queue of "):] != b[len("lock of "):] || a == other || strings.Contains(a, "ann") || !strings.Contains(a, "[redacted:") {
		t.Errorf("tags: got %q, %q and %q; want equal ones for equal texts, and no text", a, b, other)
	}
	if (&Redactor{}).Text(flight.TextThread, "card-1") != "card-1" || (&Redactor{}).On() {
		t.Error("without rules something is hidden")
	}
	for _, bad := range []string{
		"", "name", "name=~", "name=~/", "name=~//", "name=~/x", "name=~/(/", "names=~/x/", "name=~/x/z", "name=~/.*/", "name=/x/", "name=~/" + strings.Repeat("x", 1001) + "/",
	} {
		if _, err := ParseRules(bad); err == nil {
			t.Errorf("%q: want an error", bad)
		}
	}
}

func TestLimitsAreChecked(t *testing.T) {
	if _, err := New(Options{Limits: Limits{Rate: -1}}); err == nil {
		t.Error("a negative rate was taken")
	}
	if _, err := New(Options{Tokens: []Token{{Role: Read, Secret: "short"}}}); err == nil {
		t.Error("a token that can be guessed was taken")
	}
	for _, bad := range []string{"7070", "127.0.0.1:http", "127.0.0.1:70000", "127.0.0.1:+80", "unix:", "unix:@x", "x y"} {
		if _, err := New(Options{Listen: []string{bad}}); err == nil {
			t.Errorf("listens on %q", bad)
		}
	}
}

func TestRatesFillAgain(t *testing.T) {
	var r rates
	r.init(2, 3)
	now := time.Unix(1000, 0)
	for i := range 3 {
		if ok, _ := r.take("a", now, true); !ok {
			t.Errorf("take %d was refused", i)
		}
	}
	if ok, wait := r.take("a", now, true); ok || wait != time.Second {
		t.Errorf("the fourth: got %v, %v; want to wait a second", ok, wait)
	}
	if ok, _ := r.take("b", now, true); !ok {
		t.Error("another address waits too")
	}
	if ok, _ := r.take("a", now.Add(500*time.Millisecond), true); !ok {
		t.Error("after half a second there is none")
	}
	for i := range 3 * maxPeers {
		r.take(fmt.Sprint(i), now.Add(time.Duration(i)), true)
	}
	if len(r.mu.peers) > maxPeers {
		t.Errorf("%d addresses are remembered, want at most %d", len(r.mu.peers), maxPeers)
	}
}

func TestRolesAreOrdered(t *testing.T) {
	for _, c := range []struct {
		has, needs Role
		may        bool
	}{{Read, Read, true}, {Operate, Read, true}, {Operate, Operate, true}, {Read, Operate, false}, {None, Read, false}, {None, None, false}, {Operate, None, false}, {9, Read, false}} {
		if got := c.has.May(c.needs); got != c.may {
			t.Errorf("%v may what needs %v: got %v, want %v", c.has, c.needs, got, c.may)
		}
	}
	for method, want := range map[string]Role{"GET": Read, "HEAD": Read, "POST": Operate, "DELETE": Operate, "PUT": Operate} {
		if got := NeedByMethod(&http.Request{Method: method}); got != want {
			t.Errorf("%s: got %v, want %v", method, got, want)
		}
	}
}

func TestWhatComesFromTheWireIsCleanedForLines(t *testing.T) {
	for in, want := range map[string]string{
		"GET /x": "GET /x", "a\nb": "a?b", "a\r\x1b[31m\x00b": "a??[31m?b", "\u202eabc": "?abc", "a\u2028b": "a?b", "\xff": "?", "Grüße": "Grüße",
	} {
		if got := clean(in, 100); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := clean("ääää", 3); got != "ä…" {
		t.Errorf("got %q, want a cut at a character", got)
	}
}
