// The tools, keys and dialogs of the page, and how it begins.

function fillOptions(id, entries) {
  byId(id).replaceChildren(...entries.map(([value, textContent]) =>
    make("option", {value, textContent: clipped(textContent)})));
}
function fillSelect(id, entries, choose) {
  const select = byId(id);
  fillOptions(id, entries);
  select.addEventListener("change", () => choose(select.value));
}

function makeTools(page) {
  const {viewer, profile} = page;
  for (const [view, textContent] of Object.entries(kViews)) {
    const key = Object.keys(kViews).indexOf(view) + 1;
    const button = make("button", {textContent, title: `${textContent.toLowerCase()} (${key})`});
    button.dataset.view = view;
    button.hidden = (view === "chart" && !viewer.hasChart()) || (view === "code" && !viewer.hasCode());
    button.addEventListener("click", () => page.set({view}));
    byId("views").append(button);
  }
  fillSelect("event", profile.events.map((event, i) => [i, event.name || "samples"]),
    (value) => page.set({event: Number(value), zoom: 0}));
  byId("event-label").hidden = profile.events.length < 2;
  fillSelect("by", Object.entries(kDimensions).map(([id, name]) => [id, `${name}s`
      .replace("categorys", "categories")]), (by) => page.set({by, around: ""}));
  fillSelect("colour", Object.entries(kColours), (colour) => page.set({colour}, true));
  const owners = viewer.dimensions.map(({id, title}) => [id, title]);
  fillSelect("group", [["", "none"], ...owners], (group) => page.set({group}));
  const {steps} = profile.samples, perSecond = Math.round(1e9 / profile.stepNs);
  const within = perSecond > 1 && steps > perSecond ? [["within", "Within 1 s"]] : [];
  fillSelect("rows", [...owners, ...within], (rows) => page.set({rows}, true));
  byId("filter").hidden = owners.length === 0;
  fillSelect("thread", [], (thread) => page.set({thread}));

  const press = (id, act) => byId(id).addEventListener("click", act);
  press("invert", () => page.set({invert: !viewer.state.invert}));
  byId("mine").hidden = !viewer.hasOwnCode();
  press("mine", () => page.set({mine: !viewer.state.mine}));
  press("fold", () => page.set({fold: !viewer.state.fold}));
  press("up", () => page.set({up: !viewer.state.up}, true));
  press("filter", () => openChooser(page));
  press("show-help", openHelp);
  byId("export").hidden = profile.isCompared;
  press("export", () => openExport(page));
  press("show-about", () => openAbout(page));
  const search = byId("search");
  search.addEventListener("input", () => page.set({search: search.value}, true));
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || (event.key === "Escape" && search.value === "")) {
      event.preventDefault();
      focusView(page);
      if (event.key === "Enter")
        page.nextMatch(1);
    }
  });
  writeTitle(page);
}

// "host · go build · 2026-11-25 02:44 · 12.3 s · 4,096 samples"
function writeTitle({profile}) {
  const {origin, samples, owners, sides, recordings} = profile, parts = [];
  const part = (text, tag = "span") => {
    if (text)
      parts.push(parts.length ? " · " : "", foreign(text, tag));
  };
  const describe = (name, {host, startRealtimeNs: start, durationNs: duration}, side) => {
    part(name, "b");
    part(host);
    part(start ? dateText(start) : "");
    part(duration ? formatTime(duration) : "");
    const number = samples.number.reduce((sum, each, i) =>
      side < 0 || owners.side[samples.owner[i]] === side ? sum + each : sum, 0);
    part(`${formatCount(number)} sample${number === 1 ? "" : "s"}`);
    return parts.splice(0);
  };
  const named = ({commandLine: command, selection}, names) => {
    const of = [...names, selection].filter(Boolean).join(" ");
    return of && command ? `${command} (${of})` : command || of;
  };
  let first = 0;
  byId("what").replaceChildren(...profile.isCompared
    ? sides.map(({origin, recordings: count}, side) => make("div", {}, `${kSides[side]}: `, ...describe(
      named(origin, recordings.slice(first, first += count).map(({name}) => name)), origin, side)))
    : describe(named(origin, []), origin, -1));
  byId("what").title = byId("what").innerText;
}

