// The profile as typed arrays, and what is computed from it: keys of frames, call trees, amounts for
// a selection, totals, callers and callees, cells of the heat map. Knows nothing of the page.

const kKernelModule = 1, kVdsoModule = 2, kMemoryModule = 3;

const baseName = (path) => path.slice(path.lastIndexOf("/") + 1);

// ---- What the page has, checked

function requireThat(condition, what) {
  if (!condition)
    throw new Error(`the profile in this page is damaged: ${what}`);
}

// Columns that are empty have nothing but zeros; all numbers have to be below their limits. `least`
// is how many entries there are if all columns are empty.
function checkedTable(table, title, limits, least = 0) {
  const count = Math.max(least, ...Object.values(table).map((column) => column.length));
  for (const [name, column] of Object.entries(table)) {
    if (column.length === 0)
      table[name] = new Uint32Array(count);
    requireThat(table[name].length === count, `${title}.${name} has another length`);
    const limit = limits[name] ?? Infinity;
    for (let i = 0; i < count; i++)
      if (table[name][i] >= limit)
        requireThat(false, `${title}.${name}[${i}] refers to nothing`);
  }
  table.size = count;
  return table;
}

// Paths of the tree: for each node its parent (-1: none), its frame, and the first node behind its
// subtree; and of each stack the node that it ends in.
function readTree({up, added, next, first}, frameCount) {
  const count = next.length;
  const parent = new Int32Array(count), frame = new Int32Array(count), end = new Int32Array(count);
  const ends = new Int32Array(up.length);
  const followers = [];  // frames that have followed one, in the order of their first time
  let i = 0, firsts = 0, above = -1;
  for (let stack = 0; stack < up.length; stack++) {
    for (let steps = up[stack]; steps > 0; steps--) {
      if (above < 0)
        requireThat(false, `stack ${stack} of its tree goes up too far`);
      end[above] = i;
      above = parent[above];
    }
    requireThat(added[stack] > 0 && added[stack] <= count - i, "its tree counts other nodes");
    for (let k = added[stack]; k > 0; k--, above = i++) {
      parent[i] = above;
      const known = followers[above < 0 ? frameCount : frame[above]] ??= [];
      if (next[i] === 0)
        known.push(first[firsts++] ?? frameCount);
      const found = known[next[i] === 0 ? known.length - 1 : next[i] - 1];
      if (!(found < frameCount))
        requireThat(false, `node ${i} of its tree has no frame`);
      frame[i] = found;
    }
    ends[stack] = above;
  }
  requireThat(i === count, "its tree has nodes of no stack");
  for (; above >= 0; above = parent[above])
    end[above] = count;
  return {count, parent, frame, end, ends};
}

// In a page that compares two sides amounts before are scaled, and what is shown is the sum of both,
// before + after.
const kBefore = 0, kSides = ["before", "after"];

// One entry a sample: the node it ends in (the number of nodes for the root, which is an empty
// stack), owner, step of time, how many, and its amount.
function readSamples(samples, inRoot, counts, tree, owners, events, scaleBefore) {
  const count = samples.owner.length, {step} = samples;
  requireThat(counts.reduce((a, b) => a + b, inRoot) === count,
    "its tree counts other samples than there are");
  const node = new Int32Array(count);
  const amount = new Float64Array(count), number = new Float64Array(count);
  // An absent column says that each is one sample.
  const areAllOne = samples.count.every((number) => number === 0);
  let i = 0, steps = 1;
  for (let at = -1; at < counts.length; at++) {
    for (let k = 0; k < (at < 0 ? inRoot : counts[at]); k++, i++) {
      node[i] = at < 0 ? tree.count : tree.ends[at];
      requireThat(step[i] < 0xffffffff, `the time of sample ${i} is too late`);
      steps = Math.max(steps, step[i] + 1);
      number[i] = areAllOne ? 1 : samples.count[i];
      // Samples of most events weigh the same, but for ticks of the clock that were skipped.
      amount[i] = events[owners.event[samples.owner[i]]].isWeighted ? samples.weight[i]
                                                                    : number[i] + samples.skipped[i];
      if (owners.side?.[samples.owner[i]] === kBefore)
        amount[i] *= scaleBefore;
    }
  }
  return {count, node, step, amount, number, owner: samples.owner, steps};
}

// Some fifty bytes each in memory; a day of 64 busy CPUs at 19 Hz has 105 million before equal ones are
// put together.
const kMaxSamples = 1 << 26;

// Makes the profile of a message Page, as readPage() gives it.
function makeProfile(page) {
  const texts = page.texts;
  const textsOf = (table) =>
    Object.fromEntries(kTextColumns[table].split(" ").map((name) => [name, texts.length]));
  for (const module of page.modules)
    requireThat(module.path < texts.length, "a module has no path");
  const functions = checkedTable(page.functions, "functions", textsOf("functions"));
  const frames = checkedTable(page.frames, "frames", {
    ...textsOf("frames"), function: functions.size + 1, module: page.modules.length + 1,
    source: kSources.length, unnamed: kUnnamedWords.length,
  });
  if (page.events.length === 0)
    page.events = [{...emptyEvent}];
  for (const event of page.events)
    event.isWeighted ||= event.unitNs === 0 && event.period === 0;
  const owners = checkedTable(page.owners, "owners", {
    ...textsOf("owners"), event: page.events.length,
    labelSet: page.labelSets.length + 1, recording: Math.max(1, page.recordings.length),
  }, 1);
  for (const set of page.labelSets)
    checkedTable(set, "labels", textsOf("labelSets"));
  const {up, added, samples: counts} = checkedTable({up: page.tree.up, added: page.tree.added,
    samples: page.tree.samples}, "tree", {});
  const tree = readTree({up, added, next: page.tree.next, first: page.tree.first}, frames.size);
  const sampleCount = counts.reduce((a, b) => a + b, page.tree.rootSamples);
  requireThat(sampleCount <= kMaxSamples, "it counts too many samples");
  const columns = checkedTable(page.samples, "samples", {owner: owners.size}, sampleCount);
  const scaleBefore = page.origin.scaleBefore / 1e9, isCompared = scaleBefore > 0;
  if (isCompared) {
    requireThat(page.sides.length === 2, "it does not compare two sides");
    owners.side = owners.recording.map((each) => each < page.sides[0].recordings ? kBefore : 1);
    columns.step.fill(0);  // the same second of two runs is not the same work
  }
  return {
    origin: page.origin, events: page.events, recordings: page.recordings, notes: page.notes,
    sides: page.sides, sources: new Map(page.sources.map(({file, text}) => [texts[file], text])),
    texts, modules: page.modules, functions, frames, owners, labelSets: page.labelSets,
    tree, stepNs: page.origin.timeStepNs, isCompared,
    samples: readSamples(columns, page.tree.rootSamples, counts, tree, owners, page.events,
      isCompared ? scaleBefore : 1),
  };
}

