// The page: the elements, and what they show of the state.

const byId = (id) => document.getElementById(id);

// An element of a text, or of children; `properties` are set on it.
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties))
    if (name.startsWith("aria-") || name === "role")
      element.setAttribute(name, value);
    else
      element[name] = value;
  element.append(...children);
  return element;
}

// New children for an element; the focus stays where it was among them.
function refill(host, ...children) {
  const focusable = () => [...host.querySelectorAll("button, select, input")];
  const at = host.contains(document.activeElement) ? focusable().indexOf(document.activeElement) : -1;
  host.replaceChildren(...children);
  if (at >= 0)
    (focusable()[at] ?? focusable().at(-1) ?? byId("views").querySelector("[aria-pressed=true]")).focus();
}

// Text of a recording: whatever direction it has, it does not turn what stands around it.
const foreign = (text, tag = "bdi") => make(tag, {textContent: clipped(text)});

// ---- Theme

const kDark = window.matchMedia("(prefers-color-scheme: dark)");
const kPrint = window.matchMedia("print");
let theme = null;

// Colours for canvases, from the style sheet.
function themeColours() {
  const isDark = kDark.matches && !kPrint.matches;
  if (theme?.isDark === isDark)
    return theme;
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  const [hue, from, to] = [of("heat-hue"), Number(of("heat-from")), Number(of("heat-to"))];
  theme = {isDark, text: of("text"), dim: of("dim"), accent: of("accent"), root: of("root"),
    match: of("match"), matchText: of("match-text"), hover: of("hover"), veil: of("veil"),
    bar: of("bar"), dimmed: Number(of("dimmed")),
    heat: Array.from({length: 32}, (_, i) => `hsl(${hue} 85% ${from + (to - from) * i / 31}%)`)};
  return theme;
}

const kMostSpoken = 25;  // rows

class Page {
  constructor(profile) {
    if (profile.isCompared)
      kInitialState.colour = "change";
    else
      delete kColours.change;
    document.body.classList.toggle("compared", profile.isCompared);
    this.viewer = new Viewer(profile);
    kInitialState.group = this.initialGroup(profile);
    this.profile = profile;
    this.copied = "";
    const box = {
      hover: (place) => this.point(place >= 0 ? this.flame.layout.key[place] : -1, place),
      select: (place) => this.choose(place),
      zoom: (place) => this.zoom(place),
      window: () => this.overview.draw(),
    };
    this.flame = new FlameView(byId("flame"), box);
    this.overview = new OverviewRow(byId("overview").firstElementChild, this.flame);
    const beside = (which) => ({
      hover: (place) => this.describeAround(which, place),
      select: (place) => this.describeAround(which, place, true),
      zoom: (place) => this.lookAround(this[which].layout.key[place]),
      window: () => {},
    });
    this.callers = new FlameView(byId("callers"), beside("callers"));
    this.callees = new FlameView(byId("callees"), beside("callees"));
    this.callers.isUpward = true;
    this.chart = new FlameView(byId("chart"), {
      hover: (place) => this.describeMoment(place),
      select: (place) => this.describeMoment(place, true),
      zoom: (place) => this.zoomChart(place),
      window: () => this.drawChartAxis(),
    });
    this.heat = new HeatView(byId("heat"), {select: (begin, end) => this.selectTime(begin, end),
      open: (thread) => this.openThread(thread)});
    this.makeGrids();
    this.makeCode();
    makeTools(this);
    listenToKeys(this);
    listenToWindow(this);
    this.restore();
  }

  // Goroutines of a dump are of states; of all processes each is a thing of its own.
  initialGroup({origin, events}) {
    const count = (id) => this.viewer.dimension(id)?.values.length ?? 0;
    if (events[0].name === kGoroutineEvent && count("state") > 0)
      return "state";
    return origin.isSystemWide && count("process") > 1 ? "process" : "";
  }

  // ---- State

  // Changes what is shown. A step that the Back button takes back unless isSmall.
  set(change, isSmall = false) {
    const {viewer} = this, before = viewer.state;
    const next = {...before, ...change};
    const rebuilt = ["by", "invert", "group", "mine", "fold"].some((name) => next[name] !== before[name]);
    // The zoom is a node of the structure: another structure has other nodes.
    if (rebuilt) {
      next.zoom = change.zoom ?? 0;
    }
    viewer.state = next;
    viewer.pointed = null;
    const hash = `#${stateToHash(next)}`;
    if (hash !== (location.hash || "#"))
      history[isSmall ? "replaceState" : "pushState"](null, "", hash);
    this.render();
  }

