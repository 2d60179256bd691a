// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

// A stand-in for E2B's API and for envd, the daemon in its sandboxes, as a program for tests and benchmarks. It starts
// processes as envd does, and does what the official SDKs and this library need. All sandboxes are folders of this
// machine, so nothing separates them. The program prints its port, and ends at the end of its standard input. It then
// also ends the processes of all sandboxes.
package main

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const envdVersion = "0.6.13"

// daemon is the whole program: the API, and an envd for each sandbox.
type daemon struct {
	folder   string // the homes of the sandboxes
	path     string // the variable PATH of all processes
	noRoot   bool   // refuses the user root
	usual    *user.User
	mutex    sync.Mutex
	running  map[string]*sandbox
	fault    fault
	answered int // requests
}

// sandbox is one sandbox: a home, and the processes that were started in it.
type sandbox struct {
	daemon    *daemon
	id        string
	token     string
	template  string
	home      string
	metadata  map[string]string
	variables map[string]string
	startedAt time.Time

	mutex     sync.Mutex
	endAt     time.Time
	timer     *time.Timer
	paused    bool
	cut       chan struct{} // closed when all connections to the sandbox break
	processes map[int]*process
}

func reply(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		log.Fatal(err)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	w.Write(text)
}

func refuse(w http.ResponseWriter, status int, message string) {
	reply(w, status, map[string]any{"code": status, "message": message})
}

func randomText() string {
	data := make([]byte, 10)
	rand.Read(data)
	return hex.EncodeToString(data)
}

// ---- the API --------------------------------------------------------------------------------------------------------

type wish struct {
	TemplateID string            `json:"templateID"`
	Timeout    float64           `json:"timeout"`
	Metadata   map[string]string `json:"metadata"`
	EnvVars    map[string]string `json:"envVars"`
	Count      int               `json:"count"`
}

func (d *daemon) api(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-API-KEY") == "" {
		refuse(w, 401, "Invalid API key")
		return
	}
	words := strings.Split(strings.Trim(strings.TrimPrefix(r.URL.Path, "/v2"), "/"), "/")
	var asked wish
	json.NewDecoder(r.Body).Decode(&asked)
	switch {
	case len(words) == 1 && r.Method == "POST":
		d.create(w, asked)
	case len(words) == 1 && r.Method == "GET":
		d.list(w)
	case len(words) > 1:
		d.mutex.Lock()
		box := d.running[strings.Split(words[1], "-")[0]]
		d.mutex.Unlock()
		if box == nil {
			refuse(w, 404, fmt.Sprintf("Sandbox %q doesn't exist or you don't have access to it", words[1]))
			return
		}
		word := ""
		if len(words) > 2 {
			word = words[2]
		}
		box.api(w, r.Method, word, asked)
	default:
		refuse(w, 404, "validation error: no matching operation was found")
	}
}

func (d *daemon) create(w http.ResponseWriter, asked wish) {
	if asked.Timeout <= 0 {
		asked.Timeout = 300
	}
	box := d.added(asked)
	box.live(asked.Timeout)
	reply(w, 201, box.described())
}

// added makes a sandbox, whose lifetime is not set yet.
func (d *daemon) added(asked wish) *sandbox {
	box := &sandbox{
		daemon: d, id: "i" + randomText(), token: randomText() + randomText(), template: asked.TemplateID,
		metadata: asked.Metadata, variables: asked.EnvVars, startedAt: time.Now(), cut: make(chan struct{}),
		processes: map[int]*process{},
	}
	box.home = filepath.Join(d.folder, box.id)
	if err := os.MkdirAll(box.home, 0o755); err != nil {
		log.Fatal(err)
	}
	os.Chown(box.home, number(d.usual.Uid), number(d.usual.Gid))
	d.mutex.Lock()
	d.running[box.id] = box
	d.mutex.Unlock()
	return box
}

func (d *daemon) list(w http.ResponseWriter) {
	all := []map[string]any{}
	d.mutex.Lock()
	for _, box := range d.running {
		all = append(all, box.detail())
	}
	d.mutex.Unlock()
	reply(w, 200, all)
}