// Names of the events of a dump of goroutines and of waits, as in recording.h.
const kGoroutineEvent = "goroutine", kOffCpuEvent = "off-cpu";

// For a page without events: samples that are counted.
const emptyEvent = {...emptyMessage(kEvent), unitEvents: 1};

// ---- Frames

function moduleText(profile, module) {
  if (module === 0)
    return "[no mapping]";
  const {kind, path} = profile.modules[module - 1];
  if (kind === kKernelModule)
    return "[kernel]";
  if (kind === kVdsoModule)
    return "[vdso]";
  if (kind === kMemoryModule)
    return "[anonymous]";
  return baseName(profile.texts[path]) || "[unidentified]";
}

// The text of unnamed_group(): all code of a module without a name for one reason is one.
function unnamedText(profile, frame) {
  const {frames, texts} = profile;
  const reason = frames.unnamed[frame], module = frames.module[frame];
  if (reason === kLeftOut)
    return `… ${frames.leftOut[frame]} frames …`;
  if (frames.text[frame])
    return texts[frames.text[frame]];
  const isFile = module > 0 && profile.modules[module - 1].kind === 0;
  const isAboutFile = kReasonsOfFile.includes(reason) && isFile;
  if (module > 0 && profile.modules[module - 1].kind === kKernelModule)
    return "[kernel]";
  return `[${kUnnamedWords[reason]}${isAboutFile ? " " + moduleText(profile, module) : ""}]`;
}

// The module of a frame; a goroutine that C code entered ran in a module that is not known.
function moduleOfFrame(profile, frame) {
  const {frames} = profile;
  return frames.unnamed[frame] === kCallFromC ? unnamedText(profile, frame)
    : moduleText(profile, frames.module[frame]);
}

// The rule of is_runtime_package() of own_code.h.
const isRuntimePackage = (path) => /^(runtime(\/|$)|internal\/runtime\/)/.test(path);

// Kinds of frames by the language they are written in, for colours.
// kindOf() has their indexes, and kKindColours their colours.
const kKinds = ["own Go code", "Go standard library", "Go runtime", "C, C++, Rust, other", "kernel",
  "made at run time", "no name"];
function kindOf(profile, frame) {
  const {frames, functions, texts, modules} = profile;
  const module = frames.module[frame];
  const source = frames.source[frame], named = frames.function[frame] !== 0;
  // Frames from `known` on are those of ofOwnCode(), which stand for stacks without own code; other profiles have none.
  if (frame >= (frames.known ?? frame + 1))
    return 6;
  if (module > 0 && modules[module - 1].kind === kKernelModule)
    return 4;
  if (!named || source === kCallFrames)
    return 6;
  if (source === kPerfMap)
    return 5;
  const id = frames.function[frame] - 1;
  const name = texts[functions.name[id]], path = texts[functions.package[id]];
  const isGo = kGoSources.includes(source) || texts[functions.file[id]].endsWith(".go");
  if (!isGo)
    return 3;
  if (isRuntimePackage(path) || name.startsWith("runtime."))
    return 2;
  // By the rule of the go command: only a path whose first element has a dot is not of the library.
  return path !== "" && path !== "main" && !path.split("/")[0].includes(".") ? 1 : 0;
}

// The keys that boxes are told apart by. All but the first two put neighbours of the same key together.
const kDimensions = {
  function: "function", line: "line", file: "file", module: "module", package: "package",
  category: "category",
};

// Tells a function from others of its name in its module, as home_of() of frame_keys.cpp does.
function homeOf({frames, functions, texts}, frame) {
  const id = frames.function[frame] - 1;
  if (id < 0 || kGoSources.includes(frames.source[frame]))
    return "";
  const line = functions.startLine[id], declared = baseName(texts[functions.declared[id]]);
  if (declared || line > 0)
    return `${declared}:${line}`;
  return frames.source[frame] === kGiven ? texts[functions.file[id]] : "";
}

// The text of a frame's key, and what else tells it from others.
function frameKey(profile, frame, dimension) {
  const {frames, functions, texts} = profile;
  const module = frames.module[frame], id = frames.function[frame] - 1;
  const isNamed = id >= 0 && frames.source[frame] !== kCallFrames;
  if (dimension === "category")
    return [texts[frames.category[frame]] || moduleOfFrame(profile, frame), ""];
  if (dimension === "module")
    return [moduleOfFrame(profile, frame), ""];
  if (dimension === "package")
    return [(isNamed && texts[functions.package[id]]) || moduleOfFrame(profile, frame), ""];
  if (dimension === "file" && isNamed)
    return [texts[functions.file[id]] || `[no file: ${moduleOfFrame(profile, frame)}]`, ""];
  if (dimension === "file" || id < 0)
    return [unnamedText(profile, frame), ""];
  const name = texts[functions.name[id]], line = frames.line[frame];
  // Two builds of a program are two files.
  const place = profile.isCompared ? "" : `${module}`;
  if (dimension === "line" && line > 0)
    return [`${name} ${baseName(texts[functions.file[id]])}:${line}`,
      `${place} ${line} ${functions.file[id]}`];
  return [name, `${place} ${homeOf(profile, frame)}`];
}

