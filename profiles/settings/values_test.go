package settings_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles/settings"
)

// bread is a small table in which the shade of a loaf depends on its flour.
var bread = settings.NewTable("bread", riseFirst,
	settings.Text("Dough", "flour", "what it is made of", "wheat", "rye").Live(),
	settings.Switch("Dough", "seeds", "with seeds"),
	settings.List("Dough", "folds", "minutes", "when it is folded", 0, 600).Live(),
	settings.Integer("Oven", "heat", "°C", "the oven's heat", 0, 300),
	settings.Number("Oven", "shade", "", "how dark the crust may be; 0 is any", 0, 9).Live().
		Of("it is baked by time", func(v settings.Values) string { return v.Text("flour") },
			func(name string) bool { return name == "wheat" || name == "rye" }),
)

// riseFirst is a rule that involves several settings: rye is not folded.
func riseFirst(v settings.Values) error {
	if v.Text("flour") == "rye" && v.Get("folds") != "" {
		return v.Wrong("folds", "must be empty for rye")
	}
	return nil
}

// loaf returns values of bread, set one after the other.
func loaf(t *testing.T, sets ...string) settings.Values {
	t.Helper()
	return setAll(t, bread.Zero(), append([]string{"flour=wheat", "seeds=true", "folds=30,60", "heat=240", "shade=4"}, sets...)...)
}

