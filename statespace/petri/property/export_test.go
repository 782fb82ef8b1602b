package property

// Read and Examinations are for tests alone: programs use ReadFile and Examination.
var (
	Read         = read
	Examinations = examinations
)
