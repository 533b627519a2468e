package auto

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/vtscope/vtscope/agent"
	"github.com/vtscope/vtscope/agent/access"
	"github.com/vtscope/vtscope/runtime/flight"
)

// Variable is the environment variable that says where to listen.
const Variable = "VTSCOPE_HTTP"

func init() {
	flight.Announce()
	if err := start(http.DefaultServeMux, os.Getenv(Variable)); err != nil {
		fmt.Fprintf(os.Stderr, "vtscope: agent: %v\n", err)
	}
}

// start listens on an address, or registers the agent with a mux if there is none.
func start(mux *http.ServeMux, address string) error {
	switch strings.TrimSpace(address) {
	case "off":
		return nil
	case "":
		policy, err := policyOf(nil)
		if err != nil {
			return err
		}
		return register(mux, agent.Handler(agent.Options{Access: policy}))
	}
	policy, err := policyOf([]string{strings.TrimSpace(address)})
	if err != nil {
		return explained(err)
	}
	listeners, err := policy.Listen()
	if err != nil {
		return explained(err)
	}
	server := policy.Server(agent.Handler(agent.Options{Access: policy}))
	for _, l := range listeners {
		fmt.Fprintf(os.Stderr, "vtscope: %s\n", policy.URL(l))
		go server.Serve(l) // until the process ends
	}
	return nil
}

func explained(err error) error {
	var no *access.Refusal
	if errors.As(err, &no) {
		return fmt.Errorf("%s: %w\n    try: %s", Variable, err, no.Try)
	}
	return fmt.Errorf("%s: %w", Variable, err)
}

// policyOf lets in this user, and whoever has a token of the file that the environment names.
func policyOf(listen []string) (*access.Policy, error) {
	o := access.Options{Listen: listen}
	if file := os.Getenv(access.EnvTokenFile); file != "" {
		tokens, err := access.ReadTokens(file)
		if err != nil {
			return nil, err
		}
		o.Tokens = tokens
	}
	return access.New(o)
}

// register puts a handler where the agent belongs. Its patterns have methods: one without would be at odds with a program's own "GET /", which is more general in its path and
// less in its method, and [http.ServeMux] panics at whichever of the two comes second; that is the program's. As it was before Go 1.22, a mux knows no methods.
func register(mux *http.ServeMux, h http.Handler) (err error) {
	patterns := []string{"GET " + agent.Prefix, "POST " + agent.Prefix}
	if !knowsMethods() {
		patterns = []string{agent.Prefix}
	}
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("%s is not registered: %v", agent.Prefix, why)
		}
	}()
	for _, p := range patterns {
		mux.Handle(p, h)
	}
	return nil
}

// knowsMethods reports whether patterns may have methods: GODEBUG=httpmuxgo121=1 takes that away.
func knowsMethods() bool {
	mux := http.NewServeMux()
	mux.Handle("GET /x", http.NotFoundHandler())
	_, pattern := mux.Handler(&http.Request{Method: "GET", URL: &url.URL{Path: "/x"}})
	return pattern != ""
}
