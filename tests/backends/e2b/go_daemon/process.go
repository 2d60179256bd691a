// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// This file contains the service process.Process.

const processes = "/process.Process/"

type config struct {
	Cmd  string            `json:"cmd"`
	Args []string          `json:"args,omitempty"`
	Envs map[string]string `json:"envs,omitempty"`
	Cwd  *string           `json:"cwd,omitempty"`
}

type selector struct {
	Pid *int    `json:"pid"`
	Tag *string `json:"tag"`
}

type terminal struct {
	Size struct {
		Cols uint16 `json:"cols"`
		Rows uint16 `json:"rows"`
	} `json:"size"`
}

type startRequest struct {
	Process config    `json:"process"`
	Pty     *terminal `json:"pty"`
	Tag     *string   `json:"tag"`
	Stdin   *bool     `json:"stdin"`
}

type data struct {
	Stdout []byte `json:"stdout,omitempty"`
	Stderr []byte `json:"stderr,omitempty"`
	Pty    []byte `json:"pty,omitempty"`
}

type started struct {
	Pid int `json:"pid"`
}

type ended struct {
	ExitCode int     `json:"exitCode,omitempty"`
	Exited   bool    `json:"exited,omitempty"`
	Status   string  `json:"status,omitempty"`
	Error    *string `json:"error,omitempty"`
}

type event struct {
	Start     *started  `json:"start,omitempty"`
	Data      *data     `json:"data,omitempty"`
	End       *ended    `json:"end,omitempty"`
	Keepalive *struct{} `json:"keepalive,omitempty"`
}

type eventMessage struct {
	Event event `json:"event"`
}

// process is a process that a client has started. It does not depend on the client's connection.
type process struct {
	config   config
	tag      *string
	command  *exec.Cmd
	master   *os.File // the terminal; nil if there is none
	signaled chan struct{}
	once     sync.Once

	inputs sync.Mutex
	input  io.WriteCloser // nil if there is none, or if it is closed

	mutex    sync.Mutex
	watchers map[*watcher]bool
	over     *ended
}

// watcher is a stream that shows the events of a process to a client.
type watcher struct {
	events chan event
	gone   chan struct{}
}

func (p *process) watch() *watcher {
	w := &watcher{make(chan event), make(chan struct{})}
	p.mutex.Lock()
	p.watchers[w] = true
	p.mutex.Unlock()
	return w
}

func (p *process) unwatch(w *watcher) {
	close(w.gone)
	p.mutex.Lock()
	delete(p.watchers, w)
	p.mutex.Unlock()
}

// publish waits until all watchers have taken the event. Without watchers, the event is lost.
func (p *process) publish(what event) {
	p.mutex.Lock()
	all := make([]*watcher, 0, len(p.watchers))
	for w := range p.watchers {
		all = append(all, w)
	}
	p.mutex.Unlock()
	for _, w := range all {
		select {
		case w.events <- what:
		case <-w.gone:
		}
	}
}

func number(text string) int {
	value, _ := strconv.Atoi(text)
	return value
}

// lookUp returns a user. A number is the user and the group of that number, which need no names.
func lookUp(name string) (*user.User, error) {
	if _, err := strconv.ParseUint(name, 10, 32); err == nil {
		return &user.User{Uid: name, Gid: name, Username: name}, nil
	}
	return user.Lookup(name)
}

// userOf returns the user that a request names.
func (box *sandbox) userOf(r *http.Request) (*user.User, error) {
	name, _, ok := r.BasicAuth()
	if !ok || name == "" {
		return box.daemon.usual, nil
	}
	found, err := lookUp(name)
	if err != nil || (name == "root" && box.daemon.noRoot) {
		return nil, failed("unauthenticated", "invalid username: '"+name+"'")
	}
	return found, nil
}

// homeOf returns the home of a user. The sandbox is made for the usual user; each other user has a home elsewhere.
func (box *sandbox) homeOf(who *user.User) string {
	if who.Uid == box.daemon.usual.Uid {
		return box.home
	}
	home := box.home + "-of-" + who.Username
	os.MkdirAll(home, 0o755)
	os.Chown(home, number(who.Uid), number(who.Gid))
	return home
}

