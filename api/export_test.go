package api

import "time"

// KeyMemory is how long a key is remembered.
const KeyMemory = time.Duration(keyMemory)

// Routes are all there are, each as method and path.
func Routes() []string {
	var all []string
	for _, r := range routes() {
		all = append(all, r.method+" "+r.path)
	}
	return all
}
