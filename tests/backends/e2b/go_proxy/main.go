// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// The reverse proxy of Go's standard library, as a program for tests. `go_proxy URL [PAUSE]` prints its port and
// forwards requests to URL until the end of its standard input. PAUSE (for example `20ms`) delays the end of each
// request's body. On a busy machine such a delay also occurs by itself, if another thread runs first.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"time"
)

// lateEnd is the body of a request. It reports its end only after a pause.
type lateEnd struct {
	io.ReadCloser
	left  int64
	pause time.Duration
}

func (body *lateEnd) Read(into []byte) (int, error) {
	if body.left == 0 {
		time.Sleep(body.pause)
	}
	if body.left > 0 && int64(len(into)) > body.left {
		into = into[:body.left]
	}
	count, err := body.ReadCloser.Read(into)
	if body.left > 0 {
		body.left -= int64(count)
		if body.left == 0 {
			err = nil
		}
	}
	return count, err
}

func main() {
	target, err := url.Parse(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = &http.Transport{MaxIdleConnsPerHost: 64}
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	var handler http.Handler = proxy
	if len(os.Args) > 2 {
		pause, err := time.ParseDuration(os.Args[2])
		if err != nil {
			log.Fatal(err)
		}
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Body = &lateEnd{r.Body, r.ContentLength, pause}
			proxy.ServeHTTP(w, r)
		})
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go func() { log.Fatal(http.Serve(listener, handler)) }()
	io.Copy(io.Discard, os.Stdin)
}
