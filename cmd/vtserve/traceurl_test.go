package main

import "testing"

func TestTheAddressOfATraceIsOne(t *testing.T) {
	for text, ok := range map[string]bool{
		"https://jaeger.example/trace/{trace}": true, "http://127.0.0.1:16686/trace/{trace}?uiFind={span}": true,
		"https://jaeger.example/trace/": false, "javascript:alert({trace})": false, "jaeger/{trace}": false, "https:///{trace}": false, "": false,
	} {
		if err := checkTraceURL(text); (err == nil) != ok {
			t.Errorf("%q: got %v, want it to be right: %v", text, err, ok)
		}
	}
}
