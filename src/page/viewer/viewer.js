// Computes from the profile what a state shows. Each part is kept until its inputs change.

const memos = new Map();
function memo(name, inputs, compute) {
  const known = memos.get(name);
  if (known && known.inputs.every((input, i) => input === inputs[i]))
    return known.value;
  const value = compute();
  memos.set(name, {inputs, value});
  return value;
}

// Keeps a few values of a name, so that going back costs nothing.
function cached(name, compute) {
  if (!memos.has(name))
    memos.set(name, compute());
  return memos.get(name);
}

// "×98": the most calls that a box stands for, where recursions are folded.
const timesText = ({repeats}, node) => repeats[node] > 1 ? ` ×${repeats[node]}` : "";

class Viewer {
  constructor(profile) {
    this.read = profile;  // as it was read
    this.dimensions = ownerDimensions(profile);
    this.state = {...kInitialState};
    // The chosen one, and the one that the pointer is over, as reference() has them.
    this.choice = this.pointed = null;
    this.openedOf = new Map();  // nodes of the call tree that are open, by its structure
    this.timings = {};
  }

  // ---- Which stacks the samples have: as they were read, of own code alone, without repeats

  stacks() {
    const {mine, fold} = this.state;
    return `${mine ? "own" : ""}${fold ? "folded" : ""}`;
  }
  get profile() {
    return this.profileOf(this.stacks());
  }
  profileOf(stacks) {
    return stacks === "" ? this.read : cached(`profile ${stacks}`, () => {
      // Own code is selected first, and what is left is folded: "ownfolded" is made of "own".
      const before = stacks.endsWith("folded") ? stacks.slice(0, -"folded".length) : "";
      return stacks === "own" ? ofOwnCode(this.read, this.keys("category", ""), this.root("category", ""))
        : withoutRepeats(this.profileOf(before), this.keys("function", before));
    });
  }
  hasOwnCode() {
    return this.read.frames.isOwn.some((each) => each);
  }

  // ---- What the details are of, and what keys act on. Places and keys change with what is shown:
  // what is kept is a key of a dimension, and a node of a structure, which no selection changes.

  reference(key, place = -1) {
    if (key < 0)
      return null;
    const {by, group} = this.state, isGroup = key >= this.keys().count;
    return {by, stacks: this.stacks(), key, group: isGroup ? group : null,
      structure: this.structureName(), node: place > 0 ? this.layout().node[place] : -1};
  }
  // {key, place} as things are now; -1 where there is none.
  resolve(reference) {
    const {by, group} = this.state;
    if (!reference || reference.by !== by || reference.stacks !== this.stacks() || (reference.group !== null && reference.group !== group))
      return {key: -1, place: -1};
    const {key, node} = reference;
    const isHere = node > 0 && reference.structure === this.structureName();
    return {key, place: isHere ? this.layout().placeOf[node] ?? -1 : -1};
  }
  get chosen() {
    return this.resolve(this.pointed ?? this.choice);
  }
  get opened() {
    const name = this.structureName();
    if (!this.openedOf.has(name))
      this.openedOf.set(name, new Set());
    return this.openedOf.get(name);
  }

  keys(by = this.state.by, stacks = this.stacks()) {
    return cached(`keys ${stacks} ${by}`, () => makeKeys(this.profileOf(stacks), by));
  }
  root(by = this.state.by, stacks = this.stacks()) {
    return cached(`root ${stacks} ${by}`, () => treeFromRoot(this.profileOf(stacks), this.keys(by, stacks)));
  }
  dimension(id) {
    return this.dimensions.find((each) => each.id === id) ?? null;
  }
  event() {
    return this.profile.events[this.state.event];
  }

  structureName() {
    const {by, invert, group} = this.state;
    return `structure ${this.stacks()} ${by} ${invert} ${group}`;
  }
  structure() {
    const {invert, group} = this.state;
    return cached(this.structureName(), () => makeStructure(this.profile,
      this.keys(), this.root(), invert, this.dimension(group)));
  }

