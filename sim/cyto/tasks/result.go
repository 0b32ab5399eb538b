package tasks

import (
	"encoding/json"
	"fmt"
	"time"
)

// Timer is the time and memory of a section. A megabyte has 2²⁰ bytes, as in PyTorch's
// reports. Memory that cannot be read is null, with the reason beside it.
type Timer struct {
	ElapsedSeconds float64  `json:"elapsed_seconds"`
	MemoryDeltaMB  *float64 `json:"memory_delta_mb"`         // of the GPU: use at the end less that at the begin
	PeakMemoryMB   *float64 `json:"peak_memory_mb"`          // of the GPU: the largest use, inner sections included
	MemoryReason   string   `json:"memory_reason,omitempty"` // why the two above are null
	HostDeltaMB    *float64 `json:"host_memory_delta_mb"`    // the same of the process, in resident memory
	HostPeakMB     *float64 `json:"host_peak_memory_mb"`
	HostReason     string   `json:"host_memory_reason,omitempty"` // why the two above are null
	Awaited        bool     `json:"completion_awaited"`           // the device was idle at the begin and at the end
	Partial        bool     `json:"partial,omitempty"`            // the section ended with an error
}

// Samples counts what a task really processed.
type Samples struct {
	Processed int `json:"processed"` // images or patches
	Batches   int `json:"batches"`
}

// TrainingMetrics are what a training task measures, under the keys of CytoDL's script. What
// was not reached is left out.
type TrainingMetrics struct {
	ModelInitialization *Timer          `json:"model_initialization,omitempty"` // encloses the next four
	ConfigLoading       *Timer          `json:"config_loading,omitempty"`
	DataSetup           *Timer          `json:"data_setup,omitempty"`
	ModelSetup          *Timer          `json:"model_setup,omitempty"`
	TrainerSetup        *Timer          `json:"trainer_setup,omitempty"`
	EpochBreakdown      *EpochBreakdown `json:"epoch_breakdown,omitempty"`
	FullTraining        *Timer          `json:"full_training,omitempty"`
	FinalMetrics        FinalMetrics    `json:"final_metrics,omitempty"` // "train/loss", "val/loss", …
	DatasetInfo         *DatasetInfo    `json:"dataset_info,omitempty"`
	TotalTraining       *Timer          `json:"total_training,omitempty"` // of the whole task

	// What the document forgot.

	Samples    *Samples `json:"samples,omitempty"`                    // trained on
	Throughput *float64 `json:"throughput_samples_per_sec,omitempty"` // of full_training
}

// EpochBreakdown is the begin of a training.
type EpochBreakdown struct {
	DataLoadingFirstBatch  *Timer `json:"data_loading_first_batch,omitempty"`
	ModelForwardFirstBatch *Timer `json:"model_forward_first_batch,omitempty"`
	// FirstEpoch is the whole first epoch, compilation included, as the document says. CytoDL's
	// script times one batch under this name: FirstBatch.
	FirstEpoch *Timer `json:"first_epoch,omitempty"`
	FirstBatch *Timer `json:"first_batch,omitempty"` // loading and forward of one batch
}

// DatasetInfo counts batches of an epoch.
type DatasetInfo struct {
	NumTrainBatches       int `json:"num_train_batches"` // as limited
	BatchSize             int `json:"batch_size"`
	AvailableTrainBatches int `json:"available_train_batches"` // without the limit
	LimitTrainBatches     int `json:"limit_train_batches"`     // 0 is none
	LimitValBatches       int `json:"limit_val_batches"`       // 0 is none
}

// InferenceMetrics are what an inference task measures, under the keys of CytoDL's script.
type InferenceMetrics struct {
	ModelInitialization *Timer          `json:"model_initialization,omitempty"` // encloses the next five
	ConfigLoading       *Timer          `json:"config_loading,omitempty"`
	DataSetup           *Timer          `json:"data_setup,omitempty"`
	ModelSetup          *Timer          `json:"model_setup,omitempty"`
	CheckpointLoading   *Timer          `json:"checkpoint_loading,omitempty"`
	TrainerSetup        *Timer          `json:"trainer_setup,omitempty"`
	BatchBreakdown      *BatchBreakdown `json:"batch_breakdown,omitempty"`
	FullPrediction      *Timer          `json:"full_prediction,omitempty"`
	InferenceInfo       *InferenceInfo  `json:"inference_info,omitempty"`
	TotalInference      *Timer          `json:"total_inference,omitempty"` // of the whole task
}

// BatchBreakdown is the first batch of an inference.
type BatchBreakdown struct {
	FirstBatchLoading     *Timer `json:"first_batch_loading,omitempty"`
	FirstBatchToDevice    *Timer `json:"first_batch_to_device,omitempty"`
	FirstBatchForward     *Timer `json:"first_batch_forward,omitempty"`
	FirstBatchPostprocess *Timer `json:"first_batch_postprocess,omitempty"` // sigmoid, rescaling, uint8
	FirstBatchProcessing  *Timer `json:"first_batch_processing,omitempty"`  // encloses the four above
}