const dateText = (ns) => new Date(ns / 1e6).toISOString().replace("T", " ").slice(0, 19) + " UTC";

function focusView(page) {
  const {view} = page.viewer.state;
  byId(view === "around" ? "callees" : view).focus();
}

// ---- Keys, as in the browser on the terminal

const kHelp = [
  ["Views", [
    ["1 2 3 4 5 6", "functions, call tree, callers & callees, flame graph, code (of pages that hold source texts), a thread's " +
      "stacks in order of time"],
    ["i", "inverted: from the functions that ran outward, to who called them"],
    ["U", "the root at the top or at the bottom"],
    ["o", "only the program's own code, or all"],
    ["R", "fold recursions: calls that repeat are there once, as ×98"],
    ["m", "boxes are functions, lines, files, modules, packages, categories"],
    ["v", "colours by kind of code, package, category, module; by what changed"],
    ["g", "group stacks by process, thread, label, …"],
    ["E", "next event, of a profile that has several"],
  ]],
  ["Move", [
    ["arrows, h j k l", "to the caller, a callee, what stands beside; in a tree close and open"],
    ["Enter", "zoom; in the tree open; in the table callers & callees"],
    ["Esc, Backspace", "zoom out, then take the search, the time and the filters back"],
    ["+ - < >", "closer, further, left, right; also Ctrl+wheel, and a drag"],
    ["Home", "the root; in tables the first row"],
  ]],
  ["Choose", [
    ["/", "search by regular expression, as report's options take it; case counts if it has capitals, " +
      "or by (?i), (?-i)"],
    ["n N", "next match, the one before"],
    ["f x", "only stacks with what is chosen, only those without"],
    ["t p L C", "filter by thread, process, label, container"],
    ["[ ] { }", "begin later, end earlier; begin earlier, end later"],
    ["\\", "all of the time"],
    ["c", "take all filters away"],
    ["#", "callers and callees of what is chosen"],
    ["a", "its code: source lines, of pages that hold source texts"],
    ["s", "sort functions by self, total, name; compared: by change"],
  ]],
  ["Take along", [
    ["y Y", "copy the name, the stack"],
    ["e", "export what is shown: folded text, a profile of pprof"],
    ["w", "how it was made, and what is missing"],
    ["address", "the link of this page has all that is chosen; Back undoes a step"],
  ]],
];

function nextOf(values, value) {
  return values[(values.indexOf(value) + 1) % values.length];
}

// By key. The state is that of now: made anew for each key.
function keyActions(page) {
  const {viewer, heat} = page, {state} = viewer;
  const owners = viewer.dimensions.map(({id}) => id);
  const first = (test) => owners.find(test);
  const filter = (test) => () => openChooser(page, first(test));
  return {
    1: () => page.set({view: "table"}), 2: () => page.set({view: "tree"}),
    3: () => page.set({view: "around"}), 4: () => page.set({view: "flame"}),
    5: () => viewer.hasCode() && page.set({view: "code"}),
    6: () => viewer.hasChart() && page.set({view: "chart"}),
    a: () => page.openCode(viewer.chosen.key),
    i: () => page.set({invert: !state.invert}),
    U: () => page.set({up: !state.up}, true),
    o: () => viewer.hasOwnCode() && page.set({mine: !state.mine}),
    R: () => page.set({fold: !state.fold}),
    m: () => page.set({by: nextOf(Object.keys(kDimensions), state.by), around: ""}),
    v: () => page.set({colour: nextOf(Object.keys(kColours), state.colour)}, true),
    g: () => page.set({group: nextOf(["", ...owners], state.group)}),
    E: () => page.set({event: (state.event + 1) % page.profile.events.length, zoom: 0}),
    s: () => page.sortBy(nextOf(["self", "total", "name"], state.sort)),
    "/": () => byId("search").select(),
    n: () => page.nextMatch(1), N: () => page.nextMatch(-1),
    f: () => page.filterStacks("only"), x: () => page.filterStacks("without"),
    t: filter((id) => id === "thread"), p: filter((id) => id === "process"),
    L: filter((id) => id.startsWith("label:")), C: filter((id) => /^(container|cgroup)$/.test(id)),
    "[": () => heat.move(false, 1), "{": () => heat.move(false, -1),
    "]": () => heat.move(true, -1), "}": () => heat.move(true, 1),
    "\\": () => page.set({range: null}, true),
    c: () => page.set({filters: {}, ...kNoStackFilters, range: null}),
    "#": () => page.lookAround(viewer.chosen.key),
    y: () => page.copyName(), Y: () => page.copyStack(),
    e: () => openExport(page),
    "?": openHelp, w: () => openAbout(page),
    Escape: () => goBack(page), Backspace: () => goBack(page),
  };
}