  // Amounts of samples: of the event; of it what the filters let through; of that the time.
  amounts(how = "shown") {
    const {event, filters, range, only, without, onlyOf, withoutOf, mine} = this.state;
    if (how === "all")
      return cached(`all ${event}`, () => selectAmounts(this.read,
        {event, owners: null, stacks: null, begin: 0, end: Infinity}));
    const filtered = memo("filtered", [event, filters, only, without, onlyOf, withoutOf, mine], () => {
      const owners = selectOwners(this.read, this.dimensions, filters);
      const meant = (...names) => names.map((name) => this.stackFilter(name).isMeant).filter(Boolean);
      const stacks = selectStacks(this.read, this.keys("function", ""), meant("only", "onlyOf"),
        meant("without", "withoutOf"), mine);
      return owners || stacks ? selectAmounts(this.read,
        {event, owners, stacks, begin: 0, end: Infinity}) : this.amounts("all");
    });
    if (how === "filtered" || !range)
      return filtered;
    return memo("shown", [filtered, range], () => {
      const {step} = this.profile.samples, shown = new Float64Array(filtered.length);
      for (let i = 0; i < shown.length; i++)
        if (step[i] >= range[0] && step[i] < range[1])
          shown[i] = filtered[i];
      return shown;
    });
  }

  // A filter of stacks, by its name in the state: {isMeant, label}, or {error, label}, which filters
  // nothing. isMeant has 1 for each function that is meant; null: there is no such filter.
  stackFilter(name) {
    const text = this.state[name], keys = this.keys("function", "");
    if (text === "")
      return {isMeant: null, label: ""};
    if (!name.endsWith("Of")) {
      const {pattern, error} = parsePattern(text, false);
      return error ? {isMeant: null, label: text, error}
        : {isMeant: matchesOf(keys.text, pattern), label: text};
    }
    const key = keyOfLink(keys, text, this.totalsOfAll("function", ""));
    if (key < 0)
      return {isMeant: null, label: text.replaceAll("\n", " "), error: "no such function"};
    const isMeant = new Uint8Array(keys.count);
    isMeant[key] = 1;
    return {isMeant, label: keys.labels[key]};
  }
  totalsOfAll(by, stacks = this.stacks()) {
    return cached(`totals ${stacks} ${by} ${this.state.event}`, () => keyTotals(this.profileOf(stacks),
      this.keys(by, stacks), this.root(by, stacks), this.amounts("all")).total);
  }

  layout() {
    const structure = this.structure(), amounts = this.amounts();
    return memo("layout", [structure, amounts],
      () => layOut(structure.tree, selfOf(structure, amounts)));
  }

  totals() {
    const amounts = this.amounts();
    return memo("totals", [this.root(), amounts],
      () => keyTotals(this.profile, this.keys(), this.root(), amounts, this.waits()));
  }
  // The functions that waited have the waits, not the kernel's or the runtime's; null: of nothing else.
  waits() {
    const isMeant = this.event().name === kOffCpuEvent && !this.profile.isCompared &&
      ["function", "line"].includes(this.state.by);
    return isMeant ? cached(`waits ${this.stacks()}`, () => waitNodes(this.profile)) : null;
  }
  waitedIn(key) {
    return this.waits() ? waitedIn(this.profile, this.keys(), this.amounts(), this.waits(), key) : -1;
  }
  hottest() {
    return memo("hottest", [this.totals()],
      () => hottestFrames(this.profile, this.keys(), this.totals()));
  }
  all() {
    return memo("sum", [this.amounts("all")], () => this.amounts("all").reduce((a, b) => a + b, 0));
  }

  // ---- Of a page that compares: what of it is after

  after() {
    const amounts = this.amounts();
    return memo("after", [amounts], () => amountsAfter(this.profile, amounts));
  }
  totalsAfter() {
    const after = this.after();
    return memo("totals after", [this.root(), after],
      () => keyTotals(this.profile, this.keys(), this.root(), after));
  }
  variance() {
    const amounts = this.amounts();
    return memo("variance", [amounts], () => varianceOf(this.profile, amounts));
  }
  // Self and total of each node of the tree.
  nodesAfter() {
    const structure = this.structure(), after = this.after();
    return memo("nodes after", [structure, after], () => {
      const self = selfOf(structure, after);
      return {self, total: sumsOf(structure.tree, self)};
    });
  }
  showsChange() {
    return this.profile.isCompared && this.state.colour === "change";
  }

  // ---- Colours

