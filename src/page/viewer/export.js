// Exports: the samples that are shown, as `gosym report --folded` and `--pprof` write them.

// The text of kIdleThread in rewrite_stacks.h.
const kIdleThread = "idle thread of Go's runtime";

// A frame or a thread: as safe() of folded.cpp has it.
function foldedName(name) {
  const text = name.replaceAll(";", ":");
  return /_\[[kijw]\]$/.test(text) ? `${text.slice(0, -1)}\\x5d` : text;
}

// Lines "thread;outermost;…;innermost amount", sorted.
function foldedText(profile, keys, amounts) {
  const {samples, owners, texts, tree: {count, parent, frame}} = profile;
  const names = keys.text.map((text, key) => foldedName(text) + (keys.isKernel[key] ? "_[k]" : ""));
  const paths = new Array(count + 1).fill("");
  for (let i = 0; i < count; i++)
    paths[i] = `${parent[i] < 0 ? "" : paths[parent[i]]};${names[keys.of[frame[i]]]}`;
  const sums = new Map();
  for (let i = 0; i < samples.count; i++) {
    if (amounts[i] === 0)
      continue;
    const owner = samples.owner[i], comm = foldedName(texts[owners.comm[owner]]) +
      (texts[owners.state[owner]] === kIdleThread ? ` [${kIdleThread}]` : "");
    const line = (comm + paths[samples.node[i]]).replace(/^;/, "");
    sums.set(line, (sums.get(line) ?? 0) + amounts[i]);
  }
  return [...sums].sort(([a], [b]) => a < b ? -1 : 1)
    .map(([line, amount]) => `${line} ${BigInt(Math.round(amount))}\n`).join("");
}

// ---- A profile of pprof: profile.proto

class WireWriter {
  constructor() {
    this.bytes = new Uint8Array(256);
    this.size = 0;
  }
  byte(value) {
    if (this.size === this.bytes.length) {
      const larger = new Uint8Array(2 * this.size);
      larger.set(this.bytes);
      this.bytes = larger;
    }
    this.bytes[this.size++] = value;
  }
  varint(value) {
    for (; value >= 128; value = Math.floor(value / 128))
      this.byte(value % 128 + 128);
    this.byte(value);
  }
  number(field, value) {
    this.varint(field * 8);
    this.varint(value);
  }
  data(field, bytes) {
    this.varint(field * 8 + 2);
    this.varint(bytes.length);
    bytes.forEach((each) => this.byte(each));
  }
  // `fields` are [number of the field, number or list of numbers].
  message(field, fields) {
    const inner = new WireWriter();
    for (const [number, value] of fields)
      if (value instanceof WireWriter)
        inner.data(number, value.done());
      else if (Array.isArray(value))
        inner.packed(number, value);
      else if (value)
        inner.number(number, value);
    this.data(field, inner.done());
  }
  packed(field, values) {
    const inner = new WireWriter();
    values.forEach((each) => inner.varint(each));
    this.data(field, inner.done());
  }
  done() {
    return this.bytes.subarray(0, this.size);
  }
}

class PprofMaker {
  constructor(profile, keys, event) {
    Object.assign(this, {profile, keys, event, out: new WireWriter()});
    this.strings = new Map([["", 0]]);
    this.locations = new Map();  // by the outer one that a call is inlined into, and its frame
    this.functions = new Map();  // by what they say
    this.lines = [[]];           // of each location, innermost first
    this.modules = [0];
  }

  string(text) {
    if (!this.strings.has(text))
      this.strings.set(text, this.strings.size);
    return this.strings.get(text);
  }

  make(amounts) {
    const {out, profile: {origin, samples}, event} = this;
    const isTime = event.unitNs > 0, unit = event.unitNs || event.unitEvents || 1;
    const type = [[1, this.string(event.amount === "CPU time" ? "cpu" : event.name || "samples")],
      [2, this.string(event.unit || (isTime ? "nanoseconds" : "count"))]];
    const hasCounts = !origin.lacksCounts && event.name !== "samples";
    if (hasCounts)
      out.message(1, [[1, this.string("samples")], [2, this.string("count")]]);
    out.message(1, type);
    out.message(11, type);
    // The period of a tick; amounts that are weighed have a unit of 1, and no period.
    if (unit > 1)
      out.number(12, unit);
    out.number(14, type[0][1]);
    out.number(9, origin.startRealtimeNs);
    out.number(10, origin.durationNs);
    const stacks = this.stacks();
    for (let i = 0; i < samples.count; i++)
      if (amounts[i] > 0)
        this.sample(stacks[samples.node[i]] ?? [], samples.owner[i],
          [...hasCounts ? [samples.number[i]] : [], Math.round(amounts[i] * unit)]);
    this.tables();
    return out.done();
  }