// InferenceInfo counts what a prediction really did.
type InferenceInfo struct {
	NumBatches      int      `json:"num_batches"` // predicted
	BatchSize       int      `json:"batch_size"`
	NumOutputs      int      `json:"num_outputs"`
	AvgTimePerBatch *float64 `json:"avg_time_per_batch"`         // seconds
	Throughput      *float64 `json:"throughput_samples_per_sec"` // of samples_processed in full_prediction

	// What the document forgot.

	SamplesProcessed    int `json:"samples_processed"`
	AvailableBatches    int `json:"available_batches"`     // without the limit
	LimitPredictBatches int `json:"limit_predict_batches"` // 0 is none
}

// SetThroughput derives times per batch and throughput from what was processed.
func (m *InferenceMetrics) SetThroughput() {
	i := m.InferenceInfo
	if i == nil || m.FullPrediction == nil {
		return
	}
	seconds := m.FullPrediction.ElapsedSeconds
	i.AvgTimePerBatch, i.Throughput = ratio(seconds, float64(i.NumBatches)), ratio(float64(i.SamplesProcessed), seconds)
}

// SetThroughput derives the throughput from what was processed.
func (m *TrainingMetrics) SetThroughput() {
	if m.Samples != nil && m.FullTraining != nil {
		m.Throughput = ratio(float64(m.Samples.Processed), m.FullTraining.ElapsedSeconds)
	}
}

// ratio returns a/b; nil unless both are positive.
func ratio(a, b float64) *float64 {
	if !(a > 0) || !(b > 0) {
		return nil
	}
	r := a / b
	return &r
}

// GitInfo is the commit that ran a task: of a git branch, or of this program for a variant.
type GitInfo struct {
	Branch     string `json:"branch"`
	CommitHash string `json:"commit_hash"`
	CommitDate string `json:"commit_date"` // as git's %ci
}

// Unknown is a part of GitInfo that is not known, as in CytoDL's files.
const Unknown = "unknown"

// Metrics are those of one kind of task; the other is nil.
type Metrics struct {
	Training  *TrainingMetrics
	Inference *InferenceMetrics
}

// MarshalJSON writes the metrics of the kind, an empty object if there are none.
func (m Metrics) MarshalJSON() ([]byte, error) {
	switch {
	case m.Training != nil:
		return json.Marshal(m.Training)
	case m.Inference != nil:
		return json.Marshal(m.Inference)
	}
	return []byte("{}"), nil
}

// inferenceKeys are keys that only metrics of an inference have.
var inferenceKeys = []string{"total_inference", "full_prediction", "inference_info", "batch_breakdown",
	"checkpoint_loading"}

// UnmarshalJSON reads metrics of either kind, which their keys show.
func (m *Metrics) UnmarshalJSON(data []byte) error {
	*m = Metrics{}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	if len(keys) == 0 {
		return nil
	}
	for _, k := range inferenceKeys {
		if _, has := keys[k]; has {
			return json.Unmarshal(data, &m.Inference)
		}
	}
	return json.Unmarshal(data, &m.Training)
}

// Round is one run of a task.
type Round struct {
	Round     int     `json:"round"`     // from 1
	Position  int     `json:"position"`  // in the order of the round, from 1
	Timestamp string  `json:"timestamp"` // of its begin, as Stamp writes it
	Success   bool    `json:"success"`
	Error     *string `json:"error"`
	Metrics   Metrics `json:"metrics"`

	Checkpoint string `json:"checkpoint,omitempty"` // file of the weights that a training left

	// Of a program on a git branch.

	Process *Process `json:"process,omitempty"`
	Output  string   `json:"output,omitempty"` // the end of what it printed, if it failed
}

// Process is what a program took.
type Process struct {
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpu_seconds"`
}

// Result is what a task left, an entry of a file of results.
type Result struct {
	Branch     string   `json:"branch"`
	Experiment string   `json:"experiment"`
	TaskConfig Row      `json:"task_config"`
	Timestamp  string   `json:"timestamp"`
	Success    bool     `json:"success"`
	Error      *string  `json:"error"` // null on success
	Warning    string   `json:"warning,omitempty"`
	Metrics    Metrics  `json:"metrics"` // of the successful round with the median total time
	GitInfo    *GitInfo `json:"git_info,omitempty"`

	// What the document forgot.

	Kind     string            `json:"kind"`               // "training" or "inference"
	Variant  string            `json:"variant,omitempty"`  // empty for a git branch
	Settings map[string]string `json:"settings,omitempty"` // in force, by key
	Device   string            `json:"device,omitempty"`   // that really computed
	Rounds   []Round           `json:"rounds"`
}

// Stamp writes a time as CytoDL's files do: ISO 8601, local, without a zone.
func Stamp(t time.Time) string { return t.Local().Format("2006-01-02T15:04:05.000000") }