  restore() {
    const {viewer, profile} = this;
    const state = stateFromHash(location.hash);
    if (state.event >= profile.events.length)
      state.event = 0;
    for (const name of ["group", "rows"])
      if (!viewer.dimension(state[name]) && state[name] !== "within")
        state[name] = "";
    // Only rows of the heat map can be the time within a second.
    if (state.group === "within")
      state.group = "";
    if ((state.view === "chart" && !viewer.hasChart()) || (state.view === "code" && !viewer.hasCode()))
      state.view = kInitialState.view;
    state.filters = Object.fromEntries(Object.entries(state.filters)
        .filter(([id]) => viewer.dimension(id)));
    const {steps} = profile.samples;
    if (state.range && state.range[0] >= steps)
      state.range = null;
    viewer.state = state;
    viewer.pointed = null;
    this.render();
  }

  render() {
    const began = performance.now();
    const {viewer, viewer: {state}} = this;
    const {colour, group, event, by, view} = state;
    byId("event").value = event;
    byId("by").value = by;
    byId("colour").value = colour;
    byId("group").value = group;
    byId("rows").value = this.rowsShown();
    if (byId("search").value !== state.search)
      byId("search").value = state.search;
    byId("invert").setAttribute("aria-pressed", state.invert);
    for (const id of ["up", "mine", "fold"])
      byId(id).setAttribute("aria-pressed", state[id]);
    for (const button of byId("views").children)
      button.setAttribute("aria-pressed", button.dataset.view === view);
    const isEmpty = viewer.totals().all === 0;
    for (const [name, id] of Object.entries({flame: "flame-view", around: "around-view",
      chart: "chart-view", code: "code-view", tree: "tree", table: "table"}))
      byId(id).hidden = name !== view || isEmpty;
    byId("nothing").hidden = !isEmpty;
    byId("nothing").textContent = this.emptiness();
    this.renderHeat();
    this.renderChips();
    if (!isEmpty)
      this.renderView();
    this.renderCrumbs();
    this.renderSpoken();
    this.renderMatched();
    this.renderLegend();
    this.renderDetails();
    viewer.timings.render = performance.now() - began;
  }

  emptiness() {
    if (this.profile.samples.count === 0)
      return "This profile has no samples: nothing ran, or none of it was sampled.";
    return this.viewer.all() === 0 ? "This event has no samples."
                                   : "No sample is left: take a filter or the selected time away.";
  }

  renderView() {
    const {viewer, flame, viewer: {state}} = this;
    if (state.view === "flame") {
      const layout = viewer.layout();
      // Another layout begins at its zoom; for anything else the part that is seen stays as it is.
      const isNew = flame.layout !== layout || flame.isUpward !== state.up ||
          flame.zoomedNode !== state.zoom;
      flame.selected = viewer.resolve(viewer.choice).place;
      flame.style = viewer.flameStyle();
      if (isNew) {
        flame.isUpward = state.up;
        flame.zoomed = Math.max(0, layout.placeOf[state.zoom] ?? 0);
        flame.zoomedNode = state.zoom;
        flame.show(layout, flame.style);
      } else {
        flame.draw();
      }
      this.overview.draw();
    } else if (state.view === "around") {
      this.renderAround();
    } else if (state.view === "chart") {
      this.renderChart();
    } else if (state.view === "code") {
      this.renderCode();
    } else if (state.view === "tree") {
      if (viewer.opened.size === 0)
        viewer.openLargest();
      this.treeRows = viewer.treeRows();
      this.tree.active = this.treeRows.indexOf(viewer.resolve(viewer.choice).place);
      this.tree.show(this.treeRows.length, (row, cells) => this.fillTreeRow(row, cells));
    } else {
      this.table.active = viewer.tableRows().indexOf(viewer.resolve(viewer.choice).key);
      this.table.show(viewer.tableRows().length, (row, cells) => this.fillTableRow(row, cells),
        state.sort, state.ascending);
    }
  }

  renderAround() {
    const {viewer} = this, key = viewer.aroundKey(), event = viewer.event();
    const {self, total, all} = viewer.totals();
    const after = this.profile.isCompared ? viewer.totalsAfter() : null;
    const amount = (which, of) => after
      ? `${which} ${this.changeText(after[which][key], of[key])}`
      : `${which} ${formatAmount(of[key], event)} (${formatShare(of[key], all)})`;
    byId("around-name").replaceChildren(foreign(viewer.label(key), "b"),
      make("span", {textContent: `${amount("total", total)} · ${amount("self", self)}`}));
    for (const [which, isInverted] of [["callers", true], ["callees", false]]) {
      const {tree, layout, sumAfter} = viewer.around(isInverted);
      layout.key[0] = -1;
      this[which].selected = -1;
      this[which].zoomed = 0;
      this[which].show(layout, {...viewer.style(tree, layout, sumAfter),
        names: (each, place) => place === 0 ? [this.rootText(which, layout)]
          : viewer.names(each).map((name) => name + timesText(tree, layout.node[place]))});
    }
  }

