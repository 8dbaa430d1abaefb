// Package laws holds the repository's laws as tests, each with its reason. It has no code of its own.
package laws