// Takes back what is nearest to the eye.
function goBack(page) {
  const {viewer: {state}, flame, chart} = page;
  if (state.view === "code")
    page.set({view: "flame"});
  else if (state.view === "chart" && chart.zoomed > 0)
    page.zoomChart(chart.zoomed);
  else if (state.view === "chart" && chart.finish - chart.begin < chart.width[0])
    page.zoomChart(0);
  else if (state.view === "around")
    page.set({view: "flame"});
  else if (state.view === "flame" && flame.layout && state.zoom !== 0)
    page.zoom(flame.layout.parent[flame.zoomed] > 0 ? flame.layout.parent[flame.zoomed] : 0);
  else if (state.view === "flame" && flame.layout && flame.finish - flame.begin < flame.width[0])
    flame.zoomTo(0), page.overview.draw();
  else if (state.search)
    page.set({search: ""});
  else if (state.range)
    page.set({range: null});
  else if (Object.keys(kStackFilters).some((name) => state[name]) || Object.keys(state.filters).length)
    page.set({filters: {}, ...kNoStackFilters});
}

function listenToKeys(page) {
  document.addEventListener("keydown", (event) => {
    const isTyped = event.target.closest("input, select, textarea, dialog[open]");
    if (isTyped || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey)
      return;
    const actions = keyActions(page);
    if (!Object.hasOwn(actions, event.key))
      return;
    event.preventDefault();
    actions[event.key]();
  });
}

function listenToWindow(page) {
  const redraw = () => {
    page.render();
    for (const view of [page.flame, page.callers, page.callees, page.chart])
      view.resize();
    page.overview.draw();
    page.drawChartAxis();
  };
  window.addEventListener("popstate", () => page.restore());
  window.addEventListener("hashchange", () => page.restore());
  new ResizeObserver(redraw).observe(document.querySelector("main"));
  kDark.addEventListener("change", redraw);
  // On paper what is shown has all its depth, and its rows.
  const printed = [page.flame, page.callers, page.callees, page.chart, page.table, page.tree, page.code];
  window.addEventListener("beforeprint", () => printed.forEach((view) => view.beginPrint()));
  window.addEventListener("afterprint", () => {
    printed.forEach((view) => view.endPrint());
    redraw();
  });
}

// ---- Dialogs

function openDialog(id, title, ...content) {
  const dialog = byId(id);
  const close = make("button", {textContent: "Close"});
  close.addEventListener("click", () => dialog.close());
  dialog.replaceChildren(make("h2", {}, make("span", {textContent: title}), close), ...content);
  dialog.setAttribute("aria-label", title);
  if (!dialog.open)
    dialog.showModal();
}

