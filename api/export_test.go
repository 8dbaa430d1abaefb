package api

import (
	"context"
	"net/http"
	"strings"
	"time"
)

// KeyMemory is how long a key is remembered.
const KeyMemory = time.Duration(keyMemory)

// Paths are the routes without their parameters.
func Paths() []string {
	all := Routes()
	for i := range all {
		all[i], _, _ = strings.Cut(all[i], "?")
	}
	return all
}

// Fill takes all the room that a handler has for large bodies, or for large answers, until it is given back.
func Fill(h http.Handler, answers bool) (empty func()) {
	room, size := h.(*server).rooms.large, int64(largeRoom)
	if answers {
		room, size = h.(*server).rooms.answers, answerRoom
	}
	if err := room.Acquire(context.Background(), size); err != nil {
		panic(err)
	}
	return func() { room.Release(size) }
}
