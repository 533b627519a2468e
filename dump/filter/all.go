package filter

import (
	"fmt"
	"regexp"
	"strings"
)

// All returns a filter that matches what each of the filters matches. nil ones match all. The error says that it is too long.
func All(filters ...*Filter) (*Filter, error) {
	var all allOf
	for _, f := range filters {
		if !f.Empty() {
			all = append(all, f.root)
		}
	}
	// Terms are numbered within their filter: so it is read anew.
	return Parse((&Filter{all}).String())
}

// InScope returns a filter that matches the threads in the scopes of a path, and in those below: names that follow each other, joined by "/", in which "*" is
// any text. "requests" is all scopes of this name, "root" all threads.
func InScope(path string) (*Filter, error) {
	if path == "" {
		return nil, fmt.Errorf("want a path of names of scopes, such as requests or shop/GET*")
	}
	var parts []string
	for _, part := range strings.Split(path, "*") {
		parts = append(parts, regexp.QuoteMeta(part))
	}
	return Parse("scope~" + quoted("(^|/)"+strings.Join(parts, ".*")+"(/|$)"))
}
