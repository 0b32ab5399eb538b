package tasks

import (
	"errors"
	"reflect"
	"testing"

	"prismtop/profiles/export/schematest"
)

func TestSchema(t *testing.T) {
	type schema = schematest.Schema
	schematest.Check(t, schematest.Document{
		Name: "cyto-results", Title: "the results of prismtop cyto train and inference", Value: []Result{},
		Special: map[reflect.Type]func(func(reflect.Type) schema) schema{
			reflect.TypeFor[Row](): func(func(reflect.Type) schema) schema {
				return schema{"type": "object", "additionalProperties": schema{"type": "string"}}
			},
			reflect.TypeFor[FinalMetrics](): func(func(reflect.Type) schema) schema {
				return schema{"type": "object", "additionalProperties": schema{"type": []string{"number", "null"}}}
			},
			reflect.TypeFor[Metrics](): func(of func(reflect.Type) schema) schema {
				return schema{"anyOf": []schema{of(reflect.TypeFor[TrainingMetrics]()), of(reflect.TypeFor[InferenceMetrics]())}}
			},
		},
		Adds: map[string]schema{"Result.kind": {"enum": []any{"training", "inference"}}},
	})
	task := Task{Kind: Training, Branch: "main", Experiment: Segmentation, Row: Row{{"branch", "main"}}}
	inference := Task{Kind: Inference, Branch: "main", Experiment: Segmentation, Row: Row{{"branch", "main"}}}
	failed := Failed(Round{Round: 1, Process: &Process{}, Output: "x"}, errors.New("broken"))
	for name, all := range map[string][]Result{
		"none": nil, "some": {task.Result([]Round{trainings(1, 3), failed}), inference.Result([]Round{inferences(1, 3)}), task.Result([]Round{failed}), task.Result(nil)},
	} {
		text, err := Encode(all)
		if err != nil {
			t.Fatal(err)
		}
		if err := schematest.Validate("cyto-results", text); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}