  renderChart() {
    const {viewer, chart} = this, layout = viewer.chart(), isNew = chart.layout !== layout;
    const thread = viewer.chartThread(), event = viewer.event();
    fillOptions("thread", viewer.threads().map(([text, amount]) => [text, `${text}, ${formatAmount(amount, event)}`]));
    byId("thread").value = thread;
    byId("chart-steps").textContent = `steps of ${formatTime(this.profile.stepNs)}: one in which it ran is drawn whole, the ` +
      "order within it is not known";
    const plain = viewer.style(viewer.root().tree, layout, null);
    const style = {...plain, names: (key, place) =>
      place === 0 ? [`${thread}: ${formatAmount(layout.busy, event)}`] : plain.names(key, place)};
    if (isNew) {
      chart.selected = -1;
      chart.zoomed = 0;
      chart.show(layout, style);
    } else {
      chart.style = style;
      chart.draw();
    }
    this.drawChartAxis();
    this.describeMoment(chart.selected);
  }

  // Lines of the source beside their amounts, the hottest in view.
  renderCode() {
    const {viewer} = this, code = viewer.code(), {path, lines, self, total} = code;
    byId("code-head").replaceChildren(foreign(viewer.keys("function").labels[code.key] ?? "", "b"),
      foreign(path || "no source file is known"), path && lines.length === 0 ? "is not in this page" :
      `source texts of ${viewer.read.sources.size} files are in this page`);
    const hottest = [...total.keys()].sort((a, b) => (self.get(b) - self.get(a)) || (total.get(b) - total.get(a)))[0] ?? 1;
    const isNew = this.shownCode !== code;
    this.shownCode = code;
    this.code.show(lines.length, (row, cells) => {
      this.fillAmounts(cells, self.get(row + 1) ?? 0, total.get(row + 1) ?? 0, code.all);
      const [number, source] = cells.slice(-2);
      number.textContent = row + 1;
      source.replaceChildren(foreign(lines[row]));
      return {isMatch: false};
    });
    if (isNew && lines.length)
      this.code.choose(hottest - 1, true);
  }

  openCode(key) {
    if (this.viewer.hasCode() && this.viewer.state.by === "function" && key >= 0 && key < this.viewer.keys().count)
      this.set({view: "code", around: this.viewer.keys().links[key]});
  }

  drawChartAxis() {
    const {chart, profile: {stepNs}} = this, wide = byId("chart").clientWidth;
    if (!chart.layout || wide === 0)
      return;
    const context = sized(byId("chart-axis").firstElementChild, wide, kAxis);
    context.font = kSmallFont;
    context.fillStyle = themeColours().dim;
    context.textBaseline = "middle";
    this.chartTicks = drawTicks(context, chart.small, {begin: chart.begin * stepNs, end: chart.finish * stepNs, left: 0, wide, top: 0});
  }

  // From when to when a call was seen.
  describeMoment(place, isChosen = false) {
    const {viewer, chart: {layout}, profile: {stepNs}} = this;
    const at = place < 0 ? 0 : place, key = layout.key[at];
    const [begin, length] = [layout.start[at] * stepNs, layout.total[at] * stepNs];
    const text = `${formatClock(begin, stepNs)} – ${formatClock(begin + length, stepNs)} (${formatTime(length)})`;
    byId("chart-at").textContent = text;
    if (!isChosen)
      return this.point(key);
    this.pick(key);
    this.say(`${clipped(viewer.text(key))}, ${text}, depth ${layout.depth[at]}`);
  }

  // The box that is zoomed into already leads back to its parent.
  zoomChart(place) {
    const {chart} = this;
    chart.zoomTo(place === chart.zoomed && place > 0 ? chart.layout.parent[place] : place);
    this.drawChartAxis();
  }

  openThread(thread) {
    if (this.viewer.hasChart() && this.viewer.dimension("thread").values.includes(thread))
      this.set({view: "chart", thread});
  }

  rootText(which, layout) {
    if (layout.count === 1)
      return which === "callers" ? "no callers: stacks begin here" : "calls nothing that was sampled";
    return which === "callers" ? "↑ callers" : "↓ callees";
  }

  rowsShown() {
    const {rows} = this.viewer.state;
    if (rows)
      return rows;
    return ["thread", "process"].find((id) => this.viewer.dimension(id)) ?? "within";
  }

