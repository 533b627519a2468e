package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestThePageIsAsTheTableSays(t *testing.T) {
	var want bytes.Buffer
	write(&want, groups)
	got, err := os.ReadFile("../../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("docs/conformance.md is stale; run go generate ./internal/conformance")
	}
}

// The inventory has 259 codes, and durable threads 16; a row that is lost would be missed by nobody.
func TestTheTableHasTheWholeInventory(t *testing.T) {
	want := map[string]int{
		"CT": 19, "SC": 7, "FZ": 3, "LC": 33, "PK": 17, "IN": 7, "SL": 6, "YD": 5, "JN": 8, "PN": 7, "MN": 17,
		"SD": 13, "TL": 5, "SV": 12, "ST": 43, "FL": 12, "EX": 6, "NW": 13, "TD": 13, "JF": 6, "SS": 7, "DU": 16,
	}
	for _, g := range groups {
		if len(g.rows) != want[g.name] {
			t.Errorf("%s: got %d rows, want %d", g.name, len(g.rows), want[g.name])
		}
		delete(want, g.name)
	}
	if len(want) > 0 {
		t.Errorf("got no groups %v, want them", want)
	}
}

func TestEveryRowSaysWhatItMustSay(t *testing.T) {
	for _, line := range mistakes(groups, nil) {
		t.Error(line)
	}
	for _, g := range groups {
		for _, b := range g.rows {
			if !codeForm.MatchString(b.code) {
				t.Errorf("%q is not a code", b.code)
			}
			if n := len(strings.Fields(b.says)); n == 0 || n > 12 {
				t.Errorf("%s: got %d words, want 1 to 12", b.code, n)
			}
			if b.kind == isNotApplicable && b.why == "" {
				t.Errorf("%s: not applicable: got no reason", b.code)
			}
			if b.kind == isWaiting && b.issue == "" {
				t.Errorf("%s: waiting: got no issue", b.code)
			}
			if strings.ContainsAny(b.says+b.why, "|\n") {
				t.Errorf("%s: got a character that breaks the page's table", b.code)
			}
		}
	}
}

// module writes a module with one package and its test file, and enters it.
func module(t *testing.T, tests string) {
	t.Helper()
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.test/m\n\ngo 1.26\n")
	if err := os.Mkdir("p", 0o700); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join("p", "p.go"), "package p\n")
	write(filepath.Join("p", "p_test.go"), "package p\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _, skip = os.Exit, (*testing.T).Skip\n\n"+tests)
}

// passing is a test that shows AA-01.
const passing = "// AA-01: words.\nfunc TestOne(t *testing.T) {}\n\n"