// launcher starts a program as the real daemon does: behind a shell that makes it the first to go when memory is short.
const launcher = `echo 100 > /proc/$$/oom_score_adj && exec "${@}"`

func (box *sandbox) start(asked startRequest, who *user.User) (*process, *watcher, error) {
	home := box.homeOf(who)
	directory := home
	if asked.Process.Cwd != nil {
		directory = resolve(*asked.Process.Cwd, home)
		if _, err := os.Stat(directory); err != nil {
			return nil, nil, failed("invalid_argument", "cwd '"+directory+"' does not exist")
		}
	}
	words := append([]string{"-c", launcher, "--", asked.Process.Cmd}, asked.Process.Args...)
	command := exec.Command("/bin/sh", words...)
	command.Dir = directory
	command.Env = []string{
		"PATH=" + box.daemon.path, "HOME=" + home, "USER=" + who.Username, "LOGNAME=" + who.Username,
		"E2B_SANDBOX=true", "E2B_SANDBOX_ID=" + box.id, "E2B_TEMPLATE_ID=" + box.template,
	}
	for _, variables := range []map[string]string{box.variables, asked.Process.Envs} {
		for name, value := range variables {
			command.Env = append(command.Env, name+"="+value)
		}
	}
	command.SysProcAttr = &syscall.SysProcAttr{}
	if number(who.Uid) != os.Getuid() {
		command.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(number(who.Uid)), Gid: uint32(number(who.Gid))}
	}
	p := &process{config: asked.Process, tag: asked.Tag, command: command, signaled: make(chan struct{}),
		watchers: map[*watcher]bool{}}
	readers := []func(){}
	var after func()
	if asked.Pty != nil {
		slave, err := p.openTerminal(asked.Pty)
		if err != nil {
			return nil, nil, err
		}
		after = func() { slave.Close() }
		readers = append(readers, func() {
			p.forward(p.master, 16*1024, func(piece []byte) *data { return &data{Pty: piece} })
		})
	} else {
		out, err := command.StdoutPipe()
		if err != nil {
			return nil, nil, err
		}
		fault, err := command.StderrPipe()
		if err != nil {
			return nil, nil, err
		}
		readers = append(readers,
			func() { p.forward(out, 32*1024, func(piece []byte) *data { return &data{Stdout: piece} }) },
			func() { p.forward(fault, 32*1024, func(piece []byte) *data { return &data{Stderr: piece} }) })
		if asked.Stdin == nil || *asked.Stdin {
			if p.input, err = command.StdinPipe(); err != nil {
				return nil, nil, err
			}
		}
	}
	w := p.watch()
	if err := command.Start(); err != nil {
		return nil, nil, failed("invalid_argument", "error starting process: "+err.Error())
	}
	if after != nil {
		after()
	}
	box.mutex.Lock()
	box.processes[command.Process.Pid] = p
	box.mutex.Unlock()
	go box.follow(p, readers)
	return p, w, nil
}

// follow forwards the output of a process, and reports its end once its output has ended. After a signal it does not
// wait for the end of the output.
func (box *sandbox) follow(p *process, readers []func()) {
	var group sync.WaitGroup
	for _, read := range readers {
		group.Add(1)
		go func() {
			read()
			group.Done()
		}()
	}
	finished := make(chan struct{})
	go func() {
		group.Wait()
		close(finished)
	}()
	select {
	case <-finished:
	case <-p.signaled:
	}
	p.command.Wait()
	if p.master != nil {
		p.master.Close()
	}
	<-finished
	state := p.command.ProcessState
	over := &ended{ExitCode: state.ExitCode(), Exited: state.Exited(), Status: state.String()}
	if !state.Success() {
		text := state.String()
		over.Error = &text
	}
	box.mutex.Lock()
	delete(box.processes, p.command.Process.Pid)
	box.mutex.Unlock()
	p.mutex.Lock()
	p.over = over
	p.mutex.Unlock()
	p.publish(event{End: over})
}