  // Locations of each node's stack, innermost first. A call that is inlined is one location with those above that it is
  // inlined into, as step_to() of page_reader.cpp has it. Location 0 is none.
  stacks() {
    const {profile: {tree: {count, parent, frame}, frames}} = this, stacks = [];
    for (let i = 0; i < count; i++) {
      const above = stacks[parent[i]] ?? [];
      const isPart = frames.isInlined[frame[i]] && frames.function[frame[i]] > 0 && above.length > 0 &&
        this.lines[above[0]].isNamed;
      stacks.push([this.location(frame[i], isPart ? above[0] : 0), ...isPart ? above.slice(1) : above]);
    }
    return stacks;
  }

  location(frame, outer) {
    const {profile: {frames}, locations} = this, place = outer * frames.size + frame;
    if (!locations.has(place)) {
      locations.set(place, this.lines.length);
      const lines = [[this.functionOf(frame), frames.line[frame]], ...this.lines[outer]];
      lines.isNamed = frames.function[frame] > 0;
      this.lines.push(lines);
      this.modules.push(outer ? this.modules[outer] : frames.module[frame]);
    }
    return locations.get(place);
  }

  functionOf(frame) {
    const {profile: {frames, functions, texts}, keys} = this, id = frames.function[frame] - 1;
    const name = id < 0 ? keys.text[keys.of[frame]] : texts[functions.name[id]];
    const row = [name, (id >= 0 && texts[functions.systemName[id]]) || name,
      id < 0 ? "" : texts[functions.file[id]], id < 0 ? 0 : functions.startLine[id]];
    const known = row.join("\n");
    if (!this.functions.has(known))
      this.functions.set(known, [this.functions.size + 1, row]);
    return this.functions.get(known)[0];
  }

  sample(locations, owner, values) {
    const {owners, texts, labelSets, recordings} = this.profile;
    const labels = [["thread", texts[owners.comm[owner]]], ["process", texts[owners.process[owner]]],
      ["pid", owners.pid[owner]], ["tid", owners.tid[owner]], ["cgroup", texts[owners.cgroup[owner]].replace(/^\/$/, "")],
      ["host", recordings.length > 1 ? recordings[owners.recording[owner]].host : ""],
      ["state", texts[owners.state[owner]]], ["waker", texts[owners.waker[owner]]]];
    const set = labelSets[owners.labelSet[owner] - 1];
    for (let i = 0; set && i < set.size; i++)
      labels.push([texts[set.key[i]], texts[set.value[i]]]);
    const writers = labels.filter(([, value]) => value).map(([key, value]) => {
      const label = new WireWriter();
      label.number(1, this.string(key));
      label.number(typeof value === "number" ? 3 : 2, typeof value === "number" ? value : this.string(value));
      return [3, label];
    });
    this.out.message(2, [[1, locations], [2, values], ...writers]);
  }

  // Readers take the first mapping for the program.
  tables() {
    const {out, profile: {modules, texts}} = this;
    const order = [...modules.keys()].sort((a, b) => modules[b].isExecutable - modules[a].isExecutable || a - b);
    for (const id of order)
      out.message(3, [[1, id + 1], [5, this.string(texts[modules[id].path])],
        [6, this.string(Array.from(modules[id].gnuBuildId, (byte) => byte.toString(16).padStart(2, "0")).join(""))],
        ...[7, 8, 9, 10].map((has) => [has, 1])]);
    for (let id = 1; id < this.lines.length; id++)
      out.message(4, [[1, id], [2, this.modules[id]], ...this.lines[id].map(([of, line]) => {
        const writer = new WireWriter();
        writer.number(1, of);
        writer.number(2, line);
        return [4, writer];
      })]);
    for (const [id, [name, system, file, line]] of this.functions.values())
      out.message(5, [[1, id], [2, this.string(name)], [3, this.string(system)], [4, this.string(file)], [5, line]]);
    const utf8 = new TextEncoder();
    for (const text of this.strings.keys())
      out.data(6, utf8.encode(text));
  }
}

async function gzipped(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
