package access

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/vtscope/vtscope/runtime/flight"
)

func FuzzTokens(f *testing.F) {
	for _, seed := range []string{
		"read " + readToken + "\noperate ann " + operateToken + "\n", "# x\n\nread " + readToken, operateToken, "read\x00 " + readToken, "operate " + strings.Repeat("x", 300), "read a b c",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens, err := ParseTokens(text)
		if err != nil {
			for _, word := range strings.Fields(text) { // an error tells no token
				if len(word) >= shortestToken && strings.Contains(err.Error(), word) {
					t.Errorf("%q: %v", text, err)
				}
			}
			return
		}
		k := newKeyring(tokens)
		for _, token := range tokens {
			if c, ok := k.find(string(token.Secret)); !ok || c.Role != token.Role || token.check() != nil {
				t.Errorf("%q: its token has %v, %v", text, c, ok)
			}
		}
		if _, ok := k.find(""); ok {
			t.Errorf("%q: nothing is a token", text)
		}
	})
}

func FuzzRule(f *testing.F) {
	for _, seed := range [][2]string{
		{`name=~/card-\d+/`, "GET card-4711"}, {`any=~/a|b/it`, "xAxb"}, {`scope=~/tenant\/x/`, "tenant/x"}, {"name=~/(/", ""}, {"name=~/x/zz", "x"}, {"blocker=~/\xff/t", "\xff"}, {`any=~/^$/`, ""}, {`text=~/\[redacted\]/t`, "[redacted]"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, rule, text string) {
		r, err := ParseRules(rule)
		if err != nil {
			return
		}
		if again, err := ParseRules(r.Rules()...); err != nil || len(again.rules) != 1 {
			t.Fatalf("%q: not again: %v", rule, err)
		}
		match, kinds := r.rules[0].match, r.rules[0].kinds
		kind := flight.TextUnknown
		if len(kinds) > 0 {
			kind = kinds[0]
		}
		out := r.Text(kind, text)
		for _, hidden := range match.FindAllString(text, -1) {
			rest := regexp.MustCompile(`\[redacted(:[0-9a-f]{8})?\]`).ReplaceAllString(out, "")
			if hidden != "" && len(hidden) > 20 && strings.Contains(rest, hidden) {
				t.Errorf("%q, %q: got %q, which has %q", rule, text, out, hidden)
			}
		}
		if len(match.FindAllString(text, -1)) == 0 && out != text {
			t.Errorf("%q, %q: got %q, though nothing matches", rule, text, out)
		}
	})
}

// FuzzRequest sends bytes as a request: whoever has no right gets nothing, however it is put.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		"GET /api/v1/processes HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"POST /api/v1/processes/1/incident HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nOrigin: http://127.0.0.1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + readToken[1:] + "\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: localhost\r\nCookie: vtscope=AAAA; __Secure-vtscope=BBBB\r\n\r\n",
		"POST /access/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 7\r\n\r\ntoken=x",
		"GET http://evil/..%2f HTTP/1.1\r\nHost: [::1]:80\r\nUpgrade: h2c\r\n\r\n",
		"GET /x?filter=%28%28%28&token=1 HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	} {
		f.Add([]byte(seed), true)
	}
	served := 0
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { served++; w.Write([]byte("secret")) })
	closed, err := New(Options{Tokens: tokens(), Limits: Limits{Rate: 1e9, Burst: 1e9, Failures: 1e9}})
	if err != nil {
		f.Fatal(err)
	}
	open, err := New(Options{Limits: Limits{Rate: 1e9, Burst: 1e9}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte, withTokens bool) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(string(b))))
		if err != nil {
			return
		}
		p := open
		r.RemoteAddr = "203.0.113.7:4711" // another machine
		if withTokens {
			p, r.RemoteAddr = closed, "127.0.0.1:4711"
		}
		if text := string(b); strings.Contains(text, readToken) || strings.Contains(text, operateToken) {
			return
		}
		before := served
		w := httptest.NewRecorder()
		p.Handler(next, nil).ServeHTTP(w, r)
		if served != before || strings.Contains(w.Body.String(), "secret") || w.Code < 300 {
			t.Errorf("%q: status %d, %s", b, w.Code, w.Body)
		}
		if w.Code == http.StatusSeeOther && !strings.HasSuffix(r.URL.Path, logoutPath) || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%q: status %d, %v", b, w.Code, w.Header())
		}
	})
}

func FuzzAddress(f *testing.F) {
	for _, seed := range []string{"127.0.0.1:0", "unix:/x/y", "[::1]:80", ":7070", "localhost:1", "0.0.0.0:1", "unix:@x", "[::ffff:127.0.0.1]:1", "127.1:80", "localhost.evil:1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := parseAddress(s)
		if err != nil {
			return
		}
		p, err := New(Options{Listen: []string{s}})
		if local := a.unix != "" || a.loopback; (err == nil) != local {
			t.Errorf("%q, local: %v; without a token: %v, %v", s, local, p, err)
		}
	})
}