func setAll(t *testing.T, v settings.Values, sets ...string) settings.Values {
	t.Helper()
	for _, set := range sets {
		key, text, _ := strings.Cut(set, "=")
		var err error
		if v, err = v.Set(key, text); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// with is With for sets given as "key=value".
func with(v settings.Values, sets ...string) (settings.Values, error) {
	var all []settings.Assignment
	for _, set := range sets {
		key, text, _ := strings.Cut(set, "=")
		all = append(all, settings.Assignment{Key: key, Value: text})
	}
	return v.With(all...)
}

func TestValuesHaveTheTypesOfTheirKeys(t *testing.T) {
	v := loaf(t)
	if v.Text("flour") != "wheat" || !v.On("seeds") || v.Int("heat") != 240 || v.Number("heat") != 240 || v.Number("shade") != 4 || v.InForce("shade") != 4 ||
		!slices.Equal(v.Value("folds").([]int64), []int64{30, 60}) {
		t.Errorf("%q", values(v))
	}
	if v.Text("heat") != "" || v.On("flour") || v.Int("shade") != 0 || v.Number("flour") != 0 {
		t.Error("a value is given as another type")
	}
	if v.Of("shade") != "wheat" || v.Of("heat") != "" {
		t.Errorf("the shade is of %q, the heat of %q", v.Of("shade"), v.Of("heat"))
	}
	if got := v.Quoted("flour") + v.Quoted("seeds") + v.Quoted("folds") + v.Quoted("heat"); got != `"wheat"true[30, 60]240` {
		t.Errorf("quoted %s", got)
	}
}

// Settings without a table are empty, and accessing them is not an error.
func TestTheZeroValuesHaveNothing(t *testing.T) {
	var v settings.Values
	if v.Keys() != nil || v.Table() != nil || len(v.Table().Names()) != 0 || v.Has("heat") || v.Value("heat") != nil || v.Text("heat") != "" || v.On("heat") ||
		v.Int("heat") != 0 || v.Number("heat") != 0 || v.InForce("heat") != 0 || v.Of("heat") != "" || v.Get("heat") != "" || v.Quoted("heat") != "" {
		t.Errorf("%+v", v)
	}
	if _, _, suspended := v.Suspended("shade"); suspended || v.Differing(v) != nil || v.Validate() != nil || v.Unsuspended() != nil || v.ChangesFrom(v) != "" {
		t.Errorf("%+v", v)
	}
	if _, known := v.Lookup("heat"); known {
		t.Error("knows a key")
	}
	if _, err := v.Set("heat", "1"); err == nil || err.Error() != `unknown setting "heat": prismtop settings lists them` {
		t.Errorf("set without a table: %v", err)
	}
	if v = v.Settled(); v.Keys() != nil {
		t.Errorf("%+v", v)
	}
}

// A number that depends on other settings is suspended while their state differs, and in force
// again when it is restored.
func TestANumberIsSuspendedUnderAnotherState(t *testing.T) {
	v := loaf(t).Settled()
	rye := setAll(t, v, "folds=", "flour=rye")
	given, now, suspended := rye.Suspended("shade")
	if given != "wheat" || now != "rye" || !suspended || rye.InForce("shade") != 0 || rye.Number("shade") != 4 {
		t.Errorf("given for %q, now %q, suspended %v, %g in force", given, now, suspended, rye.InForce("shade"))
	}
	if rye.Get("shade") != "4 for wheat" || rye.Quoted("shade") != "4" || rye.Of("shade") != "rye" {
		t.Errorf("%q, quoted %s, of %q", rye.Get("shade"), rye.Quoted("shade"), rye.Of("shade"))
	}
	if number, owner := settings.Unbound(rye.Get("shade")); number != "4" || owner != "wheat" {
		t.Errorf("%q for %q", number, owner)
	}
	if err := rye.Unsuspended(); err == nil || err.Error() != `shade = "4 for wheat": must be a number from 0 to 9` {
		t.Errorf("what starts anew has a suspended number: %v", err)
	}
	if err := rye.Validate(); err != nil {
		t.Error(err)
	}
	back := setAll(t, rye, "flour=wheat")
	if _, _, suspended := back.Suspended("shade"); suspended || back.InForce("shade") != 4 || back.Get("shade") != "4" || back.Unsuspended() != nil {
		t.Errorf("suspended %v: %q", suspended, back.Get("shade"))
	}
	if never := setAll(t, rye, "shade=0"); never.Get("shade") != "0" || never.Unsuspended() != nil {
		t.Errorf("nothing is suspended: %q", never.Get("shade"))
	}
}

// A number that is not bound yet applies to any state.
func TestAnUnboundNumberFollowsTheState(t *testing.T) {
	v := setAll(t, loaf(t), "folds=", "flour=rye")
	if _, _, suspended := v.Suspended("shade"); suspended || v.InForce("shade") != 4 {
		t.Errorf("%q", v.Get("shade"))
	}
	v = setAll(t, v.Settled(), "flour=wheat")
	if given, _, suspended := v.Suspended("shade"); !suspended || given != "rye" {
		t.Errorf("%q", v.Get("shade"))
	}
	for _, text := range []string{"4 for", "4 for ", "4 for oats", "for rye", "x for rye", "-1 for rye"} {
		if after, err := v.Set("shade", text); err == nil || !strings.HasSuffix(err.Error(), "must be a number from 0 to 9") || !same(after, v) {
			t.Errorf("%q: %v, %q", text, err, after.Get("shade"))
		}
	}
	if v = setAll(t, v, "shade=5 for rye"); v.Get("shade") != "5 for rye" {
		t.Errorf("%q", v.Get("shade"))
	}
	if v = setAll(t, v, "shade=5 for wheat"); v.Get("shade") != "5" {
		t.Errorf("%q", v.Get("shade"))
	}
}

// Values set together bind a number to the state after all of them, in any order.
func TestWithBindsANumberToWhatIsSetWithIt(t *testing.T) {
	start := loaf(t).Settled()
	for _, sets := range [][]string{
		{"folds=", "flour=rye", "shade=6"},
		{"shade=6", "folds=", "flour=rye"},
	} {
		v, err := with(start, sets...)
		if err != nil {
			t.Fatal(err)
		}
		if v.Get("shade") != "6" {
			t.Errorf("%q: %q", sets, v.Get("shade"))
		}
		if v = setAll(t, v, "flour=wheat"); v.Get("shade") != "6 for rye" {
			t.Errorf("%q, then wheat: %q", sets, v.Get("shade"))
		}
	}
	for _, sets := range [][]string{{"heat=200", "flour=oats"}, {"heat=200", "heatt=1"}} {
		if v, err := with(start, sets...); err == nil || !same(v, start) {
			t.Errorf("%q: %v and %q", sets, err, values(v))
		}
	}
}

func TestDifferingListsWhatDiffers(t *testing.T) {
	v := loaf(t).Settled()
	for _, c := range []struct {
		w    settings.Values
		want []string
	}{
		{v, nil},
		{loaf(t), nil},
		{settings.Values{}, nil},
		{setAll(t, v, "heat=200", "seeds=false"), []string{"seeds", "heat"}},
		{setAll(t, v, "folds=30,61"), []string{"folds"}},
		{setAll(t, v, "folds=30"), []string{"folds"}},
		{setAll(t, v, "flour=rye"), []string{"flour"}}, // the shade is suspended, but unchanged
		{setAll(t, v, "flour=rye", "shade=4"), []string{"flour", "shade"}},
		{setAll(t, v, "shade=4 for rye"), []string{"shade"}},
	} {
		if got, back := v.Differing(c.w), c.w.Differing(v); !slices.Equal(got, c.want) || !slices.Equal(back, c.want) {
			t.Errorf("%q differs in %q and %q, want %q", values(c.w), got, back, c.want)
		}
	}
	never := setAll(t, v, "shade=0").Settled()
	if got := never.Differing(setAll(t, never, "flour=rye", "shade=0").Settled()); !slices.Equal(got, []string{"flour"}) {
		t.Errorf("a number that is none differs: %q", got)
	}
	if got := setAll(t, v, "folds=", "flour=rye", "heat=200").ChangesFrom(v); got != "flour = rye, folds = , heat = 200" {
		t.Errorf("changes %q", got)
	}
}

// Settings that need a restart are kept; live ones are replaced.
func TestWithLiveTakesTheLiveOnes(t *testing.T) {
	v := loaf(t).Settled()
	w, err := with(v, "seeds=false", "heat=200", "folds=", "flour=rye", "shade=6")
	if err != nil {
		t.Fatal(err)
	}
	got := v.WithLive(w)
	if want := []string{"rye", "true", "", "240", "6"}; !slices.Equal(values(got), want) {
		t.Errorf("%q, want %q", values(got), want)
	}
	if got = setAll(t, got, "flour=wheat"); got.Get("shade") != "6 for rye" {
		t.Errorf("the number that was taken over is %q", got.Get("shade"))
	}
	if got = v.WithLive(setAll(t, v, "flour=rye")); got.Get("shade") != "4 for wheat" {
		t.Errorf("the suspended number that was taken over is %q", got.Get("shade"))
	}
}

// No method modifies its receiver or other Values.
func TestValuesNeverChangeInPlace(t *testing.T) {
	v, other := loaf(t), setAll(t, loaf(t), "folds=1,2", "flour=rye", "shade=7", "heat=9", "seeds=false").Settled()
	for what, change := range map[string]func() (settings.Values, error){
		"a list":       func() (settings.Values, error) { return with(v, "folds=5,6") },
		"a text":       func() (settings.Values, error) { return with(v, "flour=rye") },
		"a switch":     func() (settings.Values, error) { return v.Set("seeds", "false") },
		"a number":     func() (settings.Values, error) { return v.Set("shade", "8 for rye") },
		"several":      func() (settings.Values, error) { return with(v, "folds=5,6", "heat=1", "flour=rye", "shade=2") },
		"from a file":  func() (settings.Values, error) { return v.Put("folds", []any{int64(5), int64(6)}) },
		"live ones":    func() (settings.Values, error) { return v.WithLive(other), nil },
		"bound":        func() (settings.Values, error) { return setAll(t, v.Settled(), "flour=rye"), nil },
		"one too many": func() (settings.Values, error) { w, _ := with(v, "folds=5,6", "heat=999"); return w, nil },
	} {
		before, beside := values(v), values(other)
		after, err := change()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if !slices.Equal(values(v), before) || !slices.Equal(values(other), beside) {
			t.Errorf("%s: %q became %q, and beside it %q became %q", what, before, values(v), beside, values(other))
		}
		if changed := !slices.Equal(values(after), before); changed != (what != "one too many") {
			t.Errorf("%s: changed %v, to %q", what, changed, values(after))
		}
	}
	// Binding a number in a copy does not bind it in the original.
	v.Settled()
	if free := setAll(t, v, "flour=rye"); free.Get("shade") != "4" {
		t.Errorf("the unbound number became %q", free.Get("shade"))
	}
}

func TestRulesThatJoinSettingsAreValidated(t *testing.T) {
	v := loaf(t)
	if err := v.Validate(); err != nil {
		t.Error(err)
	}
	if err := setAll(t, v, "flour=rye").Validate(); err == nil || err.Error() != "folds = [30, 60]: must be empty for rye" {
		t.Errorf("rye is folded: %v", err)
	}
	if err := bread.Zero().Validate(); err == nil || err.Error() != `flour = "": must be one of wheat, rye` {
		t.Errorf("nothing is bread: %v", err)
	}
}

func TestAKeyThatIsDeclaredTwicePanics(t *testing.T) {
	defer func() {
		if r := recover(); r != `settings of bread: "salt" is declared twice` {
			t.Errorf("%v", r)
		}
	}()
	settings.NewTable("bread", nil, settings.Switch("", "salt", ""), settings.Switch("", "salt", ""))
}

func TestASuspendedNumberIsANumberInJSON(t *testing.T) {
	text, err := json.Marshal(setAll(t, loaf(t).Settled(), "flour=rye"))
	if want := `{"flour":"rye","seeds":true,"folds":[30,60],"heat":240,"shade":4}`; err != nil || string(text) != want {
		t.Errorf("%s, %v; want %s", text, err, want)
	}
}

// JSON that does not describe settings is rejected, with the name of the setting.
func TestJSONThatIsNoSettingsIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`[1]`:                 "settings must be a JSON object",
		`3`:                   "settings must be a JSON object",
		`{"a":null}`:          `setting "a": `,
		`{"a":{"b":1}}`:       `setting "a": `,
		`{"a":[1,"b"]}`:       `setting "a": `,
		`{"a":[1.5]}`:         `setting "a": `,
		`{"a":1e999}`:         `setting "a": `,
		`{"a":1,"b":2,"a":3}`: `setting "a": `,
		`{"a":1`:              "unexpected end",
	} {
		v := loaf(t)
		if err := json.Unmarshal([]byte(text), &v); err == nil || !strings.HasPrefix(err.Error(), want) || !same(v, loaf(t)) {
			t.Errorf("%s: %v, and %q", text, err, values(v))
		}
	}
	var v settings.Values
	if err := json.Unmarshal([]byte(`{}`), &v); err != nil || len(v.Keys()) != 0 {
		t.Errorf("no settings: %v, %q", err, values(v))
	}
}
