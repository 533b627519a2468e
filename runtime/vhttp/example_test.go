package vhttp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/vtscope/vtscope/runtime/structured"
	"github.com/vtscope/vtscope/runtime/vhttp"
	"github.com/vtscope/vtscope/runtime/vthread"
)

func ExampleHandler() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /product/{id}", func(w http.ResponseWriter, r *http.Request) {
		var price, stock int
		err := structured.Run(r.Context(), "product", func(s *structured.Scope) error {
			s.Fork(func() error { price = 12; return vthread.Sleep(time.Millisecond) })
			s.Fork(func() error { stock = 3; return vthread.Sleep(time.Millisecond) })
			return s.Join()
		})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintf(w, "product %s costs %d, %d left, says thread %q", r.PathValue("id"), price, stock, vthread.Current().Name())
	})
	server := httptest.NewServer(vhttp.Handler(mux, vhttp.Options{}))
	defer server.Close()

	response, err := server.Client().Get(server.URL + "/product/7")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	fmt.Println(string(body))
	// Output: product 7 costs 12, 3 left, says thread "GET /product/{id}"
}