  classes() {
    const {by, colour} = this.state;
    return cached(`classes ${this.stacks()} ${by} ${colour}`, () => {
      const keys = colour === "kind" ? null : this.keys(colour);
      const totals = keys && keyTotals(this.profile, keys, this.root(colour), this.amounts("all"));
      return colourClasses(this.profile, this.keys(), colour, keys, totals);
    });
  }
  // Colours of keys: by their class, or by the change of all of their samples.
  colours() {
    const {isDark} = themeColours();
    if (!this.showsChange()) {
      const classes = this.classes();
      return memo("colours", [classes, isDark], () => keyColours(this.keys(), classes, isDark));
    }
    const {total} = this.totals(), {total: after} = this.totalsAfter();
    return memo("colours of change", [total, after, isDark], () => Array.from(total, (both, key) =>
      changeColour(changeOf(after[key], both, this.variance()), isDark)));
  }
  // Colour of a box of a layout, as a function of its place; `totalAfter` is by node.
  boxColours(layout, totalAfter) {
    const colours = this.colours(), {isDark} = themeColours();
    if (!this.showsChange())
      return (place) => colours[layout.key[place]];
    const variance = this.variance(), steps = 64;
    const ofChange = memo("change", [isDark], () => Array.from({length: 2 * steps + 1},
      (_, i) => changeColour(i / steps - 1, isDark)));
    return (place) => {
      const change = changeOf(totalAfter[layout.node[place]], layout.total[place], variance);
      return ofChange[steps + Math.sign(change) * Math.ceil(Math.abs(change) * steps)];
    };
  }

  // 1 for each key that the search matches; null without one.
  matches() {
    const {search} = this.state, keys = this.keys();
    return memo("matches", [search, keys], () => {
      const {pattern} = parsePattern(search);
      return pattern && matchesOf(keys.text, pattern);
    });
  }

  // The text of a box: of a group it is the value's.
  text(key) {
    const keys = this.keys();
    if (key < 0)
      return "all";
    return key < keys.count ? keys.text[key]
                            : this.dimension(this.state.group)?.values[key - keys.count] ?? "";
  }
  // The name of a key that stands alone: with what tells it from others of that name.
  label(key) {
    return key >= 0 && key < this.keys().count ? this.keys().labels[key] : this.text(key);
  }
  names(key) {
    const names = cached(`names ${this.stacks()} ${this.state.by} ${this.state.group}`, () => []);
    // Key -1 is the root's. No box has room for more than 2,000 characters of a name.
    return names[key + 1] ??= shorterNames(this.text(key).slice(0, 2000));
  }

  // The style that a layout of a tree is drawn in; `totalAfter` is by node, where recordings are compared.
  style(tree, layout, totalAfter) {
    const times = (place) => timesText(tree, layout.node[place]);
    return {names: (key, place) => this.names(key).map((name) => name + times(place)), isMatch: this.matches(), isPlain: tree.isPlain,
      colourOf: this.boxColours(layout, totalAfter), colours: this.colours()};
  }
  flameStyle() {
    const {tree} = this.structure();
    return this.style(tree, this.layout(), this.profile.isCompared ? this.nodesAfter().total : null);
  }

  // The rows of the table: keys that have samples, sorted.
  tableRows() {
    const {sort, ascending, by} = this.state;
    const totals = this.totals(), isMatch = this.matches(), keys = this.keys();
    return memo("rows", [totals, isMatch, sort, ascending, by], () => {
      const rows = [];
      for (let key = 0; key < keys.count; key++)
        if (totals.total[key] > 0 && !keys.isGap[key] && (!isMatch || isMatch[key]))
          rows.push(key);
      const where = sort === "where" ? rows.reduce((all, key) => {
        all[key] = this.where(key);
        return all;
      }, []) : null;
      const order = (a, b) => a < b ? -1 : a > b ? 1 : 0;
      const after = this.profile.isCompared ? this.totalsAfter() : null;
      // Amounts of change where recordings are compared.
      const amount = (which, key) => after ? Math.abs(2 * after[which][key] - totals[which][key])
                                           : totals[which][key];
      const byAmount = (first, second) => (a, b) =>
        amount(first, b) - amount(first, a) || amount(second, b) - amount(second, a);
      const compare = {
        self: byAmount("self", "total"),
        total: byAmount("total", "self"),
        name: (a, b) => order(keys.text[b], keys.text[a]),
        where: (a, b) => order(where[b], where[a]),
      }[sort];
      rows.sort((a, b) => compare(a, b) || a - b);
      return ascending ? rows.reverse() : rows;
    });
  }

  // "scanner.go:37", or the module where there is no file.
  where(key, isLong = false) {
    const frame = this.hottest()[key], {frames, functions, texts} = this.profile;
    const first = frame >= 0 ? frame : this.keys().frame[key];
    const id = frames.function[first] - 1, path = id >= 0 ? texts[functions.file[id]] : "";
    const file = isLong ? path : baseName(path), line = frames.line[first];
    return file ? `${file}${line ? `:${line}` : ""}` : moduleOfFrame(this.profile, first);
  }

