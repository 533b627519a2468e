package main

import (
	"errors"
	"net/url"
	"strings"
)

// checkTraceURL reports what is wrong with the address of a trace.
func checkTraceURL(text string) error {
	if !strings.Contains(text, "{trace}") {
		return errors.New("it has no {trace}, for the id of the trace")
	}
	u, err := url.Parse(strings.NewReplacer("{trace}", "0", "{span}", "0").Replace(text))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return errors.New("not an address such as https://jaeger.example/trace/{trace}")
	}
	return nil
}
