package runreport_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"prismtop/profiles/export/exporttest"
	"prismtop/profiles/export/runreport"
)

// driver moves the pointer and presses keys on the page, and leaves what it saw in attributes.
const driver = `
const told = document.documentElement.dataset, violations = [];
document.addEventListener("securitypolicyviolation", (e) => violations.push(e.blockedURI));
const svg = document.getElementById("chart-0"), values = document.getElementById("chart-0-values"), other = document.getElementById("chart-2-values");
const cursor = () => svg.querySelector(".cursor").getAttribute("visibility");
const box = svg.getBoundingClientRect();
told.before = values.textContent;
svg.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + box.width / 2, clientY: box.top + 20 }));
told.hover = values.textContent;
told.together = other.textContent;
told.cursor = cursor();
svg.dispatchEvent(new PointerEvent("pointerleave"));
told.after = values.textContent + " " + cursor();
const figure = svg.parentElement;
figure.focus();
told.focused = String(document.activeElement === figure);
const press = (key) => figure.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
press("Home");
told.home = values.textContent;
press("ArrowRight");
told.right = values.textContent;
press("Escape");
told.escape = values.textContent;
told.background = getComputedStyle(document.body).backgroundColor;
told.curve = getComputedStyle(svg.querySelector(".stroke-c0")).stroke;
told.requests = performance.getEntriesByType("resource").map((e) => e.name).join(" ");
told.pictures = [...document.images].map((i) => i.naturalWidth).join(" ");
told.wide = String(document.documentElement.scrollWidth <= innerWidth);
told.violations = violations.join(" ");
`

// browser returns the path of a Chromium; the test is skipped without one.
func browser(t *testing.T) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no chromium on this machine")
	return ""
}

// opened opens a page in the browser, which reaches every host through a proxy here, and returns the
// document. The test fails if the page requests anything.
func opened(t *testing.T, path, page string, flags ...string) (document string) {
	t.Helper()
	var mu sync.Mutex
	var requests []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host == "report.invalid" && r.URL.Path == "/" {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, page)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		requests = append(requests, r.Host+r.URL.Path)
		http.Error(w, "nothing", http.StatusNotFound)
	}))
	defer proxy.Close()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, path, append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir=" + t.TempDir(), "--proxy-server=" + proxy.URL, "--window-size=1200,900", "--dump-dom"},
		append(flags, "http://report.invalid/")...)...)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, r := range requests {
		if host, _, _ := strings.Cut(r, "/"); !regexp.MustCompile(`(^|\.)(google|googleapis|gvt1|gstatic)\.com(:443)?$`).MatchString(host) { // the browser itself
			t.Errorf("the page requested %s", r)
		}
	}
	return string(out)
}

// In a browser, a page requests nothing, shows values at the pointer and at a place that keys move, and
// takes light or dark colours.
func TestAPageInABrowser(t *testing.T) {
	path := browser(t)
	page := written(t, runreport.NewHTML, exporttest.Story{Iterations: 5000}, 0)
	sum := sha256.Sum256([]byte(driver))
	driven := strings.Replace(page, "script-src ", "script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"' ", 1)
	driven = strings.Replace(driven, "</body>", "<script>"+driver+"</script></body>", 1)
	for scheme, want := range map[string]struct{ flag, background, curve string }{
		"light": {"--blink-settings=preferredColorScheme=1", "rgb(255, 255, 255)", "rgb(0, 114, 178)"},
		"dark":  {"--blink-settings=preferredColorScheme=0", "rgb(21, 24, 28)", "rgb(108, 188, 240)"},
	} {
		document := opened(t, path, driven, want.flag)
		told := map[string]string{}
		for _, m := range regexp.MustCompile(`data-([a-z]+)="([^"]*)"`).FindAllStringSubmatch(strings.SplitN(document, ">", 3)[1], -1) {
			told[m[1]] = html.UnescapeString(m[2])
		}
		for name, pattern := range map[string]string{
			"before": `^Newest values: median 4\.[0-9]+ ms$`, "hover": `^Iterations \d+ to \d+, [0-9.]+ s: median 4\.\d+ ms \[4\.\d+, 4\.\d+\], longest \d+(\.\d+)? ms$`,
			"together": `^Iterations \d+ to \d+, [0-9.]+ s: old 0\.\d+, new 0\.\d+$`, "cursor": `^visible$`, "after": `^Newest values: median .* hidden$`,
			"focused": `^true$`, "home": `^Iterations 0 to \d+, 0 s: median [56]\.\d+ ms`, "right": `^Iterations [1-9]\d* to \d+, 0\.\d+ s: median [56]\.\d+ ms`,
			"escape": `^Newest values: `, "background": "^" + regexp.QuoteMeta(want.background) + "$", "curve": "^" + regexp.QuoteMeta(want.curve) + "$",
			"requests": `^$`, "violations": `^$`, "pictures": `^64 64$`, "wide": `^true$`,
		} {
			if value, there := told[name]; !there || !regexp.MustCompile(pattern).MatchString(value) {
				t.Errorf("%s: %s is %q, want %s", scheme, name, value, pattern)
			}
		}
	}
}