  // The rows of the call tree: places that are seen, as nodes are open or not.
  treeRows() {
    const layout = this.layout(), rows = [];
    for (let i = 1; i < layout.count;) {
      rows.push(i);
      i = this.opened.has(layout.node[i]) ? i + 1 : layout.end[i];
    }
    return rows;
  }
  // At first what most samples go through is open.
  openLargest() {
    const layout = this.layout();
    for (let i = 0; i < layout.count; i++)
      if (layout.total[i] >= layout.total[0] * 0.5)
        this.opened.add(layout.node[i]);
  }

  // Exports for other tools, bytes or text, of the samples that are shown. Recursions are not folded.
  exported() {
    const stacks = this.state.mine ? "own" : "";
    return [this.profileOf(stacks), this.keys("function", stacks)];
  }
  folded() {
    return foldedText(...this.exported(), this.amounts());
  }
  pprof() {
    return gzipped(new PprofMaker(...this.exported(), this.event()).make(this.amounts()));
  }

  // The source of the function that callers and callees are of: {key, path, self, total, lines}; lines is empty where
  // the page does not have the file, path where nobody knows it.
  code() {
    const {around, by} = this.state, keys = this.keys("function"), lineKeys = this.keys("line"), amounts = this.amounts();
    return memo("code", [keys, amounts, around, by], () => {
      const {self} = keyTotals(this.profile, keys, this.root("function"), amounts);
      const known = around && by === "function" ? keyOfLink(keys, around, this.totalsOfAll(by)) : -1;
      const key = known >= 0 ? known : self.reduce((best, each, i) => each > self[best] ? i : best, 0);
      const {sources} = this.read, totals = keyTotals(this.profile, lineKeys, this.root("line"), amounts);
      const found = linesOf(this.profile, key, keys, lineKeys, totals, (path) => sources.has(path) ? 1 : 0);
      const text = found && sources.get(found.path);
      return {key, path: "", self: new Map(), total: new Map(), ...found, all: totals.all, lines: text ? decodeLines(text) : []};
    });
  }
  hasCode() {
    return this.read.sources.size > 0;
  }

  // The thread whose stacks are shown in order of time: a text of its dimension; "": threads are not told apart.
  chartThread() {
    const {thread, filters} = this.state, dimension = this.dimension("thread");
    if (!dimension)
      return "";
    const known = [thread, ...filters.thread ?? []].find((each) => dimension.values.includes(each));
    return known ?? this.threads()[0]?.[0] ?? "";
  }
  // Threads that have samples, with the most first: [text, amount].
  threads() {
    const amounts = this.amounts("all"), {of, values} = this.dimension("thread");
    return memo("threads", [amounts], () => {
      const sums = new Float64Array(values.length), {owner} = this.profile.samples;
      for (let i = 0; i < amounts.length; i++)
        sums[of[owner[i]]] += amounts[i];
      return [...values.keys()].filter((each) => sums[each] > 0).sort((a, b) => sums[b] - sums[a])
        .map((each) => [values[each], sums[each]]);
    });
  }
  chart() {
    const {range} = this.state, root = this.root(), amounts = this.amounts(), thread = this.chartThread();
    return memo("chart", [root, amounts, thread, range], () => {
      const {of, values} = this.dimension("thread"), {stepNs, samples} = this.profile;
      // An amount of 1 is unitNs long; a step is stepNs.
      const isOf = of.map((each) => values[each] === thread ? 1 : 0);
      const [begin, end] = range ?? [0, samples.steps];
      return layOutTime(this.profile, root, amounts, isOf, {begin, end, stepsPerAmount: this.event().unitNs / stepNs});
    });
  }
  hasChart() {
    return this.hasTime() && this.dimension("thread") !== null;
  }
  hasTime() {
    return this.profile.stepNs > 0 && this.profile.samples.steps > 1;
  }

  // The key that callers and callees are of: the one that was asked for, or what has most.
  aroundKey() {
    const {around, by} = this.state, {self} = this.totals();
    const known = around === "" ? -1 : keyOfLink(this.keys(), around, this.totalsOfAll(by));
    return known >= 0 ? known : self.reduce((best, amount, key) => amount > self[best] ? key : best, 0);
  }
  around(isInverted) {
    const root = this.root(), amounts = this.amounts(), key = this.aroundKey();
    return memo(`around ${isInverted}`, [root, amounts, key], () => {
      const endingIn = (of) => {
        const self = new Float64Array(root.tree.count), {node} = this.profile.samples;
        for (let i = 0; i < of.length; i++)
          self[root.ends[node[i]]] += of[i];
        return self;
      };
      const self = endingIn(amounts);
      return aroundKey(root, self, key, isInverted,
        this.profile.isCompared ? endingIn(this.after()) : self);
    });
  }
}
