"use strict";
// Shows the values at the pointer, or at a place that the keys move, below every chart.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const bins = data.first.length;
  if (bins === 0) return;
  document.getElementById("hint").hidden = false;

  const charts = data.charts.filter((c) => c.curves.length > 0).map((c) => {
    const svg = document.getElementById(c.id);
    const values = document.getElementById(c.id + "-values");
    const cursor = document.createElementNS("http://www.w3.org/2000/svg", "line");
    cursor.setAttribute("class", "cursor");
    cursor.setAttribute("y1", c.plot[1]);
    cursor.setAttribute("y2", c.plot[1] + c.plot[3]);
    cursor.setAttribute("visibility", "hidden");
    svg.append(cursor);
    return { ...c, svg, figure: svg.parentElement, values, cursor, latest: values.textContent };
  });

  const middle = (i) => (data.first[i] + data.last[i]) / 2;
  const rounded = (v) => String(Number(v.toPrecision(4))).replace("-", "\u2212");

  // at returns the bin nearest to an iteration.
  const at = (iteration) => {
    let low = 0, high = bins - 1;
    while (low < high) {
      const i = (low + high) >> 1;
      if (data.last[i] < iteration) low = i + 1; else high = i;
    }
    return low > 0 && iteration - data.last[low - 1] < data.first[low] - iteration ? low - 1 : low;
  };

  // text describes a bin of a chart.
  const text = (chart, i) => {
    const first = data.first[i], last = data.last[i];
    const where = (first === last ? "Iteration " + first : "Iterations " + first + " to " + last) + ", " + rounded(data.seconds[i]) + " s: ";
    const parts = chart.curves.map((curve) => {
      const v = curve.y[i];
      if (v === null) return curve.name + " \u2013";
      let part = curve.name + " " + rounded(v) + (chart.unit ? " " + chart.unit : "");
      if (curve.low) part += " [" + rounded(curve.low[i]) + ", " + rounded(curve.high[i]) + "]";
      if (curve.most) part += ", longest " + rounded(curve.most[i]) + (chart.unit ? " " + chart.unit : "");
      return part;
    });
    return where + parts.join(", ");
  };

  let place = -1;
  const show = (i) => {
    place = i;
    for (const c of charts) {
      const [x, , width, , from, to] = c.plot;
      const px = x + width * Math.min(Math.max((middle(i) - from) / (to - from), 0), 1);
      c.cursor.setAttribute("x1", px);
      c.cursor.setAttribute("x2", px);
      c.cursor.setAttribute("visibility", "visible");
      c.values.textContent = text(c, i);
    }
  };
  const hide = () => {
    place = -1;
    for (const c of charts) {
      c.cursor.setAttribute("visibility", "hidden");
      c.values.textContent = c.latest;
    }
  };

  for (const c of charts) {
    c.figure.tabIndex = 0;
    c.figure.setAttribute("role", "group");
    c.svg.addEventListener("pointermove", (event) => {
      const box = c.svg.getBoundingClientRect();
      const [x, , width, , from, to] = c.plot;
      const px = (event.clientX - box.left) * c.svg.viewBox.baseVal.width / box.width;
      show(at(from + (to - from) * Math.min(Math.max((px - x) / width, 0), 1)));
    });
    c.svg.addEventListener("pointerleave", hide);
    c.figure.addEventListener("focus", () => {
      c.values.setAttribute("aria-live", "polite");
      if (place < 0) show(bins - 1);
    });
    c.figure.addEventListener("blur", () => {
      c.values.removeAttribute("aria-live");
      hide();
    });
    c.figure.addEventListener("keydown", (event) => {
      const now = place < 0 ? bins - 1 : place;
      const to = { ArrowLeft: now - 1, ArrowRight: now + 1, PageUp: now - 20, PageDown: now + 20, Home: 0, End: bins - 1 }[event.key];
      if (event.key === "Escape") hide();
      if (to === undefined) return;
      event.preventDefault();
      show(Math.min(Math.max(to, 0), bins - 1));
    });
  }
})();
