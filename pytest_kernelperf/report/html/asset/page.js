"use strict";
(() => {
  const root = document.documentElement;
  root.dataset.js = "";
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const textOf = id => document.getElementById(id).textContent;
  const once = make => { let made; return () => made ??= make(); };

  // --- data and library, inflated when the first picture is drawn ---

  async function inflated(text) {
    const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).arrayBuffer();
  }

  let data;
  const loaded = once(async () => {
    data = JSON.parse(new TextDecoder().decode(await inflated(textOf("data"))));
    return columns();
  });

  const columns = once(async () => {
    const buffer = await inflated(textOf("columns")), count = data.count;
    return {
      times: new Uint16Array(buffer, 0, count),
      arms: new Uint8Array(buffer, 2 * count, count),
      begins: new Uint8Array(buffer, 3 * count, count),
    };
  });

  // The page's policy lets exactly this text run: its hash is in the head.
  const library = once(async () => {
    const script = document.createElement("script");
    script.textContent = new TextDecoder().decode(await inflated(textOf("library")));
    document.head.append(script);
    return window.vegaEmbed;
  });

  /** A case's samples in the order in which they were taken, measurement by measurement. */
  async function samples(place) {
    const { times, arms, begins } = await columns();
    const of = data.cases[place].samples, low = Math.log(of.low_us), width = Math.log(of.high_us) - low;
    let at = of.first;
    return of.measurements.map(one => {
      let block = 0;
      const taken = Array.from({ length: one.samples }, () => {
        block += begins[at];
        return { arm: of.arms[arms[at]], block, time_us: Math.exp(low + width * times[at++] / 65535) };
      });
      return { process: one.process, contended: one.contended, taken };
    });
  }

  // --- rows, as the package's own modules make them (report/figure) ---

  const datasets = {
    async block_differences(place) {
      const { arm, against, judgement } = data.cases[place], rows = [], counts = {};
      const measurements = (await samples(place)).sort((one, other) => one.process - other.process);
      for (const { process, contended, taken } of measurements) {
        const beside = new Map(taken.filter(one => one.arm === against).map(one => [one.block, one.time_us]));
        for (const one of taken.filter(one => one.arm === arm && beside.has(one.block))) {
          const change = one.time_us / beside.get(one.block) - 1;
          if (!Number.isFinite(change)) continue;
          const block = counts[process] = (counts[process] ?? 0) + 1;
          rows.push({ process, block, place: rows.length + 1, change, contended });
        }
      }
      return { rows, judgement: [judgement] };
    },
    async samples_in_time(place) {
      const rows = [];
      for (const { process, contended, taken } of await samples(place))
        for (const { arm, time_us } of taken) rows.push({ order: rows.length + 1, process, arm, time_us, contended });
      const arms = Math.max(1, new Set(rows.map(row => row.arm)).size);
      const step = Math.ceil(Math.ceil(rows.length / arms) / Math.max(1, Math.floor(data.most / arms)));
      const kept = rows.length > data.most ? rows.filter((_, at) => Math.floor(at / arms) % step === 0) : rows;
      return { rows: kept.slice(0, data.most) };
    },
    async kernel_curve(place) { return data.kernels[place].datasets; },
    async spread() { return data.spread.datasets; },
  };
  const rowsOf = async (kind, place) => { await loaded(); return datasets[kind](place); };
  window.kernelperfRows = rowsOf;

  // --- pictures ---

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = () => root.dataset.theme || (dark.matches && !matchMedia("print").matches ? "dark" : "light");
  const nothing = async () => { throw new Error("this page fetches nothing"); };
  const closed = { load: nothing, sanitize: nothing, http: nothing, file: nothing };

  /** What a picture shows, in words. */
  function words(kind, place) {
    const of = kind === "kernel_curve" ? data.kernels[place] : kind === "spread" ? data.spread : data.cases[place];
    return of.description ?? `${data.names[place]}: ${
      kind === "block_differences" ? `${of.arm} against ${of.against}, ${of.judgement.text}` : `samples of ${of.samples.arms.join(", ")}`}`;
  }

  async function draw(figure) {
    const { kind, place } = figure.dataset, colours = theme();
    if (figure.dataset.drawn === colours) return;
    figure.dataset.drawn = colours;
    const canvas = figure.querySelector(".canvas");
    try {
      const [embed, rows] = await Promise.all([library(), rowsOf(kind, place)]);
      const specification = structuredClone(data.specifications[kind]);
      specification.datasets = rows;
      // A step of px a line would do, but has Vega-Lite warn about a width that is its container's.
      if (specification.height?.step) specification.height = specification.height.step * rows.rows.length;
      if (figure.dataset.drawn !== colours) return;
      figure.view?.finalize();
      figure.view = await embed(canvas, specification, {
        mode: "vega-lite", renderer: "svg", actions: false, logLevel: 1, ast: true, defaultStyle: false, loader: closed,
        config: { ...data.themes[colours], background: "transparent" },
        tooltip: { disableDefaultStyle: true, theme: "custom" },
      });
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", words(kind, place));
      canvas.querySelector("svg").setAttribute("aria-hidden", "true");
    } catch (problem) {
      figure.dataset.failed = "";
      canvas.textContent = `Not drawn: ${problem.message}`;
    }
  }

  const watcher = new IntersectionObserver(seen => {
    for (const one of seen.filter(one => one.isIntersecting)) draw(one.target);
  }, { rootMargin: "300px" });
  all(".picture").forEach(figure => watcher.observe(figure));
  const redraw = () => all(".picture[data-drawn]").forEach(draw);

  // --- what words mean ---

  const hints = JSON.parse(textOf("hints"));
  const explain = part => all("th", part).forEach(head => { if (hints[head.textContent]) head.title = hints[head.textContent]; });
  all("#table, .glance, details.numbers, .columns").forEach(explain);

  // --- colours ---

  function choose(name) {
    if (name) root.dataset.theme = name; else delete root.dataset.theme;
    all(".theme button").forEach(one => one.setAttribute("aria-pressed", one.dataset.theme === name));
    try { localStorage.setItem("kernelperf-theme", name); } catch { /* a page from a file may have no memory */ }
    redraw();
  }
  all(".theme button").forEach(one => one.addEventListener("click", () => choose(one.dataset.theme)));
  try { if (["light", "dark"].includes(localStorage.getItem("kernelperf-theme"))) choose(localStorage.getItem("kernelperf-theme")); } catch { /* as above */ }
  dark.addEventListener("change", redraw);

  // --- filter and search ---

  const rows = all("#table tbody tr"), cases = all("details.case"), kernels = all("section.kernel");
  const labels = rows.map(row => row.querySelector("td.verdict").textContent);
  const texts = rows.map(row => row.textContent.toLowerCase());
  const search = document.getElementById("search"), found = document.getElementById("found");
  let label = "";

  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = rows.map((_, place) =>
      (!label || labels[place] === label) && words.every(word => texts[place].includes(word)));
    rows.forEach((row, place) => { row.hidden = !shown[place]; });
    cases.forEach(one => { one.hidden = !shown[one.dataset.place]; });
    kernels.forEach(one => { one.hidden = !all("details.case", one).some(each => !each.hidden); });
    const count = shown.filter(Boolean).length;
    found.textContent = count === rows.length ? "" : `${count} of ${rows.length} shown`;
  }
  function choosing(name) {
    label = name;
    all(".filter [data-label]").forEach(one => one.setAttribute("aria-pressed", one.dataset.label === name));
    filter();
  }
  if (search) {
    all(".filter [data-label]").forEach(one => one.addEventListener("click", () => choosing(one.dataset.label)));
    search.addEventListener("input", filter);
    document.getElementById("open-failing")?.addEventListener("click", () =>
      all("details.case.fails").forEach(one => { one.open = true; }));
  }

  // --- links to cases ---

  function show(id) {
    const target = id.startsWith("case=") && document.getElementById(id), one = target && target.closest("details");
    if (!one) return;
    if (one.hidden) { search.value = ""; choosing(""); }
    one.open = true;
    one.scrollIntoView({ block: "start", behavior: "instant" });
    one.querySelector("summary").focus({ preventScroll: true });
  }
  addEventListener("hashchange", () => show(location.hash.slice(1)));
  addEventListener("click", event => {
    const link = event.target.closest?.('a[href^="#case="]');
    if (link && link.hash === location.hash) show(link.hash.slice(1));
  });
  cases.forEach(one => one.addEventListener("toggle", () => {
    if (!one.open || one.querySelector(".links")) return;
    const line = document.createElement("p"), link = document.createElement("a"), back = document.createElement("a");
    line.className = "links";
    link.href = `#${one.querySelector("h4").id}`;
    link.textContent = "Link to this case";
    back.href = "#cases";
    back.textContent = "Back to the cases";
    line.append(link, " · ", back);
    explain(one);
    one.querySelector(".body").append(line);
  }));

  // --- timelines, printing ---

  all(".zoom button").forEach(one => one.addEventListener("click", () => {
    one.parentElement.nextElementSibling.dataset.zoom = one.dataset.zoom;
  }));
  const failing = () => all("details.case.fails").filter(one => !one.hidden);
  let closedAgain = [];
  addEventListener("beforeprint", () => {
    closedAgain = failing().filter(one => !one.open);
    closedAgain.forEach(one => { one.open = true; });
    failing().forEach(one => all(".picture", one).forEach(draw));
    redraw();
  });
  addEventListener("afterprint", () => { closedAgain.forEach(one => { one.open = false; }); redraw(); });
  // So that what stands open is drawn when the page is printed, scrolled through or not; one by one, while nobody waits.
  const idle = window.requestIdleCallback ?? setTimeout;
  const ahead = all('details.case.fails[open] .picture, [data-kind="kernel_curve"]');
  (function next() {
    const one = ahead.shift();
    if (one) idle(() => draw(one).then(next));
  })();
  // The browser itself goes to the place when it has read the page, and takes the focus away from what is open by then.
  const arrived = () => setTimeout(() => show(location.hash.slice(1)));
  if (document.readyState === "complete") arrived(); else addEventListener("load", arrived);
})();