// Names of keys where others have the same text: `links` in addresses, by which a key is found
// again, and `labels` for people. Of a text that no other key has both are that.
function nameKeys(profile, keys) {
  const {frames, functions, modules, texts} = profile;
  // One after the other, as far as texts are the same: by the module, by the source, and at last by the number, which
  // another page may give to another key.
  const more = [
    (key) => texts[modules[frames.module[keys.frame[key]] - 1]?.path ?? 0],
    (key) => {
      const id = frames.function[keys.frame[key]] - 1;
      const file = id < 0 ? "" : texts[functions.declared[id]] || texts[functions.file[id]];
      return file && `${file}${functions.startLine[id] > 0 ? `:${functions.startLine[id]}` : ""}`;
    },
    (key) => `#${key}`,
  ];
  keys.links = [...keys.text];
  keys.labels = [...keys.text];
  let same = groupsOf(keys.links, keys.text.keys());
  for (const tell of more) {
    for (const group of same) {
      const told = group.map(tell);
      if (told.every((text) => text === told[0]))
        continue;
      group.forEach((key, i) => {
        const isFirst = keys.labels[key] === keys.text[key];
        keys.links[key] += `\n${told[i]}`;
        keys.labels[key] = `${isFirst ? `${keys.text[key]} (` : `${keys.labels[key].slice(0, -1)}, `}` +
          `${baseName(told[i])})`;
      });
    }
    same = same.flatMap((group) => groupsOf(keys.links, group));
  }
  keys.byLink = new Map(keys.links.map((link, key) => [link, key]));
}

// Lists of those that have the same text, where there are several.
function groupsOf(texts, of) {
  const groups = new Map();
  for (const each of of) {
    const group = groups.get(texts[each]);
    if (group)
      group.push(each);
    else
      groups.set(texts[each], [each]);
  }
  return [...groups.values()].filter((group) => group.length > 1);
}

// The key that a link is of. A text alone, as people write it, is the one of them that has most. -1: none.
function keyOfLink(keys, link, total) {
  const known = keys.byLink.get(link);
  if (known !== undefined)
    return known;
  return keys.text.reduce((best, text, key) =>
    text === link && (best < 0 || total[key] > total[best]) ? key : best, -1);
}

// Numbers frames by a dimension: `of` has the key of each frame, -1 where it has none.
function makeKeys(profile, dimension) {
  const {frames, modules} = profile;
  const of = new Int32Array(frames.size), known = new Map();
  // Most frames differ from another one by their line only.
  const quick = new Map();
  const isByLine = dimension === "line" || dimension === "category";
  const keys = {of, dimension, text: [], frame: [], isGap: [], isKernel: [], isOther: [], isPart: [],
    merges: dimension !== "function" && dimension !== "line"};
  for (let frame = 0; frame < frames.size; frame++) {
    const isGap = frames.function[frame] === 0 && frames.unnamed[frame] === kLeftOut;
    if (isGap && keys.merges) {
      of[frame] = -1;
      continue;
    }
    const place = (frames.function[frame] * (modules.length + 1) + frames.module[frame]) * kSources.length +
      frames.source[frame];
    const isQuick = !isByLine && frames.function[frame] !== 0;
    if (isQuick && quick.has(place)) {
      of[frame] = quick.get(place);
      continue;
    }
    const [text, more] = frameKey(profile, frame, dimension);
    const identity = `${text}\n${more}`;
    let key = known.get(identity);
    if (key === undefined) {
      known.set(identity, key = keys.text.length);
      const module = frames.module[frame];
      keys.text.push(text || "[no name]");
      keys.frame.push(frame);
      keys.isGap.push(isGap);
      keys.isKernel.push(module > 0 && modules[module - 1].kind === kKernelModule);
      keys.isOther.push(dimension === "category" && frames.categoryKind[frame] === 1);
      keys.isPart.push(dimension === "category" && frames.categoryKind[frame] === 2);
    }
    of[frame] = key;
    if (isQuick)
      quick.set(place, key);
  }
  keys.count = keys.text.length;
  nameKeys(profile, keys);
  return keys;
}

// ---- Whose samples

// Ids are as short as kShortContainerId of container.h has them.
const kContainer = /(?:^|[^0-9a-f])([0-9a-f]{64})(?![0-9a-f])/g;
function containerOf(cgroup) {
  const found = [...cgroup.matchAll(kContainer)];
  return found.length ? found[found.length - 1][1].slice(0, 12) : "";
}

// The name that the process of an owner had in most of its samples. A process of a host is one in all its recordings,
// as in find_processes(); the sides of a comparison are told apart.
function processNames(profile) {
  const {owners, samples, texts, recordings} = profile;
  const processOf = (owner) => [owners.side?.[owner], recordings[owners.recording[owner]]?.host, owners.pid[owner]]
    .join("\n");
  const amounts = new Float64Array(owners.size);
  for (let i = 0; i < samples.count; i++)
    amounts[samples.owner[i]] += samples.amount[i];
  const amountsOf = new Map();  // of each process, by name
  for (let i = 0; i < owners.size; i++) {
    const name = texts[owners.process[i] || owners.comm[i]];
    if (!amountsOf.has(processOf(i)))
      amountsOf.set(processOf(i), new Map());
    const named = amountsOf.get(processOf(i));
    named.set(name, (named.get(name) ?? 0) + amounts[i]);
  }
  const best = new Map();
  for (const [process, named] of amountsOf)
    best.set(process, [...named].reduce((a, b) => b[1] > a[1] ? b : a)[0]);
  return (owner) => best.get(processOf(owner));
}

// By what samples are grouped and filtered: {id, title, of, values}, where `of` has the number of
// each owner's value. Only those that the profile knows anything of.
function ownerDimensions(profile) {
  const {owners, texts, labelSets, recordings} = profile;
  const hosts = new Set(recordings.map((each) => each.host));
  const place = (owner) => hosts.size > 1 ? ` @${recordings[owners.recording[owner]].host}` : "";
  const nameOf = processNames(profile);
  const label = (owner, key) => {
    const set = labelSets[owners.labelSet[owner] - 1];
    const values = [];
    for (let i = 0; set && i < set.size; i++)
      if (set.key[i] === key)
        values.push(texts[set.value[i]]);
    return values.join(", ");
  };
  const list = [
    ["process", "Process", (o) => `${nameOf(o)} (${owners.pid[o]})${place(o)}`],
    ["thread", "Thread", (o) => owners.tid[o]
        ? `${texts[owners.comm[o]]} (${owners.tid[o]})${place(o)}` : ""],
    ["comm", "Thread name", (o) => texts[owners.comm[o]]],
    ["container", "Container", (o) => containerOf(texts[owners.cgroup[o]])],
    ["cgroup", "Cgroup", (o) => texts[owners.cgroup[o]]],
    ["state", "State", (o) => texts[owners.state[o]]],
    ["waker", "Woken by", (o) => texts[owners.waker[o]]],
    ["side", "Side", (o) => kSides[owners.side?.[o]]],
    ["recording", "Recording", (o) => recordings[owners.recording[o]]?.name ?? ""],
  ];
  const labelKeys = new Set();
  for (const set of labelSets)
    for (let i = 0; i < set.size; i++)
      labelKeys.add(set.key[i]);
  for (const key of labelKeys)
    list.push([`label:${texts[key]}`, `Label ${texts[key]}`, (o) => label(o, key)]);

  const dimensions = [];
  for (const [id, title, textOf] of list) {
    const values = [], known = new Map(), of = new Int32Array(owners.size);
    for (let owner = 0; owner < owners.size; owner++) {
      const text = textOf(owner) || "(none)";
      if (!known.has(text)) {
        known.set(text, values.length);
        values.push(text);
      }
      of[owner] = known.get(text);
    }
    const isKnown = values.length > 1 || (values.length === 1 && values[0] !== "(none)");
    if (isKnown && !(id === "recording" && values.length < 2))
      dimensions.push({id, title, of, values});
  }
  return dimensions;
}

// ---- Other stacks for the same samples

// Stacks as they are added: a tree of frames.
class StackTree {
  constructor() {
    this.parent = [];
    this.frame = [];
    this.repeats = [];
    this.known = new Map();
  }
  // -1 is the root.
  child(above, frame, repeats = 1) {
    const place = (above + 1) * 4294967296 + frame;
    let node = this.known.get(place);
    if (node === undefined) {
      this.known.set(place, node = this.parent.length);
      this.parent.push(above);
      this.frame.push(frame);
      this.repeats.push(0);
    }
    this.repeats[node] = Math.max(this.repeats[node], repeats);
    return node;
  }
}

// The profile with stacks of `made` instead: `nodeOf` has for each node of its own tree in which of that its samples end,
// -1: in the empty stack. `more` are other frames than it has.
function withStacks(profile, made, nodeOf, more = {}) {
  const count = made.parent.length, next = new Int32Array(count).fill(-1), first = new Int32Array(count + 1).fill(-1);
  for (let i = count - 1; i >= 0; i--) {
    next[i] = first[made.parent[i] + 1];
    first[made.parent[i] + 1] = i;
  }
  // `first` has the first child of a node at node + 1, `next` the next sibling of each, in the order in which they were
  // made. Preorder: down to the first child, or else up to where there is a next sibling; a node that has none ends there.
  const int = () => new Int32Array(count), place = int();
  const tree = {count, parent: int(), frame: int(), end: int(), repeats: int(), ends: null};
  for (let at = 0, i = first[0]; i >= 0; at++) {  // in preorder
    place[i] = at;
    tree.parent[at] = made.parent[i] < 0 ? -1 : place[made.parent[i]];
    tree.frame[at] = made.frame[i];
    tree.repeats[at] = made.repeats[i];
    if (first[i + 1] >= 0) {
      i = first[i + 1];
      continue;
    }
    for (; i >= 0 && next[i] < 0; i = made.parent[i])
      tree.end[place[i]] = at + 1;
    if (i >= 0) {
      tree.end[place[i]] = at + 1;
      i = next[i];
    }
  }
  const node = profile.samples.node.map((each) => each === profile.tree.count || nodeOf[each] < 0 ? count
                                                                                  : place[nodeOf[each]]);
  return {...profile, ...more, tree, samples: {...profile.samples, node}};
}

// Keeps the frames of own code in stacks, as select() does with --mine. A stack without any becomes one frame, which
// tells the category of what ran; `categories` are the keys and the tree of that.
function ofOwnCode(profile, categories, {tree: paths, ends}) {
  const {tree: {count, parent, frame}, frames, functions, texts, samples} = profile;
  const made = new StackTree(), nodeOf = new Int32Array(count).fill(-1);
  for (let i = 0; i < count; i++) {
    const above = parent[i] < 0 ? -1 : nodeOf[parent[i]];
    nodeOf[i] = frames.isOwn[frame[i]] ? made.child(above, frame[i]) : above;
  }
  const names = [], known = new Map();
  for (const node of samples.node) {
    if (node === count || nodeOf[node] >= 0)
      continue;
    const category = paths.key[ends[node]];
    if (!known.has(category)) {
      known.set(category, names.length);
      names.push(`[not in own code: ${categories.text[category] ?? "not known"}]`);
    }
    nodeOf[node] = made.child(-1, frames.size + known.get(category));
  }
  // A row for each in the tables of what frames are made of.
  const longer = (table, rows) => Object.fromEntries(Object.entries(table).map(([name, column]) => {
    if (!ArrayBuffer.isView(column))
      return [name, column];
    const all = new column.constructor(table.size + names.length);
    all.set(column);
    names.forEach((_, i) => all[table.size + i] = rows[name]?.(i) ?? 0);
    return [name, all];
  }));
  const more = {texts: [...texts, ...names],
    functions: {...longer(functions, {name: (i) => texts.length + i}), size: functions.size + names.length},
    frames: {...longer(frames, {function: (i) => functions.size + i + 1, source: () => kGiven}), known: frames.size,
      size: frames.size + names.length}};
  return withStacks(profile, made, nodeOf, more);
}

// Longest run of functions whose repetition is folded, as in recursion.h.
const kMostFolded = 16;

// Takes out of a path [{key, times, frame}] the steps that repeat the `length` before them.
function foldRepeats(path, length) {
  let kept = 0;
  for (let at = 0; at < path.length;) {
    let same = kept >= length && at + length <= path.length ? 0 : -1;
    while (same >= 0 && same < length)
      same = path[kept - length + same].key === path[at + same].key ? same + 1 : -1;
    if (same < 0) {
      path[kept++] = path[at++];
      continue;
    }
    for (let i = kept - length; i < kept; i++, at++)
      path[i] = {key: path[i].key, times: path[i].times + path[at].times, frame: path[at].frame};
  }
  path.length = kept;
}

function withoutRepeats(profile, keys) {
  const {tree: {count, parent, frame}, samples} = profile;
  const made = new StackTree(), nodeOf = new Int32Array(count).fill(-1), isDone = new Uint8Array(count + 1);
  for (const node of samples.node) {
    if (node === count || isDone[node])
      continue;
    isDone[node] = 1;
    const path = [];
    for (let i = node; i >= 0; i = parent[i])
      path.push({key: keys.of[frame[i]], times: 1, frame: frame[i]});
    path.reverse();
    if (new Set(path.map(({key}) => key)).size < path.length)
      for (let length = 1; length <= kMostFolded && 2 * length <= path.length; length++)
        foldRepeats(path, length);
    nodeOf[node] = path.reduce((above, step) => made.child(above, step.frame, step.times), -1);
  }
  return withStacks(profile, made, nodeOf);
}

// ---- Call trees: structures that no selection changes

// Paths of keys. Parents have smaller numbers than their children; node 0 is the root.
class PathTree {
  constructor(capacity) {
    this.count = 1;
    this.key = new Int32Array(Math.max(16, capacity)).fill(-1, 0, 1);
    this.parent = new Int32Array(this.key.length).fill(-1, 0, 1);
    this.isPlain = new Uint8Array(this.key.length);  // not only inlined calls
    this.repeats = new Uint32Array(this.key.length);  // that it stands for at most, where recursions are folded
    // A hash table, at most half full, with open addressing: 0, the root, which is no child, stands for a free slot.
    this.slots = new Int32Array(1 << Math.ceil(Math.log2(this.key.length * 2)));
  }

  slotOf(parent, key) {
    const mask = this.slots.length - 1;
    let hash = Math.imul(parent, 0x9e3779b1) ^ Math.imul(key + 1, 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
    let slot = (hash ^ (hash >>> 13)) & mask;
    for (let node; (node = this.slots[slot]) !== 0; slot = (slot + 1) & mask)
      if (this.parent[node] === parent && this.key[node] === key)
        break;
    return slot;
  }

  grow() {
    const length = this.key.length * 2;
    for (const name of ["key", "parent", "isPlain", "repeats"]) {
      const larger = new this[name].constructor(length);
      larger.set(this[name]);
      this[name] = larger;
    }
    this.slots = new Int32Array(this.slots.length * 2);
    for (let node = 1; node < this.count; node++)
      this.slots[this.slotOf(this.parent[node], this.key[node])] = node;
  }

  // A node is what one of another tree is, too.
  mark(node, {isPlain, repeats}, other) {
    this.isPlain[node] |= isPlain[other];
    this.repeats[node] = Math.max(this.repeats[node], repeats[other]);
  }

  child(parent, key) {
    let slot = this.slotOf(parent, key);
    if (this.slots[slot] !== 0)
      return this.slots[slot];
    if (this.count === this.key.length) {
      this.grow();
      slot = this.slotOf(parent, key);
    }
    const node = this.count++;
    this.slots[slot] = node;
    this.key[node] = key;
    this.parent[node] = parent;
    return node;
  }
}

// From the root: `of` has the node of each node of the profile's tree, `ends` where its samples are
// counted: a small function of the kernel or of Go's runtime is of the category that called it.
function treeFromRoot(profile, keys) {
  const {count, parent, frame, repeats} = profile.tree;
  const tree = new PathTree(count + 1), of = new Int32Array(count);
  const ends = new Int32Array(count + 1);  // of the root as well, which is 0
  for (let i = 0; i < count; i++) {
    const above = parent[i] < 0 ? 0 : of[parent[i]], key = keys.of[frame[i]];
    const isSame = key < 0 || (keys.merges && above > 0 && tree.key[above] === key);
    const node = of[i] = isSame ? above : tree.child(above, key);
    if (!profile.frames.isInlined[frame[i]])
      tree.isPlain[node] = 1;
    if (repeats && !keys.merges)
      tree.repeats[node] = Math.max(tree.repeats[node], repeats[i]);
    ends[i] = endOf(tree, keys, node);
  }
  return {tree, of, ends};
}

// The node that samples which end in `node` are counted for, as FrameKeys::append() of frame_keys.cpp has it.
function endOf(tree, keys, node) {
  if (node === 0 || !keys.isOther[tree.key[node]])
    return node;
  let caller = node;
  while (caller > 0 && keys.isOther[tree.key[caller]])
    caller = tree.parent[caller];
  if (caller === 0)
    return node;
  const key = tree.key[caller];
  // The kernel works for a program: what called it tells nothing of how.
  return !keys.isPart[key] && keys.isKernel[key] === keys.isKernel[tree.key[node]] ? caller : node;
}

// Most steps of paths that an inverted tree may take: 100 bytes each.
const kMaxSteps = 3e6;

// From the leaf: who calls. `cut` is the depth at which paths end, if not all fit.
function treeFromLeaf(root, bases) {
  const {tree} = root;
  const depth = new Int32Array(tree.count);
  for (let i = 1; i < tree.count; i++)
    depth[i] = depth[tree.parent[i]] + 1;
  let all = 0, cut = 0;
  for (const [node] of bases)
    all += depth[node];
  // 65536 stands for no limit. Halved until all paths fit; 8 calls are shown even if these do not.
  for (cut = 65536; all > kMaxSteps && cut > 8;) {
    cut /= 2;
    all = 0;
    for (const [node] of bases)
      all += Math.min(depth[node], cut);
  }
  const inverted = new PathTree(Math.min(all, tree.count) + 1);
  const ends = bases.map(([node, base]) => {
    let at = base < 0 ? 0 : inverted.child(0, base);
    inverted.isPlain[at] = 1;
    for (let i = node, steps = 0; i > 0 && steps < cut; i = tree.parent[i], steps++) {
      at = inverted.child(at, tree.key[i]);
      inverted.mark(at, tree, i);
    }
    return at;
  });
  return {tree: inverted, ends, cut: cut === 65536 ? 0 : cut};
}

// The tree of a view: {tree, ends, cut}, `ends` by sample. Groups stand above the stacks, with keys
// behind those of frames.
function makeStructure(profile, keys, root, isInverted, group) {
  const {samples} = profile;
  const ends = new Int32Array(samples.count);
  if (!isInverted && !group) {
    for (let i = 0; i < samples.count; i++)
      ends[i] = root.ends[samples.node[i]];
    return {tree: root.tree, ends, cut: 0};
  }
  // Each pair of a group and a place where samples end, once.
  const pairs = new Map(), bases = [];
  const pairOf = new Int32Array(samples.count);
  for (let i = 0; i < samples.count; i++) {
    const node = root.ends[samples.node[i]];
    const base = group ? keys.count + group.of[samples.owner[i]] : -1;
    const pair = (base + 1) * root.tree.count + node;
    let known = pairs.get(pair);
    if (known === undefined) {
      pairs.set(pair, known = bases.length);
      bases.push([node, base]);
    }
    pairOf[i] = known;
  }
  const made = isInverted ? treeFromLeaf(root, bases) : treeOfGroups(root, bases);
  for (let i = 0; i < samples.count; i++)
    ends[i] = made.ends[pairOf[i]];
  return {tree: made.tree, ends, cut: made.cut};
}

function treeOfGroups(root, bases) {
  const {tree} = root, grouped = new PathTree(tree.count + 16);
  const ends = bases.map(([node, base]) => {
    const path = [];
    for (let i = node; i > 0; i = tree.parent[i])
      path.push(i);
    let at = grouped.child(0, base);
    grouped.isPlain[at] = 1;
    while (path.length) {
      const step = path.pop();
      at = grouped.child(at, tree.key[step]);
      grouped.mark(at, tree, step);
    }
    return at;
  });
  return {tree: grouped, ends, cut: 0};
}

// ---- Amounts of a selection

// {event, owners: Uint8Array or null, stacks: Uint8Array or null, begin, end}: steps [begin, end).
// The amount of each sample, 0 for those that are not selected.
function selectAmounts(profile, {event, owners, stacks, begin, end}) {
  const {samples, owners: {event: eventOf}} = profile;
  const result = new Float64Array(samples.count);
  for (let i = 0; i < samples.count; i++) {
    const owner = samples.owner[i], step = samples.step[i];
    if (eventOf[owner] === event && step >= begin && step < end &&
        (!owners || owners[owner]) && (!stacks || stacks[samples.node[i]]))
      result[i] = samples.amount[i];
  }
  return result;
}

// Owners that have one of the values in each dimension: filters are {id: [text, ...]}. null: all.
function selectOwners(profile, dimensions, filters) {
  let result = null;
  for (const {id, of, values} of dimensions) {
    const wanted = filters[id];
    if (!wanted || wanted.length === 0)
      continue;
    result ??= new Uint8Array(profile.owners.size).fill(1);
    const isWanted = values.map((value) => wanted.includes(value));
    for (let owner = 0; owner < of.length; owner++)
      result[owner] &= isWanted[of[owner]] ? 1 : 0;
  }
  return result;
}

// 1 for each text that matches; none does without a pattern.
function matchesOf(texts, pattern) {
  const result = new Uint8Array(texts.length);
  for (let i = 0; pattern && i < texts.length; i++)
    result[i] = pattern.test(texts[i]) ? 1 : 0;
  return result;
}

// Nodes of the profile's tree whose stack has a frame of each of `onlys` and of none of `withouts`:
// lists that have 1 for each function that is meant. null: all.
// Without empty stacks if it is told so.
function selectStacks(profile, functionKeys, onlys, withouts, withoutEmpty = false) {
  if (onlys.length + withouts.length === 0 && !(withoutEmpty && profile.samples.node.includes(profile.tree.count)))
    return null;
  const {count, parent, frame} = profile.tree;
  // A bit for each filter: there are four at the most (kStackFilters). Those of `onlys` are the low ones, so that `wanted`
  // has all of them and none of the others.
  const bits = new Uint8Array(functionKeys.count), wanted = (1 << onlys.length) - 1;
  [...onlys, ...withouts].forEach((isMeant, i) => {
    for (let key = 0; key < bits.length; key++)
      bits[key] |= isMeant[key] << i;
  });
  const state = new Uint8Array(count), result = new Uint8Array(count + 1);
  result[count] = wanted === 0 && !withoutEmpty ? 1 : 0;
  for (let i = 0; i < count; i++) {
    state[i] = bits[functionKeys.of[frame[i]]] | (parent[i] < 0 ? 0 : state[parent[i]]);
    result[i] = state[i] === wanted ? 1 : 0;
  }
  return result;
}

// The smallest first; of equal ones the last. Most lists are short, where sort() takes longer.
function sortByTotal(nodes, total) {
  if (nodes.length > 16) {
    nodes.sort((a, b) => total[a] - total[b] || b - a);
    return;
  }
  for (let i = 1; i < nodes.length; i++) {
    const node = nodes[i];
    let to = i;
    for (; to > 0 && (total[nodes[to - 1]] - total[node] || node - nodes[to - 1]) > 0; to--)
      nodes[to] = nodes[to - 1];
    nodes[to] = node;
  }
}

// Lists of children that have samples, by node: the first, and the next of each. 0 is none.
function linkChildren(tree, total) {
  const first = new Int32Array(tree.count), next = new Int32Array(tree.count);
  let count = 1;
  for (let i = tree.count - 1; i > 0; i--) {
    if (total[i] <= 0)
      continue;
    count++;
    next[i] = first[tree.parent[i]];
    first[tree.parent[i]] = i;
  }
  return {first, next, count};
}

// A tree with amounts, laid out: nodes in preorder, the largest sibling first; node 0 is the root.
// Box i covers [start[i], start[i] + total[i]); its subtree is [i, end[i]).
function layOut(tree, self) {
  const total = sumsOf(tree, self), {first, next, count} = linkChildren(tree, total);
  const int = () => new Int32Array(count), float = () => new Float64Array(count);
  const node = int(), key = int(), parent = int(), depth = int(), end = int();
  const width = float(), own = float(), start = float(), cursor = float();
  const placeOf = new Int32Array(tree.count).fill(-1);
  const stack = new Int32Array(count);  // nodes; the parent of each has its place
  let maxDepth = 0, waiting = 1;
  for (let at = 0; waiting > 0; at++) {
    const id = stack[--waiting], above = at > 0 ? placeOf[tree.parent[id]] : -1;
    placeOf[id] = at;
    node[at] = id;
    key[at] = tree.key[id];
    parent[at] = above;
    width[at] = total[id];
    own[at] = self[id];
    if (at > 0) {
      depth[at] = depth[above] + 1;
      maxDepth = Math.max(maxDepth, depth[at]);
      start[at] = cursor[above];
      cursor[above] += total[id];
    }
    cursor[at] = start[at];
    const begin = waiting;
    for (let child = first[id]; child; child = next[child])
      stack[waiting++] = child;
    // The largest is taken first, from the end.
    if (waiting - begin > 1)
      sortByTotal(stack.subarray(begin, waiting), total);
  }
  for (let i = count - 1; i >= 0; i--) {
    end[i] = Math.max(end[i], i + 1);
    if (i > 0 && end[i] > end[parent[i]])
      end[parent[i]] = end[i];
  }
  return {count, node, key, parent, depth, end, total: width, self: own, start, maxDepth, placeOf};
}

// Samples of `isOf` owners in order of time, as layOut() lays out a tree: boxes are calls, from the step in which they
// were first seen to where they were no more; node 0 is all steps of [begin, end). A sample is as wide as the time that
// it stands for, `stepsPerAmount`, as far as the next one leaves it that; of one step, whose order is not known, those
// that are most alike stand beside each other.
function layOutTime(profile, {tree, ends}, amounts, isOf, {begin, end, stepsPerAmount}) {
  const {samples} = profile, chosen = [];
  for (let i = 0; i < samples.count; i++)
    if (amounts[i] > 0 && isOf[samples.owner[i]])
      chosen.push(i);
  chosen.sort((a, b) => samples.step[a] - samples.step[b] || samples.node[a] - samples.node[b] || a - b);
  const [node, key, parent, depth, start, finish] = [[0], [-1], [-1], [0], [begin], [end]], last = [1], own = [0];
  let open = [0], maxDepth = 0, until = -1, busy = 0;
  const close = (count) => {
    for (const place of open.splice(count)) {
      finish[place] = until;
      last[place] = node.length;
    }
  };
  for (let i = 0; i < chosen.length;) {
    const step = samples.step[chosen[i]];
    let behind = i, sum = 0;
    for (; behind < chosen.length && samples.step[chosen[behind]] === step; behind++)
      sum += amounts[chosen[behind]];
    const next = behind < chosen.length ? samples.step[chosen[behind]] : end;
    // At least a step: when it ran within that is not known, and it is drawn whole.
    const wide = Math.max(1, sum * stepsPerAmount);
    // A clock ticks with gaps of up to half a sample: such a gap is closed.
    const reach = Math.max(1, next - step - wide < Math.max(1, wide / 2) ? next - step : wide);
    let from = Math.max(step, begin);
    for (; i < behind; i++) {
      const path = [];
      for (let at = ends[samples.node[chosen[i]]]; at > 0; at = tree.parent[at])
        path.unshift(at);
      let same = 1;
      // Calls go on only where the sample before ends in this very moment; sums of widths are rounded.
      while (Math.abs(from - until) < 1e-6 && same < open.length && same <= path.length && node[open[same]] === path[same - 1])
        same++;
      close(same);
      for (const at of path.slice(same - 1)) {
        parent.push(open.at(-1));
        open.push(node.length);
        depth.push(open.length - 1);
        node.push(at);
        key.push(tree.key[at]);
        start.push(from);
        finish.push(0);
        last.push(0);
        own.push(0);
      }
      maxDepth = Math.max(maxDepth, open.length - 1);
      until = Math.min(end, from + reach * amounts[chosen[i]] / sum);
      own[open.at(-1)] += until - from;
      busy += amounts[chosen[i]];
      from = until;
    }
  }
  close(1);
  last[0] = node.length;
  const total = Float64Array.from(finish, (each, place) => each - start[place]);
  return {count: node.length, node: Int32Array.from(node), key: Int32Array.from(key), parent: Int32Array.from(parent),
    depth: Int32Array.from(depth), end: Int32Array.from(last), total, self: Float64Array.from(own),
    start: Float64Array.from(start), maxDepth, placeOf: new Int32Array(0), busy};
}

// ---- What changed, where two sides are compared

// The amounts after, out of amounts before + after.
function amountsAfter({samples, owners}, amounts) {
  return amounts.map((amount, i) => owners.side[samples.owner[i]] === kBefore ? 0 : amount);
}

// The variance of before - after for each unit of before + after, if nothing has changed and samples are
// drawn at random: the mean of what a sample of either side stands for, larger ones counting more.
function varianceOf({samples, owners}, amounts) {
  const sums = [0, 0], squares = [0, 0];
  for (let i = 0; i < amounts.length; i++) {
    const side = owners.side[samples.owner[i]];
    sums[side] += amounts[i];
    squares[side] += amounts[i] ** 2 / Math.max(1, samples.number[i]);
  }
  return (squares[0] / (sums[0] || 1) + squares[1] / (sums[1] || 1)) / 2;
}

// The change as a part of before + after: from -1 (gone) to 1 (new). 0 if it is no more than two standard deviations.
function changeOf(after, both, variance) {
  const change = 2 * after - both;
  return Math.abs(change) > 2 * Math.sqrt(both * variance) ? change / both : 0;
}

// ---- Sums

// The amount of each node with all below it.
function sumsOf(tree, self) {
  const total = new Float64Array(self);
  for (let i = tree.count - 1; i > 0; i--)
    total[tree.parent[i]] += total[i];
  return total;
}

function selfOf(structure, amounts) {
  const self = new Float64Array(structure.tree.count);
  for (let i = 0; i < amounts.length; i++)
    self[structure.ends[i]] += amounts[i];
  return self;
}

// For each node of the tree the node that the waits which end there belong to, as WaitFrames of
// rewrite_stacks.h has it.
function waitNodes({frames, functions, modules, texts, tree: {count, parent, frame}}) {
  const isKernel = (of) => {
    const module = frames.module[of];
    return (module > 0 && modules[module - 1].kind === kKernelModule) ||
      (frames.function[of] === 0 && frames.unnamed[of] === kLeftOut);
  };
  const isOfRuntime = (of) => {
    const id = frames.function[of] - 1;
    if (id < 0 || !kGoSources.includes(frames.source[of]))
      return false;
    const name = texts[functions.name[id]], path = texts[functions.package[id]];
    if (isRuntimePackage(path))
      return true;
    return path !== "" && name.startsWith(path) && (name.startsWith(".runtime_", path.length) ||
      (path === "syscall" && /^\.([Rr]aw)?(Syscall|Vfork)/.test(name.slice(path.length))));
  };
  const waits = new Int32Array(count), other = new Int32Array(count), user = new Int32Array(count);
  for (let i = 0; i < count; i++) {
    const above = (nodes) => parent[i] >= 0 ? nodes[parent[i]] : -1;
    user[i] = isKernel(frame[i]) ? above(user) : i;
    other[i] = user[i] === i && !isOfRuntime(frame[i]) ? i : above(other);
    waits[i] = other[i] >= 0 ? other[i] : user[i] >= 0 ? user[i] : i;
  }
  return waits;
}

// Amounts of each key, in itself and with what it calls; a recursion counts once. And of each
// frame, for the line that has the most. `waits` are nodes, as waitNodes() has them, that samples
// belong to instead of those where they end; null: there are none.
function keyTotals(profile, keys, root, amounts, waits = null) {
  const {tree: {count, parent, frame, end}, samples} = profile;
  const rawTotal = new Float64Array(count);
  const self = new Float64Array(keys.count), total = new Float64Array(keys.count);
  const frameSelf = new Float64Array(profile.frames.size);
  const frameTotal = new Float64Array(profile.frames.size);
  let all = 0, number = 0;
  for (let i = 0; i < samples.count; i++) {
    if (amounts[i] === 0)
      continue;
    const node = samples.node[i], at = waits && node < count ? waits[node] : node;
    const key = waits && node < count ? keys.of[frame[at]] : root.tree.key[root.ends[node]];
    all += amounts[i];
    number += samples.number[i];
    if (node === count)
      continue;
    rawTotal[node] += amounts[i];
    frameSelf[frame[at]] += amounts[i];
    if (key >= 0)
      self[key] += amounts[i];
  }
  for (let i = count - 1; i >= 0; i--) {
    frameTotal[frame[i]] += rawTotal[i];
    if (parent[i] >= 0)
      rawTotal[parent[i]] += rawTotal[i];
  }
  // Nodes are in preorder: up to activeUntil of a key they are inside of one of that key, which has counted them already.
  const activeUntil = new Int32Array(keys.count);
  for (let i = 0; i < count; i++) {
    const key = keys.of[frame[i]];
    if (rawTotal[i] === 0) {
      i = end[i] - 1;
    } else if (key >= 0 && i >= activeUntil[key]) {
      total[key] += rawTotal[i];
      activeUntil[key] = end[i];
    }
  }
  return {all, number, self, total, frameSelf, frameTotal};
}

// The key that most waits of a key ended in; -1: nothing else.
function waitedIn({samples, tree: {count, frame}}, keys, amounts, waits, key) {
  const sums = new Map();
  for (let i = 0; i < samples.count; i++) {
    const node = samples.node[i];
    if (amounts[i] === 0 || node === count || keys.of[frame[waits[node]]] !== key)
      continue;
    const last = keys.of[frame[node]];
    if (last !== key && last >= 0)
      sums.set(last, (sums.get(last) ?? 0) + amounts[i]);
  }
  return [...sums].reduce((most, each) => each[1] > most[1] ? each : most, [-1, 0])[0];
}

// For each key the frame with the line that has most of its samples, as report has it.
function hottestFrames(profile, keys, {frameSelf, frameTotal}) {
  const {frames} = profile;
  const lines = new Map(), best = new Int32Array(keys.count).fill(-1);
  for (let frame = 0; frame < frames.size; frame++) {
    const key = keys.of[frame];
    if (key < 0 || frames.function[frame] === 0 || frameTotal[frame] === 0)
      continue;
    // A key has few functions: the low bits of their numbers tell them apart.
    const identity = (key * 4096 + frames.function[frame] % 4096) * 2097152 + frames.line[frame];
    const line = lines.get(identity) ?? {key, frame, self: 0, total: 0};
    line.self += frameSelf[frame];
    line.total += frameTotal[frame];
    lines.set(identity, line);
  }
  const weights = [];
  for (const line of lines.values()) {
    const most = weights[line.key];
    if (!most || line.self > most.self || (line.self === most.self && line.total > most.total)) {
      weights[line.key] = line;
      best[line.key] = line.frame;
    }
  }
  return best;
}

// The lines of a function that have samples: {path, self, total}, where self and total are by line. Of several files, as
// by #include, the one with the most, of those that `has` says yes of if there are any.
function linesOf({frames, functions, texts}, key, functionKeys, lineKeys, totals, has) {
  const files = new Map();
  lineKeys.frame.forEach((frame, each) => {
    const line = frames.line[frame];
    if (functionKeys.of[frame] !== key || line === 0 || totals.total[each] === 0)
      return;
    const path = texts[functions.file[frames.function[frame] - 1]];
    if (!files.has(path))
      files.set(path, {path, self: new Map(), total: new Map(), sum: 0});
    const file = files.get(path);
    for (const which of ["self", "total"])
      file[which].set(line, (file[which].get(line) ?? 0) + totals[which][each]);
    file.sum += totals.self[each] + totals.total[each];
  });
  return [...files.values()].sort((a, b) => has(b.path) - has(a.path) || b.sum - a.sum)[0] ?? null;
}

// Steps of a path away from a function, as report --callers has it.
const kMaxAround = 64;

// Callers (isInverted) or callees of a key: a laid-out tree whose root stands for the function. A
// sample counts once for each path, however often a recursion takes it. `sumAfter` is what each of its
// nodes has of `after`, as its total is of `self`.
function aroundKey(root, self, key, isInverted, after = self) {
  // A sample is here a node of the tree: all that end in one node are one.
  const {tree} = root, around = new PathTree(64);
  let own = new Float64Array(64), sum = new Float64Array(64), sumAfter = new Float64Array(64);
  let visited = new Int32Array(64).fill(-1), ended = new Int32Array(64).fill(-1);
  const visit = (node, sample) => {
    if (node >= sum.length) {
      const grown = (array, fill) => {
        const larger = new array.constructor(array.length * 2).fill(fill);
        larger.set(array);
        return larger;
      };
      own = grown(own, 0);
      sum = grown(sum, 0);
      sumAfter = grown(sumAfter, 0);
      visited = grown(visited, -1);
      ended = grown(ended, -1);
    }
    if (visited[node] === sample)
      return;
    visited[node] = sample;
    sum[node] += self[sample];
    sumAfter[node] += after[sample];
  };
  // 1 for each node that has the key in its path.
  const has = new Uint8Array(tree.count), path = [];
  for (let i = 1; i < tree.count; i++)
    has[i] = has[tree.parent[i]] | (tree.key[i] === key ? 1 : 0);
  for (let i = 1; i < tree.count; i++) {
    if (!has[i] || self[i] === 0)
      continue;
    path.length = 0;
    for (let step = i; step > 0; step = tree.parent[step])
      path.push(step);
    if (!isInverted)
      path.reverse();
    for (let from = 0; from < path.length; from++) {
      if (tree.key[path[from]] !== key)
        continue;
      let at = 0;
      visit(0, i);
      const last = Math.min(path.length, from + 1 + kMaxAround);
      for (let step = from + 1; step < last; step++) {
        at = around.child(at, tree.key[path[step]]);
        around.mark(at, tree, path[step]);
        visit(at, i);
      }
      if (ended[at] !== i) {
        ended[at] = i;
        own[at] += self[i];
      }
    }
  }
  return {tree: around, layout: layOutCounted(around, own, sum), sumAfter};
}

// layOut() with totals that are given: children may add up to more than their parent has, and are
// drawn narrower then.
function layOutCounted(tree, own, sum) {
  const layout = layOut(tree, own.slice(0, tree.count));
  const width = layout.total.slice();
  for (let i = 0; i < layout.count; i++)
    layout.total[i] = sum[layout.node[i]];
  layout.width = width;
  return layout;
}

// The amount of a tree's samples that go through a key that matches. What is below one that does is not counted again.
function matchedAmount(layout, isMatch) {
  let amount = 0;
  for (let i = 1; i < layout.count;) {
    const matches = layout.key[i] < isMatch.length && isMatch[layout.key[i]];
    amount += matches ? layout.total[i] : 0;
    i = matches ? layout.end[i] : i + 1;
  }
  return amount;
}

// The largest boxes of a layout but its root, of those with a thousandth of it, in order.
function largestBoxes({count, total, end}, most) {
  const found = [];
  for (let i = 1; i < count;) {
    const isLarge = total[i] >= total[0] / 1000;
    if (isLarge)
      found.push(i);
    i = isLarge ? i + 1 : end[i];
  }
  return found.sort((a, b) => total[b] - total[a] || a - b).slice(0, most).sort((a, b) => a - b);
}

// ---- Time

// Amounts by row and column: placeOf(owner, step) is the cell of a sample, row * columns + column; -1: it has none.
function heatCells(profile, amounts, rows, columns, placeOf) {
  const {samples} = profile, cells = new Float64Array(rows * columns);
  let max = 0;
  for (let i = 0; i < amounts.length; i++) {
    if (amounts[i] === 0)
      continue;
    const place = placeOf(samples.owner[i], samples.step[i]);
    if (place >= 0)
      max = Math.max(max, cells[place] += amounts[i]);
  }
  return {cells, rows, columns, max};
}