func (box *sandbox) described() map[string]any {
	return map[string]any{
		"sandboxID": box.id, "templateID": box.template, "clientID": "6532622b", "envdVersion": envdVersion,
		"envdAccessToken": box.token, "domain": nil, "trafficAccessToken": nil,
	}
}

func (box *sandbox) detail() map[string]any {
	box.mutex.Lock()
	defer box.mutex.Unlock()
	all := box.described()
	all["state"] = "running"
	if box.paused {
		all["state"] = "paused"
	}
	all["startedAt"] = box.startedAt.UTC().Format(time.RFC3339Nano)
	all["endAt"] = box.endAt.UTC().Format(time.RFC3339Nano)
	all["cpuCount"], all["memoryMB"], all["diskSizeMB"] = 2, 512, 1024
	all["metadata"] = box.metadata
	return all
}

func (box *sandbox) api(w http.ResponseWriter, method, word string, asked wish) {
	switch method + " " + word {
	case "GET ":
		reply(w, 200, box.detail())
	case "DELETE ":
		box.end()
		w.WriteHeader(204)
	case "POST timeout", "POST refreshes":
		box.live(asked.Timeout)
		w.WriteHeader(204)
	case "POST connect":
		status := 200
		box.mutex.Lock()
		if box.paused {
			status = 201
			box.paused = false
			box.cut = make(chan struct{})
		}
		box.mutex.Unlock()
		if asked.Timeout > 0 {
			box.live(asked.Timeout)
		}
		reply(w, status, box.described())
	case "POST pause":
		box.mutex.Lock()
		was := box.paused
		if !was {
			box.paused = true
			close(box.cut)
		}
		box.mutex.Unlock()
		if was {
			refuse(w, 409, "Error pausing sandbox - sandbox '"+box.id+"' is already paused")
			return
		}
		w.WriteHeader(204)
	case "POST fork":
		all := []map[string]any{}
		for i := 0; i == 0 || i < asked.Count; i++ {
			copied := box.daemon.added(wish{TemplateID: box.template, Metadata: box.metadata, EnvVars: box.variables})
			if output, err := exec.Command("cp", "-a", box.home+"/.", copied.home).CombinedOutput(); err != nil {
				refuse(w, 500, string(output))
				return
			}
			copied.live(asked.Timeout)
			all = append(all, map[string]any{"sandbox": copied.described()})
		}
		reply(w, 201, all)
	default:
		refuse(w, 404, "validation error: no matching operation was found")
	}
}

// live sets the remaining lifetime in seconds.
func (box *sandbox) live(seconds float64) {
	box.mutex.Lock()
	defer box.mutex.Unlock()
	left := time.Duration(seconds * float64(time.Second))
	box.endAt = time.Now().Add(left)
	if box.timer != nil {
		box.timer.Stop()
	}
	box.timer = time.AfterFunc(left, box.end)
}

// end ends the sandbox with all its processes, as the end of a virtual machine does.
func (box *sandbox) end() {
	box.daemon.mutex.Lock()
	_, is := box.daemon.running[box.id]
	delete(box.daemon.running, box.id)
	box.daemon.mutex.Unlock()
	if !is {
		return
	}
	box.mutex.Lock()
	if !box.paused {
		close(box.cut)
	}
	box.timer.Stop()
	box.mutex.Unlock()
	killAll("E2B_SANDBOX_ID=" + box.id)
	homes, _ := filepath.Glob(box.home + "*")
	for _, home := range homes {
		os.RemoveAll(home)
	}
}

// ---- faults ---------------------------------------------------------------------------------------------------------

// fault is the answer to all requests of one kind, in place of the usual one.
type fault struct {
	Call   string            `json:"call"` // the method and the path, in which ID stands for the id of a sandbox
	Status int               `json:"status"`
	Fields map[string]string `json:"fields"`
	Body   string            `json:"body"`
	Times  int               `json:"times"` // the number of requests that it answers
}