function openHelp() {
  const content = kHelp.flatMap(([title, entries]) => [
    make("h3", {textContent: title}),
    make("dl", {}, ...entries.flatMap(([keys, text]) => [
      make("dt", {}, make("kbd", {textContent: keys})), make("dd", {textContent: text})])),
  ]);
  openDialog("help", "Keys and mouse", ...content,
    make("p", {textContent: "A click on a box zooms into it, another out. A drag over the time " +
      "selects it, and all else is of that time alone. Thin boxes: inlined calls."}));
}

// Opens the box that tells how the page was made and what is missing: of the recording, of each event, notes of its
// maker.
function openAbout({profile: {origin, events, recordings, notes}, viewer}) {
  const list = (entries) => make("dl", {}, ...entries.filter(([, text]) => text)
      .flatMap(([title, text]) => [make("dt", {textContent: title}), foreign(String(text), "dd")]));
  const content = [list([
    ["command", origin.commandLine], ["selection", origin.selection], ["host", origin.host],
    ["kernel", `${origin.kernelRelease} ${origin.machine}`.trim()], ["CPUs", origin.cpuCount || ""],
    ["recorded", origin.startRealtimeNs ? dateText(origin.startRealtimeNs) : ""],
    ["duration", origin.durationNs ? formatTime(origin.durationNs) : ""],
    ["scope", origin.isSystemWide ? "all processes" : ""],
    ["code", [origin.hasUser && "user", origin.hasKernel && "kernel"].filter(Boolean).join(", ")],
    ["sampler", origin.sampler],
    ["time step", origin.timeStepNs ? formatTime(origin.timeStepNs) : ""],
    ["gosym", origin.gosymVersion],
  ])];
  for (const event of events)
    content.push(make("h3", {textContent: clipped(event.name || "samples")}), list([
      ["rate", event.frequency ? `${formatCount(event.frequency)} samples a second`
                               : event.period ? `a sample each ${formatCount(event.period)} events` : ""],
      ["lost", event.lostSamples ? `${formatCount(event.lostSamples)} samples` : ""],
      ["repaired", event.repaired && `${formatCount(event.repaired)} stacks got a missing caller back`],
      ["truncated", event.cut && `${formatCount(event.cut)} stacks are incomplete: totals are lower bounds`],
      ["unknown end", event.unknown &&
        `${formatCount(event.unknown)} stacks end in code that may or may not be a root`],
      ["deep", event.deep && `${formatCount(event.deep)} stacks lack frames of their middle`],
      ["bridged", event.bridged &&
        `${formatCount(event.bridged)} stacks go on from one stack to another`],
    ]));
  if (recordings.length > 1)
    content.push(make("h3", {textContent: "Recordings"}), list(recordings.map((each) =>
      [each.name, [each.host, each.startRealtimeNs && dateText(each.startRealtimeNs),
        each.durationNs && formatTime(each.durationNs)].filter(Boolean).join(", ")])));
  if (notes.length)
    content.push(make("h3", {textContent: "Notes"}), list(notes.map(({title, text}) => [title, text])));
  const {self} = viewer.totals(), unnamed = [];
  viewer.keys("function").frame.forEach((frame, key) => {
    if (viewer.state.by === "function" && self[key] > 0 && kindOf(viewer.profile, frame) === 6)
      unnamed.push([key, self[key]]);
  });
  if (unnamed.length)
    content.push(make("h3", {textContent: "Without a name"}), list(unnamed
        .sort((a, b) => b[1] - a[1]).slice(0, 20).map(([key, amount]) =>
          [clipped(viewer.text(key)).slice(0, 60), `${formatShare(amount, viewer.totals().all)} self: ` +
            kUnnamedReasons[viewer.profile.frames.unnamed[viewer.keys().frame[key]]]])));
  openDialog("about", "How it was made, and what is missing", ...content);
}

// ---- For other tools

