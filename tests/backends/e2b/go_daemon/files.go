// SPDX-License-Identifier: BSL-1.0
// Copyright the cofferdam authors. See LICENSE.

package main

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// This file contains the transfer of files, and the service filesystem.Filesystem.

const folders = "/filesystem.Filesystem/"

// resolve returns an absolute path. A relative path begins in the home.
func resolve(path, home string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		path = path[1:]
		return filepath.Join(home, path)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(home, path)
}

func (box *sandbox) resolve(path string) string { return resolve(path, box.home) }

// The metadata of a file are its extended attributes with these names.
const attribute = "user.e2b."

// metadataOf returns the metadata in the header of an upload.
func metadataOf(header http.Header) map[string]string {
	all := map[string]string{}
	for name := range header {
		if key := strings.ToLower(name); strings.HasPrefix(key, "x-metadata-") {
			all[strings.TrimPrefix(key, "x-metadata-")] = header.Get(name)
		}
	}
	return all
}

// storeMetadata replaces all metadata of a file.
func storeMetadata(path string, metadata map[string]string) error {
	for key := range storedMetadata(path) {
		if err := syscall.Removexattr(path, attribute+key); err != nil {
			return err
		}
	}
	for key, value := range metadata {
		if err := syscall.Setxattr(path, attribute+key, []byte(value), 0); err != nil {
			return err
		}
	}
	return nil
}

func storedMetadata(path string) map[string]string {
	all := map[string]string{}
	buffer := make([]byte, 64*1024)
	size, err := syscall.Listxattr(path, buffer)
	if err != nil {
		return all
	}
	for _, name := range strings.Split(string(buffer[:size]), "\x00") {
		if !strings.HasPrefix(name, attribute) {
			continue
		}
		value := make([]byte, 64*1024)
		if length, err := syscall.Getxattr(path, name, value); err == nil {
			all[strings.TrimPrefix(name, attribute)] = string(value[:length])
		}
	}
	return all
}

func (box *sandbox) download(w http.ResponseWriter, r *http.Request) {
	path := box.resolve(r.URL.Query().Get("path"))
	file, err := os.Open(path)
	if err != nil {
		refuse(w, 404, "path '"+path+"' does not exist")
		return
	}
	defer file.Close()
	status, err := file.Stat()
	if err != nil || status.IsDir() {
		refuse(w, 400, "path '"+path+"' is a directory")
		return
	}
	w.Header().Set("Content-Disposition", mime.FormatMediaType("inline", map[string]string{"filename": status.Name()}))
	w.Header().Set("Vary", "Accept-Encoding")
	http.ServeContent(w, r, path, status.ModTime(), file)
}

// makeFolders makes the missing folders of a path.
func makeFolders(path string, owner *user.User) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := makeFolders(filepath.Dir(path), owner); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Chown(path, number(owner.Uid), number(owner.Gid))
}

func (box *sandbox) upload(w http.ResponseWriter, r *http.Request) {
	owner := box.daemon.usual
	if name := r.URL.Query().Get("username"); name != "" {
		found, err := lookUp(name)
		if err != nil {
			refuse(w, 401, "error looking up user '"+name+"': "+err.Error())
			return
		}
		owner = found
	}
	type written struct {
		Name string `json:"name"`
		Path string `json:"path"`
		Type string `json:"type"`

		Metadata map[string]string `json:"metadata,omitempty"`
	}
	metadata := metadataOf(r.Header)
	all := []written{}
	take := func(target string, from io.Reader) bool {
		path := box.resolve(target)
		if status, err := os.Stat(path); err == nil && status.IsDir() {
			refuse(w, 400, "path is a directory: "+path)
			return false
		}
		err := makeFolders(filepath.Dir(path), owner)
		if err == nil {
			err = receive(path, from, owner)
		}
		if err == nil {
			err = storeMetadata(path, metadata)
		}
		if err != nil {
			status := 500
			if errors.Is(err, syscall.ENOSPC) {
				status = 507
			}
			refuse(w, status, err.Error())
			return false
		}
		all = append(all, written{filepath.Base(path), path, "file", metadata})
		return true
	}
	path := r.URL.Query().Get("path")
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "application/octet-stream":
		if path == "" {
			refuse(w, 400, "path query parameter is required for raw body upload")
			return
		}
		if !take(path, r.Body) {
			return
		}
	case "multipart/form-data":
		parts, err := r.MultipartReader()
		if err != nil {
			refuse(w, 400, err.Error())
			return
		}
		for {
			part, err := parts.NextPart()
			if err == io.EOF {
				break
			}
			if err != nil {
				refuse(w, 400, err.Error())
				return
			}
			if part.FormName() != "file" {
				continue
			}
			target := path
			if target == "" {
				// The method FileName would leave out the folders.
				_, words, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
				target = words["filename"]
			}
			if target == "" {
				refuse(w, 400, "file has no name, and no path was given")
				return
			}
			if !take(target, part) {
				return
			}
		}
	default:
		refuse(w, 400, "unsupported content type: "+kind+", expected multipart/form-data or application/octet-stream")
		return
	}
	text, _ := json.Marshal(all)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write(text)
}