  renderHeat() {
    const {viewer, profile} = this, {state} = viewer;
    byId("heat").hidden = !viewer.hasTime();
    if (!viewer.hasTime())
      return;
    const amounts = viewer.amounts("filtered"), rows = this.rowsShown(), {isDark} = themeColours();
    memo("heat", [amounts, rows, isDark, byId("heat").clientWidth], () => {
      this.heat.show(profile, amounts, viewer.dimension(rows), viewer.event());
      return true;
    });
    if (this.heat.range !== state.range)
      this.heat.setRange(state.range);
  }

  // Filters as buttons that take them away.
  renderChips() {
    const {viewer: {state, dimensions}, profile} = this, chips = [];
    const chip = (text, change, error = "") => {
      const button = make("button", {title: `take away: ${clipped(text)}`,
        className: error ? "error" : ""}, foreign(text), error && `: ${error}, filters nothing`, " ✕");
      button.addEventListener("click", () => this.set(change));
      chips.push(button);
    };
    if (state.range) {
      const [begin, end] = state.range.map((step) => step * profile.stepNs);
      const length = formatTime(end - begin);
      chip(`time ${formatClock(begin, profile.stepNs)} – ${formatClock(end, profile.stepNs)} ` +
        `(${length})`, {range: null});
    }
    for (const {id, title} of dimensions)
      for (const text of state.filters[id] ?? [])
        chip(`${title}: ${text}`, {filters: {...state.filters,
          [id]: state.filters[id].filter((each) => each !== text)}});
    for (const [name, text] of Object.entries(kStackFilters)) {
      const {label, error} = this.viewer.stackFilter(name);
      if (label)
        chip(`${text} ${label}`, {[name]: ""}, error);
    }
    refill(byId("chips"), ...chips);
  }

  // The way from the root to what is zoomed into.
  renderCrumbs() {
    const {viewer: {state}, flame, flame: {layout}} = this, crumbs = [];
    if (state.view === "flame" && layout && state.zoom !== 0 && flame.zoomed > 0) {
      const path = [];
      for (let place = flame.zoomed; place >= 0; place = layout.parent[place])
        path.unshift(place);
      const shown = path.length > 6 ? [path[0], -1, ...path.slice(-4)] : path;
      for (const place of shown) {
        if (crumbs.length)
          crumbs.push("›");
        const button = place < 0 ? "…" : make("button",
          {textContent: place === 0 ? "all" : clipped(this.viewer.names(layout.key[place]).at(-1))});
        if (place >= 0)
          button.addEventListener("click", () => this.zoom(place));
        crumbs.push(button);
      }
    }
    refill(byId("crumbs"), ...crumbs);
  }

  renderMatched() {
    const {viewer, viewer: {state}} = this, output = byId("matched");
    const {error} = parsePattern(state.search);
    output.classList.toggle("error", Boolean(error));
    const isMatch = viewer.matches();
    output.textContent = error ?? "";
    if (!isMatch || error)
      return;
    const layout = viewer.layout(), amount = matchedAmount(layout, isMatch);
    output.textContent = `${formatShare(amount, layout.total[0])} matched`;
    this.say(`${output.textContent}`);
  }

  renderLegend() {
    if (this.viewer.showsChange()) {
      this.renderChangeLegend();
      return;
    }
    const {viewer, viewer: {state}} = this, classes = viewer.classes();
    const {isDark} = themeColours(), amounts = viewer.amounts();
    const sums = memo("legend", [classes, amounts], () => {
      const result = new Float64Array(classes.titles.length);
      if (state.colour === "kind") {
        const {self} = viewer.totals();
        for (let key = 0; key < self.length; key++)
          result[classes.of[key]] += self[key];
      } else {
        const {colour} = state;
        result.set(keyTotals(viewer.profile, viewer.keys(colour), viewer.root(colour), amounts).self);
      }
      return result;
    });
    const all = viewer.totals().all;
    const ranked = [...sums.keys()].filter((each) => sums[each] > 0)
        .sort((a, b) => sums[b] - sums[a]).slice(0, 12);
    const entries = ranked.map((each) => {
      const swatch = make("i", {className: "swatch"});
      swatch.style.background = boxColour(classes.colours[each] ?? [220, 6], 0.4, isDark);
      return make("span", {}, swatch, foreign(classes.titles[each]),
        ` ${formatShare(sums[each], all)}`);
    });
    byId("legend").replaceChildren(...entries);
    byId("legend").title = "shares of self time";
  }

  renderChangeLegend() {
    const {isDark} = themeColours();
    const entries = [[-1, "gone"], [-0.2, "cheaper"], [0, "no more than chance"],
      [0.2, "dearer"], [1, "new"]].map(([change, text]) => {
      const swatch = make("i", {className: "swatch"});
      swatch.style.background = changeColour(change, isDark);
      return make("span", {}, swatch, text);
    });
    byId("legend").replaceChildren(...entries,
      make("span", {textContent: "verdicts: About (w)"}));
    byId("legend").title = "chance: up to two standard deviations of samples drawn at random; " +
      "runs of one program may differ by more";
  }