// A file with what is shown. Not of two sides, which have no amounts that other tools know.
function openExport(page) {
  const {viewer, profile} = page;
  if (profile.isCompared)
    return;
  const button = (textContent, name, type, of) => {
    const made = make("button", {textContent});
    made.addEventListener("click", async () => {
      const url = URL.createObjectURL(new Blob([await of()], {type}));
      const link = make("a", {href: url, download: name});
      byId("save").append(link);
      link.click();
      link.remove();
      setTimeout(() => URL.revokeObjectURL(url), 60e3);
      page.say(`${name} is downloaded`);
    });
    return made;
  };
  openDialog("save", "Export what is shown", make("p", {textContent: "What filters, the selected time and the event leave, " +
      "as gosym report --folded and --pprof write it. Other forms: gosym report of this page."}),
    make("p", {}, button("Folded text", "gosym.folded", "text/plain", () => viewer.folded()), " ",
      button("pprof", "gosym.pb.gz", "application/octet-stream", () => viewer.pprof())));
}

// ---- Filters by process, thread, label, container, …

const kMaxChoices = 300;

function openChooser(page, id = null) {
  const {viewer} = page, {dimensions} = viewer;
  const dimension = viewer.dimension(id) ?? dimensions[0];
  if (!dimension)
    return;
  const tabs = make("div", {className: "tabs"}, ...dimensions.map((each) => {
    const button = make("button", {textContent: clipped(each.title), "aria-pressed": each === dimension});
    button.addEventListener("click", () => openChooser(page, each.id));
    return button;
  }));
  const search = make("input", {type: "search", placeholder: "find", "aria-label": "find a value"});
  const list = make("ul");
  search.addEventListener("input", () => listChoices(page, dimension, search.value, list));
  openDialog("choose", "Filter: only samples of", tabs, search, list);
  listChoices(page, dimension, search.value, list);
  search.focus();
}

// Values with the amount that the filters of other owners and the time leave them, the largest first. Filters of stacks
// are not applied.
function listChoices(page, {id, of, values}, find, list) {
  const {viewer, profile} = page, {state} = viewer, event = viewer.event();
  const owners = selectOwners(profile, viewer.dimensions, {...state.filters, [id]: []});
  const amounts = selectAmounts(profile, {event: state.event, owners, stacks: null,
    begin: state.range?.[0] ?? 0, end: state.range?.[1] ?? Infinity});
  const sums = new Float64Array(values.length);
  for (let i = 0; i < amounts.length; i++)
    sums[of[profile.samples.owner[i]]] += amounts[i];
  const chosen = state.filters[id] ?? [], all = sums.reduce((a, b) => a + b, 0);
  const shown = [...values.keys()].filter((value) => values[value].includes(find) &&
      (sums[value] > 0 || chosen.includes(values[value])))
      .sort((a, b) => sums[b] - sums[a]).slice(0, kMaxChoices);
  list.replaceChildren(...shown.map((value) => {
    const box = make("input", {type: "checkbox", checked: chosen.includes(values[value])});
    box.addEventListener("change", () => {
      const others = (viewer.state.filters[id] ?? []).filter((each) => each !== values[value]);
      const {[id]: _, ...filters} = viewer.state.filters;
      const wanted = box.checked ? [...others, values[value]] : others;
      page.set({filters: wanted.length ? {...filters, [id]: wanted} : filters});
    });
    const row = make("li", {}, make("label", {}, box, foreign(values[value], "span"),
      make("output", {textContent: `${formatAmount(sums[value], event)}  ` +
        formatShare(sums[value], all)})));
    if (id === "thread" && viewer.hasChart()) {
      const button = make("button", {textContent: "In time", title: "its stacks in order of time",
        "aria-label": `In time: ${clipped(values[value])}`});
      button.addEventListener("click", () => {
        byId("choose").close();
        page.openThread(values[value]);
      });
      row.append(button);
    }
    return row;
  }));
}

// ---- The beginning

