package agent

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
)

// applied makes of what a client has, and a delta, what it has then: what webui/src/delta.ts does.
func applied(t *testing.T, had, delta []byte) any {
	t.Helper()
	var old, change any
	if err := json.Unmarshal(had, &old); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(delta, &change); err != nil {
		t.Fatalf("delta %s: %v", delta, err)
	}
	if list, ok := change.([]any); ok {
		return appliedRows(t, old.([]any), list)
	}
	now := old.(map[string]any)
	for name, v := range change.(map[string]any) {
		if name == "rows" {
			v = appliedRows(t, now["rows"].([]any), v.([]any))
		}
		now[name] = v
	}
	return now
}

func appliedRows(t *testing.T, old, delta []any) []any {
	t.Helper()
	rows := []any{}
	for _, item := range delta {
		pair, ok := item.([]any)
		if !ok {
			rows = append(rows, item)
			continue
		}
		i := int(pair[0].(float64))
		if n, ok := pair[1].(float64); ok {
			rows = append(rows, old[i:i+int(n)]...)
			continue
		}
		row := map[string]any{}
		for name, v := range old[i].(map[string]any) {
			row[name] = v
		}
		for name, v := range pair[1].(map[string]any) {
			row[name] = v
		}
		rows = append(rows, row)
	}
	return rows
}

func sameJSON(t *testing.T, got any, want []byte) {
	t.Helper()
	var w any
	if err := json.Unmarshal(want, &w); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, w) {
		t.Fatalf("got  %v\nwant %v", got, w)
	}
}

func TestADeltaMakesTheWholeAgain(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var old *part
	had := &Groups{Rows: []GroupRow{}}
	saved := 0
	for step := range 500 {
		now := &Groups{Scope: "root", Total: random.IntN(3), Rows: append([]GroupRow{}, had.Rows...)}
		for range random.IntN(4) {
			switch n := len(now.Rows); {
			case n == 0 || n < 40 && random.IntN(3) == 0:
				now.Rows = append(now.Rows, GroupRow{Key: fmt.Sprint("g", step, n), Scope: "root/a", Top: "example.com/shop.query", Count: n})
			case random.IntN(4) == 0:
				i := random.IntN(n)
				now.Rows = append(now.Rows[:i:i], now.Rows[i+1:]...)
			case random.IntN(3) == 0:
				i, k := random.IntN(n), random.IntN(n)
				now.Rows[i], now.Rows[k] = now.Rows[k], now.Rows[i]
			default:
				now.Rows[random.IntN(n)].Count++
			}
		}
		fresh := newPart(now, []string{"key"})
		want, err := json.Marshal(now)
		if err != nil {
			t.Fatal(err)
		}
		if string(fresh.json) != string(want) {
			t.Fatalf("encoded as %s, want %s", fresh.json, want)
		}
		if delta := fresh.from(old); delta != nil {
			saved++
			sameJSON(t, applied(t, old.json, delta), want)
			if again := fresh.from(old); string(again) != string(delta) {
				t.Fatalf("asked again the delta is %s, not %s", again, delta)
			}
		}
		old, had = fresh, now
	}
	if saved < 200 {
		t.Errorf("%d of 500 steps had a delta, want most", saved)
	}
}

func TestADeltaOfTheSpecificationIsMadeSo(t *testing.T) {
	type row struct {
		Key   string `json:"key"`
		Count int    `json:"count"`
		State string `json:"state"`
	}
	type list struct {
		Scope string `json:"scope"`
		Total int    `json:"total"`
		Rows  []row  `json:"rows"`
	}
	old := newPart(&list{"root", 79, []row{{"a", 40, "parked"}, {"b", 39, "blocked"}}}, []string{"key"})
	now := newPart(&list{"root", 85, []row{{"b", 45, "blocked"}, {"a", 40, "parked"}}}, []string{"key"})
	if got, want := string(now.from(old)), `{"total":85,"rows":[[1,{"count":45}],[0,1]]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Rows that cannot be told apart, as when names repeat, are no reason for a wrong delta.
func TestRowsOfOneKeyMakeARightDelta(t *testing.T) {
	with := func(counts ...int) *Delays {
		d := &Delays{Rows: []DelayRow{}}
		for _, n := range counts {
			d.Rows = append(d.Rows, DelayRow{Scope: "root", Runnable: n})
		}
		return d
	}
	steps := []*Delays{with(1, 2, 3), with(3, 2, 1), with(2), with(2, 2), with(), with(5)}
	var old *part
	n := 0
	for _, d := range steps {
		now := newPart(d, []string{"scope"})
		if delta := now.from(old); delta != nil {
			n++
			sameJSON(t, applied(t, old.json, delta), now.json)
		}
		old = now
	}
	if n == 0 {
		t.Error("no delta was made")
	}
}

func TestEachPanelIsAMemberOfFramesAndIsEncodedAsJSONDoes(t *testing.T) {
	members := map[string]bool{}
	frame := reflect.TypeFor[Frame]()
	for i := range frame.NumField() {
		if f := frame.Field(i); f.Type.Kind() == reflect.Pointer && f.Name != "Processes" {
			members[lowerFirst(f.Name)] = true
			v := filled(f.Type.Elem(), 0)
			want, err := json.Marshal(v.Addr().Interface())
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range [][]string{nil, noRows, {"key"}} {
				if got := newPart(v.Addr().Interface(), key).json; string(got) != string(want) {
					t.Errorf("%s, key %q: encoded as %s, want %s", f.Name, key, got, want)
				}
			}
		}
	}
	for i := range panels {
		if !members[panels[i].name] {
			t.Errorf("panel %s is no member of frames", panels[i].name)
		}
		delete(members, panels[i].name)
	}
	for name := range members {
		t.Errorf("member %s of frames is no panel", name)
	}
}

func lowerFirst(s string) string { return string(s[0]+'a'-'A') + s[1:] }

// filled is a value with something in every field.
func filled(t reflect.Type, depth int) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.String:
		v.SetString(`a "name" <b> & ` + "\u2028")
	case reflect.Int, reflect.Int64:
		v.SetInt(-7)
	case reflect.Uint64:
		v.SetUint(1 << 60)
	case reflect.Float64:
		v.SetFloat(0.25)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(filled(t.Elem(), depth+1).Addr())
	case reflect.Slice:
		for range 2 {
			v.Set(reflect.Append(v, filled(t.Elem(), depth+1)))
		}
	case reflect.Struct:
		for i := range t.NumField() {
			v.Field(i).Set(filled(t.Field(i).Type, depth+1))
		}
	}
	return v
}
