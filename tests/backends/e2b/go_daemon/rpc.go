// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// This file contains the protocol Connect with its JSON codec.

// failure is an error of the protocol.
type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (f *failure) Error() string { return f.Message }

func failed(code, message string) error { return &failure{code, message} }

var statuses = map[string]int{
	"invalid_argument": 400, "unauthenticated": 401, "permission_denied": 403, "not_found": 404, "already_exists": 409,
	"unimplemented": 501,
}

func asFailure(err error) *failure {
	var known *failure
	if !errors.As(err, &known) {
		known = &failure{"internal", err.Error()}
	}
	return known
}

// unary serves a call with one request and one response.
func (box *sandbox) unary(w http.ResponseWriter, r *http.Request, call func(*http.Request, []byte) (any, error)) {
	var answer any
	body, err := io.ReadAll(r.Body)
	if err == nil {
		answer, err = call(r, body)
	}
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		known := asFailure(err)
		status := statuses[known.Code]
		if status == 0 {
			status = 500
		}
		text, _ := json.Marshal(known)
		w.WriteHeader(status)
		w.Write(text)
		return
	}
	text, _ := json.Marshal(answer)
	w.Write(text)
}

// envelopes writes the messages of a stream.
type envelopes struct {
	w    http.ResponseWriter
	made bool
}

// The most that one write of a message contains. The real daemon sends its messages in such chunks.
const chunk = 2048

func (e *envelopes) send(flags byte, message any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if !e.made {
		e.w.Header().Set("Content-Type", "application/connect+json")
		e.made = true
	}
	head := [5]byte{flags}
	binary.BigEndian.PutUint32(head[1:], uint32(len(text)))
	if _, err := e.w.Write(head[:]); err != nil {
		return err
	}
	for len(text) > 0 {
		size := min(len(text), chunk)
		if _, err := e.w.Write(text[:size]); err != nil {
			return err
		}
		text = text[size:]
	}
	return http.NewResponseController(e.w).Flush()
}

func (e *envelopes) end(err error) {
	message := map[string]any{}
	if err != nil {
		message["error"] = asFailure(err)
	}
	e.send(2, message)
}

// onlyEnvelope reads the request of a stream.
func onlyEnvelope(r *http.Request, into any) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	if len(body) < 5 || uint64(len(body)) != 5+uint64(binary.BigEndian.Uint32(body[1:5])) {
		return failed("invalid_argument", "protocol error: incomplete envelope")
	}
	if err := json.Unmarshal(body[5:], into); err != nil {
		return failed("invalid_argument", "unmarshal message: "+err.Error())
	}
	return nil
}

// timeLimit returns the time limit of a call; zero for none.
func timeLimit(r *http.Request) (time.Duration, error) {
	text := r.Header.Get("Connect-Timeout-Ms")
	if text == "" {
		return 0, nil
	}
	count, err := strconv.ParseInt(text, 10, 64)
	if err != nil || len(text) > 10 {
		return 0, failed("invalid_argument", "parse timeout: "+text)
	}
	return max(time.Duration(count)*time.Millisecond, 1), nil
}

// keepalive returns the longest silence of a stream.
func keepalive(r *http.Request) time.Duration {
	count, err := strconv.Atoi(r.Header.Get("Keepalive-Ping-Interval"))
	if err != nil || count <= 0 {
		count = 90
	}
	return time.Duration(count) * time.Second
}