func TestCheckFindsWhatIsMissing(t *testing.T) {
	t.Setenv("GOFLAGS", "")
	for _, c := range []struct {
		name  string
		tests string
		rows  []behaviour
		line  string // of the group; "" if the table is not reported
		says  string // on the way, or as error; "" for neither
	}{
		{"one of three kinds each", passing, []behaviour{{"AA-01", "", tested}, {"AA-02", "", never("no")}, {"AA-03", "", waits(network)}},
			"AA 1/1/0", ""},
		{"two codes, two tests", "// AA-01, AA-02\nfunc TestOne(t *testing.T) {}\n\n// AA-02\nfunc TestTwo(t *testing.T) {}\n",
			[]behaviour{{"AA-01", "", tested}, {"AA-02", "", tested}}, "AA 2/0/0", ""},
		{"no test", passing, []behaviour{{"AA-01", "", tested}, {"AA-02", "", tested}},
			"AA 1/0/1", "missing AA-02, : no test names it"},
		{"a failure", passing + "// AA-01\nfunc TestTwo(t *testing.T) { t.Error(\"it is so\") }\n", []behaviour{{"AA-01", "", tested}},
			"AA 0/0/1", "TestTwo failed"},
		{"what a failure printed", "// AA-01\nfunc TestTwo(t *testing.T) { t.Run(\"sub\", func(t *testing.T) { t.Error(\"it is so\") }) }\n", []behaviour{{"AA-01", "", tested}},
			"AA 0/0/1", "it is so"},
		{"a failure of a row that waits", "// AA-02\nfunc TestTwo(t *testing.T) { t.Error() }\n\n" + passing, []behaviour{{"AA-01", "", tested}, {"AA-02", "", waits(network)}},
			"AA 1/0/0", "TestTwo failed 1 of 1 times"},
		{"a skip", "// AA-01\nfunc TestOne(t *testing.T) { skip(t, \"no such kernel\") }\n", []behaviour{{"AA-01", "", tested}},
			"AA 0/0/1", "TestOne was skipped: p_test.go:11: no such kernel"},
		{"a skip of a part", "// AA-01\nfunc TestOne(t *testing.T) { t.Run(\"sub\", func(t *testing.T) { skip(t) }) }\n", []behaviour{{"AA-01", "", tested}},
			"AA 0/0/1", "TestOne was skipped: p_test.go:11:"},
		{"a part that fails after a skip", "// AA-01\nfunc TestOne(t *testing.T) {\n\tt.Run(\"a\", func(t *testing.T) { skip(t) })\n\tt.Run(\"b\", func(t *testing.T) { t.Fail() })\n}\n", []behaviour{{"AA-01", "", tested}},
			"AA 0/0/1", "TestOne failed"},
		{"an exit in the middle", "// AA-01\nfunc TestOne(t *testing.T) { os.Exit(0) }\n", []behaviour{{"AA-01", "", tested}},
			"AA 0/0/1", "TestOne"},
		{"a crash after a failure", "// AA-01\nfunc TestOne(t *testing.T) { t.Error() }\n\n// AA-01\nfunc TestTwo(t *testing.T) { go panic(\"guilty\"); select {} }\n", []behaviour{{"AA-01", "", tested}},
			"AA 0/0/1", "panic: guilty"},
		{"a failure after the tests", passing + "func TestMain(m *testing.M) { m.Run(); println(\"leak\"); os.Exit(3) }\n", []behaviour{{"AA-01", "", tested}},
			"AA 1/0/0", "leak"},
		{"an end of the package in the middle", "// AA-01\nfunc TestOne(t *testing.T) {}\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n", []behaviour{{"AA-01", "", tested}},
			"AA 0/0/1", "not as often as asked"},
		{"a crash", "// AA-01\nfunc TestOne(t *testing.T) { go panic(\"guilty\"); select {} }\n", []behaviour{{"AA-01", "", tested}},
			"AA 0/0/1", "guilty"},
		{"no build", passing + "var x int = \"y\"\n", []behaviour{{"AA-01", "", tested}},
			"AA 0/0/1", "cannot use \"y\""},
		{"not parsed", passing + "func {\n", []behaviour{{"AA-01", "", tested}}, "", "p_test.go:13"},
		{"an unknown code", passing + "// AA-07: words\nfunc TestTwo(t *testing.T) {}\n", []behaviour{{"AA-01", "", tested}},
			"AA 1/0/0", "TestTwo: the table has no AA-07"},
		{"a test of no meaning", passing, []behaviour{{"AA-01", "", never("no")}},
			"AA 0/1/0", "TestOne: the table calls AA-01 not applicable: no"},
		{"a wrong list", passing + "// AA-01 to AA-03\nfunc TestTwo(t *testing.T) {}\n", []behaviour{{"AA-01", "", tested}},
			"AA 1/0/0", `"AA-01 to AA-03" is not a code`},
		{"not above a test", passing + "// AA-01: words\nfunc testTwo(t *testing.T) {}\n\nvar _ = testTwo\n", []behaviour{{"AA-01", "", tested}},
			"AA 1/0/0", "not above a test"},
		{"apart from the test", passing + "// AA-01: words\n\nfunc TestTwo(t *testing.T) {}\n", []behaviour{{"AA-01", "", tested}},
			"AA 1/0/0", "not above a test"},
		{"a row twice", passing, []behaviour{{"AA-01", "", tested}, {"AA-01", "", tested}}, "AA 2/0/0", "AA-01 stands twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			module(t, c.tests)
			var out strings.Builder
			err := check(&out, []group{{"AA", "", c.rows}}, ".", 1, nil)
			all := out.String()
			if err != nil {
				all += err.Error()
			}
			if (err != nil) != (c.says != "") {
				t.Errorf("got error %v, want one: %v", err, c.says != "")
			}
			if !strings.Contains(all, c.says) {
				t.Errorf("got no %q, want it", c.says)
			}
			if first, _, _ := strings.Cut(out.String()[strings.Index(out.String(), "AA ")+1:], "\n"); c.line != "" && "A"+first != c.line {
				t.Errorf("got %q, want %q", "A"+first, c.line)
			}
			if t.Failed() {
				t.Logf("it printed:\n%s", all)
			}
		})
	}
}

func TestATestIsRunAsOftenAsAsked(t *testing.T) {
	t.Setenv("GOFLAGS", "")
	module(t, passing+"// AA-02: fails once in a process.\nfunc TestTwo(t *testing.T) {\n\tif n++; n == 3 {\n\t\tt.Fail()\n\t}\n}\n\nvar n int\n")
	table := []group{{"AA", "", []behaviour{{"AA-01", "", tested}, {"AA-02", "", tested}}}}
	var out strings.Builder
	err := check(&out, table, ".", perProcess+5, nil)
	if want := fmt.Sprintf("TestTwo failed 2 of %d times", perProcess+5); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want %s", err, want)
	}
	if !strings.HasPrefix(out.String(), "TestTwo failed:\n") || !strings.Contains(out.String(), "AA 1/0/1\n") {
		t.Errorf("got %s, want what TestTwo printed, then AA 1/0/1", out.String())
	}
}

func TestTheLastLineHasTheSums(t *testing.T) {
	table := []group{
		{"AA", "", []behaviour{{"AA-01", "one", tested}, {"AA-02", "two", partly(network, "on Sundays")}, {"AA-03", "three", never("no")}, {"AA-04", "four", waits(dumps)}}},
		{"BB", "", []behaviour{{"BB-01", "one", tested}}},
		{"CC", "", []behaviour{{"CC-01", "one", waits(network)}, {"CC-02", "two", waits(network)}}},
	}
	tests := []test{{dir: "p", name: "TestOne", codes: []string{"AA-01", "AA-02"}}}
	var out strings.Builder
	if missing := report(&out, table, tests, ran{"p": {"TestOne": {ran: 1}}}); missing != 1 {
		t.Errorf("got %d missing, want 1", missing)
	}
	want := []string{
		"AA 2/1/0", "BB 0/0/1", "CC 0/0/0",
		"waiting for the dump issue (7): AA-04",
		"waiting for the network issue (9): AA-02 (on Sundays), all 2 of CC",
		"missing BB-01, one: no test names it",
		"conformance: 2 passing, 1 not applicable, 1 missing",
	}
	if got := strings.Split(strings.TrimSpace(out.String()), "\n"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
