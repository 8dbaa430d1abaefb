package child

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http"
)

// Call makes a call of the server's with an API key, and reads its data into to; nil leaves them. Any answer but 200 is an error with its text.
func (s *Server) Call(ctx context.Context, client *http.Client, key, method, path string, body []byte, to any) error {
	r, err := http.NewRequestWithContext(ctx, method, s.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	a, err := client.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	switch {
	case err != nil:
		return err
	case a.StatusCode != http.StatusOK:
		return fmt.Errorf("%s %s: %d %s", method, path, a.StatusCode, text)
	case to == nil:
		return nil
	}
	return json.Unmarshal(text, &struct {
		Data any `json:"data"`
	}{to})
}
