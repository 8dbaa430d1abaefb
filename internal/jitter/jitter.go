// Package jitter spreads what would otherwise happen all at once.
package jitter

import (
	"math/bits"
	"time"
)

// Roll gives a number from 0 up to 1 that differs from moment to moment, and between what is told apart in one. It is drawn from the clock, whose
// nanoseconds nobody foresees, and not from the runtime's chance: a test that keeps time itself then sees the same run again.
func Roll(of int64) float64 {
	return float64(mix(mix(uint64(time.Now().UnixNano()))^uint64(of))>>11) / (1 << 53)
}

// Below gives a wait from 0 up to d.
func Below(d time.Duration) time.Duration {
	hi, _ := bits.Mul64(mix(mix(uint64(time.Now().UnixNano()))^uint64(d)), uint64(d))
	return time.Duration(hi)
}

// mix is the finalizer of splitmix64: each bit of x changes half of what comes out.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
