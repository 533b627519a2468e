package agent_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/vtscope/vtscope/agent"
)

// An agent that follows one process, asked for what it knows.
func Example() {
	a, err := agent.New(agent.Options{Dirs: []string{"/nowhere"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close()

	server := httptest.NewServer(a.Handler())
	defer server.Close()
	r, err := http.Get(server.URL + "/api/v1/processes")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	fmt.Println(r.StatusCode, string(text), err)
	// Output:
	// 200 {
	//  "processes": []
	// }
	//  <nil>
}