// setFault replaces the fault. It reports the number of requests that the earlier fault has answered, and the number of
// sandboxes.
func (d *daemon) setFault(w http.ResponseWriter, r *http.Request) {
	var next fault
	json.NewDecoder(r.Body).Decode(&next)
	d.mutex.Lock()
	answer := map[string]any{"answered": d.answered, "sandboxes": len(d.running)}
	d.fault, d.answered = next, 0
	d.mutex.Unlock()
	reply(w, 200, answer)
}

func (d *daemon) answersFault(w http.ResponseWriter, r *http.Request) bool {
	words := strings.Split(r.URL.Path, "/")
	for i := range words {
		if i > 0 && words[i-1] == "sandboxes" {
			words[i] = "ID"
		}
	}
	d.mutex.Lock()
	it := d.fault
	is := it.Times > 0 && it.Call == r.Method+" "+strings.Join(words, "/")
	if is {
		d.fault.Times--
		d.answered++
	}
	d.mutex.Unlock()
	if !is {
		return false
	}
	io.Copy(io.Discard, r.Body)
	for name, value := range it.Fields {
		w.Header().Set(name, value)
	}
	w.WriteHeader(it.Status)
	io.WriteString(w, it.Body)
	return true
}

// ---- the way to the daemons -----------------------------------------------------------------------------------------

func (d *daemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/fault" {
		d.setFault(w, r)
		return
	}
	if d.answersFault(w, r) {
		return
	}
	if strings.HasPrefix(r.URL.Path, "/sandboxes") || strings.HasPrefix(r.URL.Path, "/v2/sandboxes") {
		d.api(w, r)
		return
	}
	id := r.Header.Get("E2b-Sandbox-Id")
	d.mutex.Lock()
	box := d.running[id]
	d.mutex.Unlock()
	var cut chan struct{}
	if box != nil {
		box.mutex.Lock()
		if !box.paused {
			cut = box.cut
		}
		box.mutex.Unlock()
	}
	if cut == nil {
		reply(w, 502, map[string]any{"sandboxId": id, "message": "The sandbox was not found", "code": 502})
		return
	}
	if r.URL.Path == "/health" {
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(204)
		return
	}
	if r.Header.Get("X-Access-Token") != box.token {
		refuse(w, 401, "unauthorized access, please provide a valid access token or method signing if supported")
		return
	}
	switch {
	case r.URL.Path == "/files" && r.Method == "GET":
		box.download(w, r)
	case r.URL.Path == "/files" && r.Method == "POST":
		box.upload(w, r)
	case r.Method == "POST" && (r.URL.Path == processes+"Start" || r.URL.Path == processes+"Connect"):
		box.stream(w, r, cut)
	case r.Method == "POST" && strings.HasPrefix(r.URL.Path, processes):
		box.unary(w, r, box.processCall)
	case r.Method == "POST" && strings.HasPrefix(r.URL.Path, folders):
		box.unary(w, r, box.folderCall)
	default:
		http.NotFound(w, r)
	}
}

func main() {
	d := &daemon{running: map[string]*sandbox{}}
	usual := ""
	flag.StringVar(&d.folder, "folder", "", "the folder for the homes of the sandboxes")
	flag.StringVar(&d.path, "path", os.Getenv("PATH"), "the variable PATH of the processes")
	flag.StringVar(&usual, "user", "", "the user of processes for which a request names none")
	flag.BoolVar(&d.noRoot, "no-root", false, "refuse to start processes as root")
	flag.Parse()
	var err error
	if usual == "" {
		d.usual, err = user.Current()
	} else {
		d.usual, err = lookUp(usual)
	}
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Handler: d, ErrorLog: log.New(io.Discard, "", 0)}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go func() { log.Fatal(server.Serve(listener)) }()
	io.Copy(io.Discard, os.Stdin)
	d.mutex.Lock()
	left := []*sandbox{}
	for _, box := range d.running {
		left = append(left, box)
	}
	d.mutex.Unlock()
	for _, box := range left {
		box.end()
	}
}
