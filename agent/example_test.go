package agent_test

import (
	"fmt"
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

	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/processes", nil)
	a.Handler().ServeHTTP(w, r)
	fmt.Println(w.Code, w.Body)
	// Output:
	// 200 {
	//  "processes": []
	// }
}
