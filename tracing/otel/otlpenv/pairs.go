package otlpenv

import (
	"fmt"
	"net/url"
	"strings"
)

// An Attribute is one of a resource, or a header.
type Attribute struct {
	Key   string
	Value any // a string or an int64
}

// maxPairs bounds what a list may have.
const maxPairs = 256

// Pairs reads a list such as "a=1,b=x%20y". Values are percent-decoded; spaces around keys and values count for nothing, and so do empty elements. What comes twice counts
// as it came last, in its first place.
func Pairs(list string) ([]Attribute, error) {
	var all []Attribute
	at := map[string]int{}
	for element := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(element) == "" {
			continue
		}
		key, value, ok := strings.Cut(element, "=")
		key = strings.TrimSpace(key)
		if !ok || key == "" {
			return nil, fmt.Errorf("element %d of the list: want key=value", len(all)+1) // not its text: it may be secret
		}
		text, err := url.PathUnescape(strings.TrimSpace(value))
		if err != nil {
			return nil, fmt.Errorf("value of %q: not percent-encoded", key)
		}
		text = strings.ToValidUTF8(text, "\uFFFD") // else it cannot be sent
		if i, ok := at[key]; ok {
			all[i].Value = text
			continue
		}
		if len(all) == maxPairs {
			return nil, fmt.Errorf("more than %d elements", maxPairs)
		}
		at[key] = len(all)
		all = append(all, Attribute{strings.ToValidUTF8(key, "\uFFFD"), text})
	}
	return all, nil
}

// checkHeader wants a header that both protocols can carry.
func checkHeader(key, value string) error {
	for _, r := range key {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r)) {
			return fmt.Errorf("header %q: want letters, digits and any of . _ -", key)
		}
	}
	if strings.HasPrefix(strings.ToLower(key), "grpc-") {
		return fmt.Errorf("header %q: it is of the protocol", key)
	}
	for _, b := range []byte(value) {
		if b < ' ' || b > '~' {
			return fmt.Errorf("value of header %q: want printable ASCII", key)
		}
	}
	return nil
}