func receive(path string, from io.Reader, owner *user.User) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := file.Chown(number(owner.Uid), number(owner.Gid)); err != nil {
		return err
	}
	_, err = file.ReadFrom(from)
	return err
}

// ---- calls ----------------------------------------------------------------------------------------------------------

type entry struct {
	Name         string `json:"name"`
	Type         string `json:"type,omitempty"`
	Path         string `json:"path"`
	Size         string `json:"size,omitempty"`
	Mode         uint32 `json:"mode,omitempty"`
	Permissions  string `json:"permissions"`
	Owner        string `json:"owner"`
	Group        string `json:"group"`
	ModifiedTime string `json:"modifiedTime"`
	Target       string `json:"symlinkTarget,omitempty"`

	Metadata map[string]string `json:"metadata,omitempty"`
}

func entryOf(path string) (*entry, error) {
	own, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	status := own
	result := &entry{Name: own.Name(), Path: path, Permissions: own.Mode().String()}
	if own.Mode()&fs.ModeSymlink != 0 {
		result.Target = path
		if status, err = os.Stat(path); err != nil {
			status = own
		} else if target, err := filepath.EvalSymlinks(path); err == nil {
			result.Target = target
		}
	}
	switch {
	case status.Mode().IsRegular():
		result.Type = "FILE_TYPE_FILE"
		result.Metadata = storedMetadata(path)
	case status.IsDir():
		result.Type = "FILE_TYPE_DIRECTORY"
	}
	if status.Size() != 0 {
		result.Size = strconv.FormatInt(status.Size(), 10)
	}
	if status.Mode()&fs.ModeSymlink == 0 {
		result.Mode = uint32(status.Mode().Perm())
	}
	result.ModifiedTime = status.ModTime().UTC().Format(time.RFC3339Nano)
	if raw, ok := status.Sys().(*syscall.Stat_t); ok {
		result.Owner = strconv.Itoa(int(raw.Uid))
		if found, err := user.LookupId(result.Owner); err == nil {
			result.Owner = found.Username
		}
		result.Group = strconv.Itoa(int(raw.Gid))
		if found, err := user.LookupGroupId(result.Group); err == nil {
			result.Group = found.Name
		}
	}
	return result, nil
}

func shown(path string) (any, error) {
	found, err := entryOf(path)
	if err != nil {
		return nil, failed("not_found", "file not found: "+err.Error())
	}
	return map[string]any{"entry": found}, nil
}

func (box *sandbox) folderCall(r *http.Request, body []byte) (any, error) {
	var asked struct {
		Path, Source, Destination string
		Depth                     int
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, failed("invalid_argument", "unmarshal message: "+err.Error())
	}
	owner, err := box.userOf(r)
	if err != nil {
		return nil, err
	}
	path := box.resolve(asked.Path)
	switch strings.TrimPrefix(r.URL.Path, folders) {
	case "Stat":
		return shown(path)
	case "MakeDir":
		if status, err := os.Stat(path); err == nil {
			if status.IsDir() {
				return nil, failed("already_exists", "directory already exists: "+path)
			}
			return nil, failed("invalid_argument", "path already exists but it is not a directory: "+path)
		}
		if err := makeFolders(path, owner); err != nil {
			return nil, err
		}
		return shown(path)
	case "Move":
		source, destination := box.resolve(asked.Source), box.resolve(asked.Destination)
		if err := makeFolders(filepath.Dir(destination), owner); err != nil {
			return nil, err
		}
		if err := os.Rename(source, destination); errors.Is(err, fs.ErrNotExist) {
			return nil, failed("not_found", "source file not found: "+err.Error())
		} else if err != nil {
			return nil, err
		}
		return shown(destination)
	case "ListDir":
		return listFolder(path, max(asked.Depth, 1))
	case "Remove":
		return struct{}{}, os.RemoveAll(path)
	}
	return nil, failed("unimplemented", "no such method")
}

func listFolder(path string, depth int) (any, error) {
	status, err := os.Stat(path)
	if err != nil {
		return nil, failed("not_found", "path not found: "+err.Error())
	}
	if !status.IsDir() {
		return nil, failed("invalid_argument", "path is not a directory: "+path)
	}
	all := []*entry{}
	var walk func(string, int) error
	walk = func(folder string, left int) error {
		names, err := os.ReadDir(folder)
		if err != nil {
			return err
		}
		for _, name := range names {
			found, err := entryOf(filepath.Join(folder, name.Name()))
			if err != nil {
				continue
			}
			all = append(all, found)
			if name.IsDir() && left > 1 {
				if err := walk(found.Path, left-1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := walk(path, depth); err != nil {
		return nil, err
	}
	return struct {
		Entries []*entry `json:"entries,omitempty"`
	}{all}, nil
}