// For tests: what is shown, and means to change it. Amounts are in units of the event.
function makeHandle(page) {
  const {viewer, profile} = page;
  return {
    state: () => structuredClone(viewer.state),
    set: (change) => page.set(change),
    totals() {
      const {all, number, self, total} = viewer.totals(), keys = viewer.keys(), functions = {};
      const unit = viewer.event().unitNs || viewer.event().unitEvents || 1;
      for (const key of viewer.tableRows())
        functions[keys.text[key]] = [self, total].map((of, i) =>
          (functions[keys.text[key]]?.[i] ?? 0) + of[key] * unit);
      return {samples: number, value: all * unit, functions};
    },
    // [self, total] of each function before and after, as parts of one side.
    changes() {
      const both = viewer.totals(), after = viewer.totalsAfter(), keys = viewer.keys();
      return viewer.tableRows().map((key) => ({name: keys.text[key],
        before: ["self", "total"].map((which) => (both[which][key] - after[which][key]) * 2 / both.all),
        after: ["self", "total"].map((which) => after[which][key] * 2 / both.all)}));
    },
    rows: () => viewer.tableRows().map((key) => viewer.text(key)),
    dimensions: () => viewer.dimensions.map(({id, title, values}) => ({id, title, values})),
    stepNs: () => profile.stepNs,
    boxes() {
      const layout = page.flame.layout;
      return Array.from(layout.key, (key, place) => ({place, text: viewer.text(key),
        depth: layout.depth[place], total: layout.total[place], self: layout.self[place],
        name: page.flame.style.names(key, place)[0]}));
    },
    nodeOf: (place) => page.flame.layout.node[place],
    middleOf: (place) => page.flame.middleOf(place),
    around: () => ["callers", "callees"].map((which) => Array.from(page[which].layout.key,
      (key, place) => ({text: key < 0 ? "" : viewer.text(key), depth: page[which].layout.depth[place],
        total: page[which].layout.total[place]}))),
    window: () => [page.flame.begin, page.flame.finish],
    chart: () => Array.from(page.chart.layout.key, (key, place) => ({place, text: viewer.text(key),
      depth: page.chart.layout.depth[place], start: page.chart.layout.start[place],
      total: page.chart.layout.total[place]})),
    ticks: () => ({heat: page.heat.ticks, chart: page.chartTicks}),
    heat: () => ({left: page.heat.left, pixels: page.heat.pixels, perColumn: page.heat.perColumn,
      rows: page.heat.titles, shown: page.heat.shownTitles, columns: page.heat.columns}),
    selected: () => page.flame.selected,
    chosen: () => viewer.label(viewer.chosen.key),
    path() {
      const layout = viewer.layout(), path = [];
      for (let {place} = viewer.chosen; place > 0; place = layout.parent[place])
        path.unshift(viewer.text(layout.key[place]));
      return path;
    },
    labels: () => viewer.tableRows().map((key) => viewer.label(key)),
    copied: () => page.copied,
    folded: () => viewer.folded(),
    pprof: async () => btoa(String.fromCharCode(...await viewer.pprof())),
    code: () => {
      const {key, path, lines, self, total} = viewer.code();
      return {name: viewer.keys("function").text[key], path, lines, self: [...self], total: [...total], active: page.code.active};
    },
    redraw() {
      page.flame.draw();
      return page.flame.lastDraw;
    },
    drawn: () => page.flame.drawn,
    samples: () => profile.samples.count,
    nodes: () => profile.tree.count,
    timings: viewer.timings,
  };
}

async function begin() {
  const began = performance.now();
  document.head.append(make("style", {textContent: kStyleSheet}));
  document.body.classList.add("ready");
  try {
    const bytes = await unpacked("profile");
    const inflated = performance.now();
    const page = new Page(makeProfile(readPage(bytes)));
    Object.assign(page.viewer.timings, {inflate: inflated - began, all: performance.now() - began,
      opened: performance.now()});
    window.gosym = makeHandle(page);
  } catch (error) {
    showBroken(error);
  }
}

begin();
