package dump

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// JSON writes the snapshot as one document; the package comment describes it.
func JSON(w io.Writer, s *Snapshot) error {
	return writeDocument(w, s)
}

func writeDocument(to io.Writer, document any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(document); err != nil {
		return err
	}
	_, err := to.Write(b.Bytes())
	return err
}

// ParseJSON reads what [JSON] wrote.
func ParseJSON(b []byte) (*Snapshot, error) {
	s := new(Snapshot)
	if err := json.Unmarshal(b, s); err != nil {
		return nil, err
	}
	if s.Format != Format {
		return nil, fmt.Errorf("format %q, want %q", s.Format, Format)
	}
	return s, s.check()
}

// check reports an index that points nowhere, so that nothing that takes a snapshot needs to look.
func (s *Snapshot) check() error {
	for i := range s.Scopes {
		sc := &s.Scopes[i]
		if i == 0 && (sc.Parent != -1 || sc.Depth != 0) || i > 0 && (sc.Parent < 0 || sc.Parent >= i || sc.Depth != s.Scopes[sc.Parent].Depth+1) {
			return fmt.Errorf("scope %d: no such parent: %d", i, sc.Parent)
		}
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.Scope < 0 || g.Scope >= len(s.Scopes) {
			return fmt.Errorf("group %d: no such scope: %d", i, g.Scope)
		}
		if g.Stack < -1 || g.Stack >= len(s.Stacks) {
			return fmt.Errorf("group %d: no such stack: %d", i, g.Stack)
		}
	}
	return nil
}