func (p *process) forward(from io.Reader, most int, wrap func([]byte) *data) {
	buffer := make([]byte, most)
	for {
		count, err := from.Read(buffer)
		if count > 0 {
			p.publish(event{Data: wrap(bytes.Clone(buffer[:count]))})
		}
		if err != nil {
			return
		}
	}
}

func (p *process) signal(which syscall.Signal) error {
	if which == syscall.SIGKILL || which == syscall.SIGTERM {
		p.once.Do(func() { close(p.signaled) })
	}
	return p.command.Process.Signal(which)
}

// openTerminal makes a terminal the input and output of a command that is not started yet. Returns its other end.
func (p *process) openTerminal(wanted *terminal) (*os.File, error) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	var locked, index int32
	if err := control(master, syscall.TIOCSPTLCK, unsafe.Pointer(&locked)); err != nil {
		return nil, err
	}
	if err := control(master, syscall.TIOCGPTN, unsafe.Pointer(&index)); err != nil {
		return nil, err
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(int(index)), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	p.master = master
	p.input = master
	if err := p.resize(wanted); err != nil {
		return nil, err
	}
	p.command.Stdin, p.command.Stdout, p.command.Stderr = slave, slave, slave
	p.command.SysProcAttr.Setsid = true
	p.command.SysProcAttr.Setctty = true
	return slave, nil
}

func (p *process) resize(wanted *terminal) error {
	size := [4]uint16{wanted.Size.Rows, wanted.Size.Cols}
	return control(p.master, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
}

// control calls ioctl, without making the file a blocking one as Fd would.
func control(file *os.File, request uintptr, argument unsafe.Pointer) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var number syscall.Errno
	err = raw.Control(func(fd uintptr) {
		_, _, number = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(argument))
	})
	if err == nil && number != 0 {
		err = number
	}
	return err
}

// ---- calls ----------------------------------------------------------------------------------------------------------

// stream serves the calls Start and Connect.
func (box *sandbox) stream(w http.ResponseWriter, r *http.Request, cut chan struct{}) {
	to := &envelopes{w: w}
	p, watching, deadline, err := box.opened(r)
	if err != nil {
		to.end(err)
		return
	}
	defer p.unwatch(watching)
	if err := to.send(0, eventMessage{event{Start: &started{p.command.Process.Pid}}}); err != nil {
		return
	}
	pause := keepalive(r)
	silence := time.NewTimer(pause)
	defer silence.Stop()
	for {
		var what event
		select {
		case what = <-watching.events:
		case <-silence.C:
			what.Keepalive = &struct{}{}
		case <-deadline:
			to.end(failed("deadline_exceeded", "context deadline exceeded"))
			return
		case <-cut:
			panic(http.ErrAbortHandler)
		case <-r.Context().Done():
			return
		}
		silence.Reset(pause)
		if err := to.send(0, eventMessage{what}); err != nil {
			return
		}
		if what.End != nil {
			to.end(nil)
			return
		}
	}
}

// opened starts a process or connects to one. Returns a channel that tells when the time of the stream is over.
func (box *sandbox) opened(r *http.Request) (*process, *watcher, <-chan time.Time, error) {
	limit, err := timeLimit(r)
	if err != nil {
		return nil, nil, nil, err
	}
	var deadline <-chan time.Time
	if limit > 0 {
		deadline = time.After(limit)
	}
	if strings.HasSuffix(r.URL.Path, "Connect") {
		var asked struct{ Process selector }
		if err := onlyEnvelope(r, &asked); err != nil {
			return nil, nil, nil, err
		}
		p, err := box.find(asked.Process)
		if err != nil {
			return nil, nil, nil, err
		}
		return p, p.watch(), deadline, nil
	}
	var asked startRequest
	if err := onlyEnvelope(r, &asked); err != nil {
		return nil, nil, nil, err
	}
	who, err := box.userOf(r)
	if err != nil {
		return nil, nil, nil, err
	}
	p, watching, err := box.start(asked, who)
	if err == nil && limit > 0 {
		time.AfterFunc(limit, func() { p.signal(syscall.SIGKILL) })
	}
	return p, watching, deadline, err
}

