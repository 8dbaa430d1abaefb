// Package cost measures what work takes, over all the processes that have a part in it.
package cost

// Cost is what the jobs of a case took, over all processes.
type Cost struct {
	CPU      float64  `json:"cpu_s_10k"` // CPU-seconds for 10,000: of the next three together
	Client   float64  `json:"client_cpu_s_10k"`
	Server   float64  `json:"server_cpu_s_10k"`
	Database *float64 `json:"database_cpu_s_10k"`    // null: a PostgreSQL of another machine; not part of CPU then
	Written  *float64 `json:"written_bytes_per_job"` // to disk, by server and database; null where the system does not tell
	Memory   float64  `json:"server_peak_mib"`
	Others   float64  `json:"others_share"` // of the machine, that processes which had no part in it used
}