  // Names of boxes are painted: the same as tables, for those who do not see them.
  renderSpoken() {
    const {viewer, viewer: {state}} = this, {totals, boxes} = this.spoken();
    memo("spoken", [totals, boxes], () => {
      const event = viewer.event(), table = (caption, heads, rows) => make("table", {}, make("caption", {textContent: caption}),
        make("thead", {}, make("tr", {}, ...heads.map((textContent) => make("th", {textContent, scope: "col"})))),
        make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, foreign(cell)))))));
      const amounts = (amount) => [formatAmount(amount, event), formatShare(amount, totals.all)];
      const rows = [...viewer.tableRows()].slice(0, kMostSpoken).map((key) => [viewer.label(key),
        ...amounts(totals.self[key]), ...amounts(totals.total[key]), viewer.where(key)]);
      const shown = largestBoxes(boxes.layout, kMostSpoken);
      const steps = state.view === "chart" ? (place) => [formatClock(boxes.layout.start[place] * this.profile.stepNs,
        this.profile.stepNs), formatTime(boxes.layout.total[place] * this.profile.stepNs)]
        : (place) => amounts(boxes.layout.total[place]);
      byId("spoken").replaceChildren(
        table(`${kViews[state.view]}${boxes.title}: the largest calls, callers first`,
          ["Depth", "Name", ...state.view === "chart" ? ["From", "For"] : ["Total", "Total %"]],
          shown.map((place) => [`${boxes.layout.depth[place]}`, viewer.text(boxes.layout.key[place]), ...steps(place)])),
        table(`Top ${kDimensions[state.by]}s`.replace("ys", "ies"), ["Name", "Self", "Self %", "Total", "Total %", "Where"], rows));
      return true;
    });
  }
  // The totals and the boxes that the tables are made of.
  spoken() {
    const {viewer, viewer: {state}} = this, totals = viewer.totals();
    if (state.view === "chart")
      return {totals, boxes: memo("spoken boxes", [viewer.chart()], () => ({layout: viewer.chart(), title: ` of ${viewer.chartThread()}`}))};
    if (state.view === "around")
      return {totals, boxes: memo("spoken boxes", [viewer.around(false).layout],
        () => ({layout: viewer.around(false).layout, title: ` of ${viewer.label(viewer.aroundKey())}`}))};
    return {totals, boxes: memo("spoken boxes", [viewer.layout()], () => ({layout: viewer.layout(), title: ""}))};
  }

  // ---- Details

  // For what the pointer is over; without anything there, for what is chosen.
  point(key, place = -1) {
    this.viewer.pointed = this.viewer.reference(key, place);
    this.renderDetails();
  }
  pick(key, place = -1) {
    this.viewer.pointed = null;
    this.viewer.choice = this.viewer.reference(key, place);
    this.renderDetails();
  }

  describeAround(which, place, isChosen = false) {
    const {layout} = this[which];
    const key = place > 0 ? layout.key[place] : this.viewer.aroundKey();
    if (!isChosen)
      return this.point(key);
    this.pick(key);
    this.say(`${this.viewer.text(key)}, ${formatAmount(layout.total[Math.max(0, place)],
      this.viewer.event())}`);
  }

  choose(place) {
    const {viewer, flame} = this, {layout} = flame;
    this.pick(layout.key[place], place);
    this.say(`${clipped(viewer.text(layout.key[place]))}, ${formatShare(layout.total[place],
      layout.total[0])}, depth ${layout.depth[place]}`);
  }

  say(text) {
    byId("said").textContent = text;
  }

  // Names and numbers of what is chosen, or of all.
  facts() {
    const {viewer, viewer: {chosen}} = this, event = viewer.event();
    const totals = viewer.totals(), facts = [];
    const amount = (title, value) => facts.push([title, formatAmount(value, event),
      ` ${formatShare(value, viewer.all())} of all` +
      (totals.all !== viewer.all() ? `, ${formatShare(value, totals.all)} of shown` : "")]);
    const isGroup = chosen.key >= viewer.keys().count;
    if (this.profile.isCompared)
      return this.changedFacts();
    if (chosen.key < 0) {
      amount(event.amount || "shown", totals.all);
      facts.push(["samples", formatCount(totals.number), ""]);
      facts.push(["", "", "point at a box, or use the arrow keys; ? tells of all keys"]);
      return facts;
    }
    if (chosen.place > 0) {
      const layout = viewer.layout();
      amount("here", layout.total[chosen.place]);
      if (!viewer.state.invert && layout.self[chosen.place] > 0)
        facts.push(["here self", formatAmount(layout.self[chosen.place], event), ""]);
    }
    if (isGroup)
      return facts;
    amount("self", totals.self[chosen.key]);
    amount("total", totals.total[chosen.key]);
    const waitedIn = viewer.waitedIn(chosen.key);
    if (waitedIn >= 0)
      facts.push(["waits in", viewer.text(waitedIn), ""]);
    return facts;
  }

  // "12.3 % → 14.5 %, +18 %": by share, or as amounts.
  changeText(after, both) {
    const change = formatChange(after, both, this.viewer.variance());
    return this.sideTexts(after, both).join(" → ") + (change && `, ${change}`);
  }
  sideTexts(after, both) {
    const {viewer, profile: {origin}} = this, event = viewer.event();
    const sides = [both - after, after];
    if (origin.comparedPer !== "share")
      return sides.map((amount) => formatAmount(amount, event));
    const all = viewer.all() / 2;  // before is scaled to as much as after
    return sides.map((amount) => formatShare(amount, all));
  }

  changedFacts() {
    const {viewer, viewer: {chosen}} = this, facts = [];
    const totals = viewer.totals(), after = viewer.totalsAfter();
    const change = (title, now, both) => facts.push([title, this.changeText(now, both), ""]);
    if (chosen.place > 0) {
      const layout = viewer.layout();
      change("here", viewer.nodesAfter().total[layout.node[chosen.place]],
        layout.total[chosen.place]);
    }
    if (chosen.key < 0)
      change("all", after.all, totals.all);
    else if (chosen.key < viewer.keys().count) {
      change("self", after.self[chosen.key], totals.self[chosen.key]);
      change("total", after.total[chosen.key], totals.total[chosen.key]);
    }
    facts.push(["", "", "before → after, " + {share: "as shares of each",
      second: "before for as many seconds as after",
      run: "before for as many runs as after"}[this.profile.origin.comparedPer]]);
    if (chosen.key < 0)
      facts.push(["", "", "boxes are as wide as both together"]);
    return facts;
  }

  // The place of the code, and the source of its name.
  origins(key) {
    const {viewer, viewer: {profile, profile: {frames, modules, texts}}} = this;
    if (key < 0 || key >= viewer.keys().count)
      return [];
    const hottest = viewer.hottest()[key];
    const frame = hottest >= 0 ? hottest : viewer.keys().frame[key];
    const module = frames.module[frame], origins = [];
    if (["function", "line", "file"].includes(viewer.state.by)) {
      const where = viewer.where(key, true);
      if (where !== moduleOfFrame(profile, frame))
        origins.push([where, ""]);
    }
    origins.push([(module > 0 && texts[modules[module - 1].path]) || moduleOfFrame(profile, frame),
      ""]);
    const isNamed = frames.function[frame] !== 0;
    if (isNamed)
      origins.push([`name from ${kSources[frames.source[frame]]}`, ""]);
    if (!isNamed || frames.source[frame] === kCallFrames) {
      const debug = module > 0 ? modules[module - 1].debugPackage : "";
      origins.push([`no name: ${kUnnamedReasons[frames.unnamed[frame]]}` +
        (debug ? `; the package ${debug} would name it` : ""), "warn"]);
    }
    if (frames.isInlined[frame])
      origins.push(["inlined", ""]);
    return origins;
  }

  renderDetails() {
    const {viewer, viewer: {chosen}} = this;
    const title = make("div", {className: "title"}, foreign(chosen.key < 0 ? "All" +
      (viewer.totals().all !== viewer.all() ? " that is shown" : "") : viewer.label(chosen.key), "b"));
    if (chosen.key >= 0) {
      const button = (text, hint, act) => {
        const made = make("button", {textContent: text, title: hint});
        made.addEventListener("click", act);
        title.append(made);
      };
      button("Copy name", "copy the name (y)", () => this.copyName());
      if (chosen.place > 0)
        button("Copy stack", "copy the stack, outermost call first (Y)", () => this.copyStack());
      if (chosen.key < viewer.keys().count) {
        button("Callers & callees", "callers and callees (#)", () => this.lookAround(chosen.key));
        if (viewer.state.by === "function") {
          if (viewer.hasCode())
            button("Code", "its source (a)", () => this.openCode(chosen.key));
          button("Only", "only stacks with it (f)", () => this.filterStacks("only"));
          button("Without", "only stacks without it (x)", () => this.filterStacks("without"));
        }
      }
    }
    const facts = make("div", {className: "facts"});
    for (const [name, value, more] of this.facts())
      facts.append(make("span", {className: value ? "" : "hint"}, `${name} `, make("b", {textContent: value}), more));
    for (const [text, className] of this.origins(chosen.key))
      facts.append(make("span", {className}, foreign(text)));
    const {cut} = viewer.structure();
    if (cut && viewer.state.invert)
      facts.append(make("span", {className: "warn",
        textContent: `callers further than ${cut} calls away are not shown`}));
    refill(byId("details"), title, facts);
  }

  // ---- Grids

  makeGrids() {
    const amounts = (isSorted) => !this.profile.isCompared ? [
      {id: "self", title: "Self", isNumber: true, isSorted},
      {id: "share", title: "Self %", isNumber: true},
      {id: "total", title: "Total", isNumber: true, isSorted},
      {id: "share2", title: "Total %", isNumber: true},
    ] : ["Self", "Total"].flatMap((title) => [
      {id: "side", title: `${title} before`, isNumber: true},
      {id: "side", title: `${title} after`, isNumber: true},
      {id: title.toLowerCase(), title: `${title} change`, isNumber: true, isSorted},
    ]);
    const columns = (name) => [
      ...amounts(name === "table"),
      {id: "name", title: "Name", isSorted: name === "table"},
      {id: "where", title: "Where", isSorted: name === "table"},
    ];
    this.table = new Grid(byId("table"), "functions", columns("table"), {
      sort: (id) => this.sortBy(id),
      choose: (row) => this.pick(this.viewer.tableRows()[row]),
      open: (row) => this.lookAround(this.viewer.tableRows()[row]),
    });
    this.tree = new Grid(byId("tree"), "call tree", columns("tree"), {
      choose: (row) => this.pick(this.viewer.layout().key[this.treeRows[row]], this.treeRows[row]),
      open: (row) => this.toggle(row),
      toggle: (row, isOpen) => this.toggle(row, isOpen),
    });
  }

  makeCode() {
    const amounts = ["Self", "Self %", "Total", "Total %"].map((title, i) =>
      ({id: ["self", "share", "total", "share2"][i], title, isNumber: true}));
    this.code = new Grid(byId("code"), "source lines", [...amounts, {id: "line", title: "Line"},
      {id: "source", title: "Source"}], {choose: () => {}, open: () => {}});
  }

  sortBy(id) {
    const {sort, ascending} = this.viewer.state;
    this.set({sort: id, ascending: sort === id ? !ascending : id === "name" || id === "where"}, true);
  }

  // Opens or closes a row of the call tree; where there is nothing to open or close it goes to the
  // first child or to the parent, as trees do.
  toggle(row, isOpen) {
    const {viewer, tree} = this, layout = viewer.layout(), place = this.treeRows[row];
    const node = layout.node[place], was = viewer.opened.has(node);
    const hasChildren = layout.end[place] > place + 1;
    const wanted = isOpen ?? !was;
    if (!hasChildren || wanted === was) {
      if (wanted && hasChildren)
        tree.choose(row + 1);
      else if (isOpen === false && layout.parent[place] > 0)
        tree.choose(this.treeRows.indexOf(layout.parent[place]));
      return;
    }
    if (wanted)
      viewer.opened.add(node);
    else
      viewer.opened.delete(node);
    // A chain of calls without a branch opens as one.
    for (let at = place + 1; wanted && at < layout.end[place]; at++) {
      viewer.opened.add(layout.node[at]);
      if (layout.end[at] !== layout.end[place])
        break;
    }
    this.renderView();
    tree.choose(row);
  }

  // Before, after and change of self and of total; `after` and `both` are [self, total].
  fillChanges(cells, after, both) {
    const variance = this.viewer.variance(), {isDark} = themeColours();
    for (const [i, amount] of both.entries()) {
      const [before, now, changed] = cells.slice(3 * i, 3 * i + 3);
      [before.textContent, now.textContent] = amount > 0 ? this.sideTexts(after[i], amount) : ["", ""];
      const change = changeOf(after[i], amount, variance);
      changed.textContent = formatChange(after[i], amount, variance);
      changed.style.background = change === 0 ? "" : changeColour(change, isDark);
    }
  }

  fillAmounts(cells, self, total, all = this.viewer.totals().all) {
    const event = this.viewer.event();
    cells[0].textContent = self > 0 ? formatAmount(self, event) : "";
    cells[2].textContent = total > 0 ? formatAmount(total, event) : "";
    for (const [cell, amount] of [[cells[1], self], [cells[3], total]]) {
      const bar = make("i");
      bar.style.width = `${100 * amount / all}%`;
      cell.replaceChildren(bar, amount > 0 ? formatShare(amount, all) : "");
    }
  }

  swatch(key) {
    const swatch = make("i", {className: "swatch"});
    swatch.style.background = this.viewer.colours()[key] ?? themeColours().root;
    swatch.style.position = "static";
    swatch.style.opacity = "1";
    return swatch;
  }

  fillTableRow(row, cells) {
    const {viewer} = this, key = viewer.tableRows()[row], {self, total} = viewer.totals();
    if (this.profile.isCompared) {
      const after = viewer.totalsAfter();
      this.fillChanges(cells, [after.self[key], after.total[key]], [self[key], total[key]]);
    } else {
      this.fillAmounts(cells, self[key], total[key]);
    }
    const [name, where] = cells.slice(-2);
    name.replaceChildren(this.swatch(key), foreign(viewer.text(key)));
    where.replaceChildren(foreign(viewer.where(key)));
    return {isMatch: false};
  }

  fillTreeRow(row, cells) {
    const {viewer} = this, layout = viewer.layout(), place = this.treeRows[row];
    const key = layout.key[place], node = layout.node[place];
    const isOpen = layout.end[place] > place + 1 ? viewer.opened.has(node) : undefined;
    if (this.profile.isCompared) {
      const {self, total} = viewer.nodesAfter();
      this.fillChanges(cells, [self[node], total[node]], [layout.self[place], layout.total[place]]);
    } else {
      this.fillAmounts(cells, layout.self[place], layout.total[place]);
    }
    const twist = make("span", {className: "twist",
      textContent: isOpen === undefined ? "" : isOpen ? "▾" : "▸"});
    const [name, where] = cells.slice(-2);
    name.style.setProperty("--depth", Math.min(layout.depth[place] - 1, 40));
    name.replaceChildren(twist, this.swatch(key), foreign(viewer.text(key)), timesText(viewer.structure().tree, node));
    where.replaceChildren(foreign(key < viewer.keys().count ? viewer.where(key) : ""));
    return {level: layout.depth[place], isOpen, isMatch: viewer.matches()?.[key] === 1};
  }

  // ---- What can be done

  // To a box of the flame graph; the box that is zoomed into already leads back to its parent.
  zoom(place) {
    const {viewer: {state}, flame: {layout}} = this, node = layout.node[place];
    this.set({zoom: node === state.zoom && place > 0 ? layout.node[layout.parent[place]] : node});
  }

  lookAround(key) {
    if (key < 0 || key >= this.viewer.keys().count)
      return;
    this.viewer.choice = this.viewer.reference(key);
    this.set({view: "around", around: this.viewer.keys().links[key]});
  }

  selectTime(begin, end) {
    const {steps} = this.profile.samples;
    this.set({range: begin <= 0 && end >= steps ? null : [begin, Math.min(end, steps)]}, true);
  }

  // Stacks with the function that is chosen, or that the pointer is over, which is chosen by that.
  filterStacks(which) {
    const {viewer} = this, {key} = viewer.chosen;
    if (key < 0 || key >= viewer.keys().count || viewer.state.by !== "function")
      return;
    viewer.choice = viewer.pointed ?? viewer.choice;
    this.set({[`${which}Of`]: viewer.keys().links[key]});
  }

  copyName() {
    if (this.viewer.chosen.key >= 0)
      this.copy(this.viewer.text(this.viewer.chosen.key));
  }

  copyStack() {
    const {viewer, viewer: {chosen}} = this, layout = viewer.layout(), names = [];
    for (let place = chosen.place; place > 0; place = layout.parent[place])
      names.push(viewer.text(layout.key[place]));
    if (names.length)
      this.copy((viewer.state.invert ? names : names.reverse()).join("\n"));
  }

  async copy(text) {
    this.copied = text;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Not every browser lets a file use it.
      const area = make("textarea", {value: text, className: "unseen"});
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    this.say("copied");
  }

  // The next or the one before of what the search matches, in the flame graph or the tree.
  nextMatch(step) {
    const {viewer, viewer: {state}} = this, isMatch = viewer.matches();
    if (!isMatch)
      return;
    const flame = state.view === "chart" ? this.chart : this.flame;
    const layout = state.view === "chart" ? flame.layout : viewer.layout();
    const places = state.view === "tree" ? this.treeRows : [...Array(layout.count).keys()].slice(1);
    const found = places.map((place, row) => [place, row]).filter(([place]) =>
      isMatch[layout.key[place]] === 1);
    if (found.length === 0)
      return;
    const now = state.view === "tree" ? this.treeRows[this.tree.active] ?? 0
                                      : Math.max(0, flame.selected);
    const next = step > 0 ? found.find(([place]) => place > now) ?? found[0]
                          : found.findLast(([place]) => place < now) ?? found.at(-1);
    if (state.view === "tree")
      this.tree.choose(next[1]);
    else if (state.view !== "table" && state.view !== "around")
      flame.select(next[0]);
  }
}
