package flight

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestWhatIsWrittenToControlIsRead(t *testing.T) {
	for _, body := range []string{"", "a\nb", strings.Repeat("x", MaxControlBody), strings.Repeat("y", MaxControlBody+1)} {
		var b bytes.Buffer
		if err := WriteControl(&b, "settings", []byte(body)); err != nil {
			t.Fatal(err)
		}
		b.WriteString("rest")
		word, got, err := ReadControl(&b, MaxAnswer)
		if word != "settings" || string(got) != body || err != nil || b.String() != "rest" {
			t.Errorf("%d bytes: got %q, %d bytes, %v, and %d left; want settings, the same, nil and 4", len(body), word, len(got), err, b.Len())
		}
	}
}

func TestControlRefusesWhatItDoesNotSpeak(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "EOF"},
		{"vtscope-control 1 hello", "EOF"},
		{"GET / HTTP/1.1\r\n\r\n", "not what is spoken"},
		{"vtscope-control 1 hello\n", "not what is spoken"},
		{"vtscope-control 1 hello -1\n", "not what is spoken"},
		{"vtscope-control 1 hello 99999999999\n", "not what is spoken"},
		{"vtscope-control 1 two words 0\n", "not what is spoken"},
		{strings.Repeat("vtscope", 100), "not what is spoken"},
		{"vtscope-control 1 hello 11\n", "at most 10"},
		{"vtscope-control 1 hello 5\nabcd", "unexpected EOF"},
		{"vtscope-control 2 hello 0 more\n", `version "2": the version is 1`},
	} {
		_, _, err := ReadControl(strings.NewReader(c.text), 10)
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, ErrControlVersion) != strings.HasPrefix(c.want, "version") {
			t.Errorf("%q: got %v, want %q", c.text, err, c.want)
		}
	}
}

func TestCommandsAreRegisteredOnce(t *testing.T) {
	do := func(*Recorder, <-chan struct{}, []byte) ([]byte, error) { return nil, nil }
	for _, c := range []Command{{Name: "hello", Do: do}, {Name: "Upper", Do: do}, {Name: "", Do: do}, {Name: "nothing"}, {Name: strings.Repeat("a", 40), Do: do}} {
		if err := RegisterCommand(c); err == nil {
			t.Errorf("%q was registered", c.Name)
		}
	}
}

func FuzzReadControl(f *testing.F) {
	f.Add([]byte("vtscope-control 1 hello 3\nabc"), 10)
	f.Add([]byte("vtscope-control 2 hello 3\nabc"), 10)
	f.Fuzz(func(t *testing.T, text []byte, most int) {
		word, body, err := ReadControl(bytes.NewReader(text), most)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := WriteControl(&b, word, body); err != nil || len(body) > most {
			t.Errorf("got %d bytes of at most %d, %v", len(body), most, err)
		}
		again, bodyAgain, err := ReadControl(&b, MaxAnswer)
		if again != word || !bytes.Equal(bodyAgain, body) || err != nil {
			t.Errorf("%q: got %q, %q, %v the second time", text, again, bodyAgain, err)
		}
	})
}