func (box *sandbox) find(which selector) (*process, error) {
	box.mutex.Lock()
	defer box.mutex.Unlock()
	if which.Pid != nil {
		if p := box.processes[*which.Pid]; p != nil {
			return p, nil
		}
		return nil, failed("not_found", fmt.Sprintf("process with pid %d not found", *which.Pid))
	}
	if which.Tag == nil {
		return nil, failed("unimplemented", "invalid process selector")
	}
	for _, p := range box.processes {
		if p.tag != nil && *p.tag == *which.Tag {
			return p, nil
		}
	}
	return nil, failed("not_found", "process with tag "+*which.Tag+" not found")
}

func (box *sandbox) processCall(r *http.Request, body []byte) (any, error) {
	var asked struct {
		Process selector
		Input   struct{ Stdin, Pty *string }
		Signal  string
		Pty     *terminal
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, failed("invalid_argument", "unmarshal message: "+err.Error())
	}
	nothing := struct{}{}
	method := strings.TrimPrefix(r.URL.Path, processes)
	if method == "List" {
		return box.listed(), nil
	}
	p, err := box.find(asked.Process)
	if err != nil {
		return nil, err
	}
	switch method {
	case "SendInput":
		text := asked.Input.Stdin
		if p.master != nil {
			text = asked.Input.Pty
		}
		if text == nil {
			return nil, failed("unimplemented", "invalid input type")
		}
		content, err := base64.StdEncoding.DecodeString(*text)
		if err != nil {
			return nil, failed("invalid_argument", "unmarshal message: "+err.Error())
		}
		p.inputs.Lock()
		defer p.inputs.Unlock()
		if p.input == nil {
			return nil, failed("internal", "error writing to stdin: stdin not enabled or closed")
		}
		_, err = p.input.Write(content)
		return nothing, err
	case "CloseStdin":
		if p.master != nil {
			return nil, failed("unknown", "cannot close stdin for a tty process")
		}
		p.inputs.Lock()
		defer p.inputs.Unlock()
		if p.input != nil {
			p.input.Close()
			p.input = nil
		}
		return nothing, nil
	case "SendSignal":
		switch asked.Signal {
		case "SIGNAL_SIGKILL":
			return nothing, p.signal(syscall.SIGKILL)
		case "SIGNAL_SIGTERM":
			return nothing, p.signal(syscall.SIGTERM)
		}
		return nil, failed("unimplemented", "invalid signal: SIGNAL_UNSPECIFIED")
	case "Update":
		if asked.Pty == nil {
			return nothing, nil
		}
		if p.master == nil {
			return nil, failed("internal", "error resizing tty: tty not assigned to process")
		}
		return nothing, p.resize(asked.Pty)
	}
	return nil, failed("unimplemented", "no such method")
}

func (box *sandbox) listed() any {
	type listing struct {
		Config config  `json:"config"`
		Pid    int     `json:"pid"`
		Tag    *string `json:"tag,omitempty"`
	}
	all := []listing{}
	box.mutex.Lock()
	defer box.mutex.Unlock()
	for pid, p := range box.processes {
		all = append(all, listing{p.config, pid, p.tag})
	}
	return struct {
		Processes []listing `json:"processes,omitempty"`
	}{all}
}

// killAll kills all processes that have a variable, until there are none.
func killAll(variable string) {
	for quiet := 0; quiet < 2; quiet++ {
		files, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil || !bytes.Contains(append([]byte{0}, text...), []byte("\x00"+variable+"\x00")) {
				continue
			}
			if pid := number(filepath.Base(filepath.Dir(file))); pid != os.Getpid() {
				syscall.Kill(pid, syscall.SIGKILL)
				quiet = -1
			}
		}
	}
}
