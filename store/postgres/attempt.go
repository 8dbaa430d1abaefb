package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/webhook"
)

var (
	addAttemptsSQL  = stmt("attempt_add")
	deadAttemptsSQL = stmt("attempt_dead")
	lateAttemptSQL  = stmt("attempt_late")
	listAttemptsSQL = stmt("attempt_list")
)

// attemptRow is an attempt to be stored.
type attemptRow struct {
	delivery, claim, fence int64
	webhook.Attempt
}

func queueAttempts(b *pgx.Batch, rows []attemptRow) {
	if len(rows) > 0 {
		b.Queue(addAttemptsSQL,
			column(rows, func(a attemptRow) int64 { return a.delivery }),
			column(rows, func(a attemptRow) int64 { return a.claim }),
			column(rows, func(a attemptRow) int64 { return a.fence }),
			column(rows, func(a attemptRow) int32 { return int32(a.Attempt.Attempt) }),
			column(rows, func(a attemptRow) string { return string(a.Cause) }),
			column(rows, func(a attemptRow) time.Time { return a.StartedAt }),
			column(rows, func(a attemptRow) time.Time { return a.FinishedAt }),
			column(rows, func(a attemptRow) string { return string(a.Result) }),
			column(rows, func(a attemptRow) string { return string(a.Class) }),
			column(rows, func(a attemptRow) int32 { return int32(a.StatusCode) }),
			column(rows, func(a attemptRow) float64 { return millis(a.Latency) }),
			column(rows, func(a attemptRow) []byte { return a.ResponseStart }),
			column(rows, func(a attemptRow) string { return clean(a.Error) }),
			column(rows, func(a attemptRow) time.Time { return a.NextAttemptAt }))
	}
}

// queueLateAttempts tells what became of attempts whose outcome was recorded as unknown.
func queueLateAttempts(b *pgx.Batch, rows []attemptRow) {
	for _, a := range rows {
		b.Queue(lateAttemptSQL, a.delivery, a.claim, a.fence, a.FinishedAt, a.StatusCode, millis(a.Latency), a.ResponseStart)
	}
}

func queueDeadAttempts(b *pgx.Batch, dead []deadAttempt) {
	if len(dead) > 0 {
		b.Queue(deadAttemptsSQL,
			column(dead, func(a deadAttempt) int64 { return a.claim }),
			column(dead, func(a deadAttempt) int64 { return a.fence }),
			column(dead, func(a deadAttempt) int32 { return int32(a.Attempt.Attempt) }),
			column(dead, func(a deadAttempt) bool { return a.first }),
			column(dead, func(a deadAttempt) time.Time { return a.StartedAt }),
			column(dead, func(a deadAttempt) time.Time { return a.FinishedAt }),
			column(dead, func(a deadAttempt) string { return string(a.Result) }),
			column(dead, func(a deadAttempt) string { return string(a.Class) }),
			column(dead, func(a deadAttempt) string { return a.Error }),
			column(dead, func(a deadAttempt) time.Time { return a.NextAttemptAt }))
	}
}

// attemptsOf reads the attempts of deliveries, oldest first.
func attemptsOf(ctx context.Context, q querier, deliveries []int64) (map[int64][]webhook.Attempt, error) {
	out := map[int64][]webhook.Attempt{}
	if len(deliveries) == 0 {
		return out, nil
	}
	rows, err := q.Query(ctx, listAttemptsSQL, deliveries)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var delivery int64
		var latency float64
		var a webhook.Attempt
		if err := rows.Scan(&delivery, &a.ID, &a.Attempt, (*string)(&a.Cause), &a.StartedAt, &a.FinishedAt, (*string)(&a.Result), (*string)(&a.Class),
			&a.StatusCode, &latency, &a.ResponseStart, &a.Error, &a.NextAttemptAt); err != nil {
			return nil, err
		}
		a.Latency = time.Duration(latency * float64(time.Millisecond))
		out[delivery] = append(out[delivery], a)
	}
	return out, rows.Err()
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
