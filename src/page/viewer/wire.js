// Reads the profile that the page holds, unpacked: a protobuf message, as page.proto says. All bytes
// may be damaged: whatever does not fit is an Error with words for people.

// Fields by number: [name, type]. "number" is a varint, "fixed" a fixed64, "text" UTF-8, "bytes"
// raw; "numbers" and "large" (64 bits, as doubles) are packed columns; a schema is a message, and a
// list of one schema is a repeated message.
const kSchema = (() => {
  const origin = {
    1: ["version", "text"], 2: ["host", "text"], 3: ["kernel", "text"], 4: ["machine", "text"],
    5: ["command", "text"], 6: ["selection", "text"], 7: ["cpus", "number"],
    8: ["start", "fixed"], 9: ["duration", "number"], 10: ["timeStep", "number"],
    11: ["sampler", "text"], 12: ["hasUser", "number"], 13: ["hasKernel", "number"],
    14: ["isSystemWide", "number"], 15: ["lostEvents", "number"], 17: ["lacksCounts", "number"],
    18: ["per", "text"],
    19: ["scaleBefore", "number"],
  };
  const event = {
    1: ["name", "text"], 2: ["frequency", "number"], 3: ["period", "number"],
    4: ["unitNs", "number"], 5: ["unitEvents", "number"], 6: ["lost", "number"],
    7: ["repaired", "number"], 8: ["cut", "number"], 9: ["unknown", "number"],
    10: ["deep", "number"], 11: ["bridged", "number"],
    12: ["recorded", "number"], 13: ["skipped", "number"], 14: ["throttledNs", "number"],
    15: ["lostNs", "number"], 17: ["isWeighted", "number"], 18: ["amount", "text"],
    19: ["unit", "text"],
  };
  const recording = {
    1: ["name", "text"], 2: ["host", "text"], 3: ["start", "fixed"], 4: ["duration", "number"],
    5: ["command", "text"],
  };
  const side = {1: ["origin", origin], 2: ["event", event], 3: ["recordings", "number"]};
  const texts = {1: ["shared", "numbers"], 2: ["rest", "numbers"], 3: ["bytes", "bytes"]};
  const module = {
    1: ["path", "number"], 2: ["kind", "number"], 3: ["gnuBuildId", "bytes"],
    4: ["goBuildId", "bytes"], 5: ["debugPackage", "text"], 7: ["isExecutable", "number"],
  };
  const functions = {
    1: ["name", "numbers"], 2: ["systemName", "numbers"], 3: ["file", "numbers"],
    4: ["startLine", "numbers"], 5: ["package", "numbers"], 6: ["declared", "numbers"],
  };
  const frames = {
    1: ["function", "numbers"], 2: ["line", "numbers"], 3: ["module", "numbers"],
    4: ["source", "numbers"], 5: ["kind", "numbers"], 6: ["isInlined", "numbers"],
    7: ["unnamed", "numbers"], 8: ["text", "numbers"], 9: ["leftOut", "numbers"],
    10: ["category", "numbers"], 11: ["categoryKind", "numbers"],
    12: ["isOwn", "numbers"],
  };
  const tree = {
    1: ["up", "numbers"], 2: ["added", "numbers"], 3: ["samples", "numbers"],
    4: ["next", "numbers"], 5: ["first", "numbers"], 6: ["rootSamples", "number"],
  };
  const owners = {
    1: ["event", "numbers"], 2: ["pid", "numbers"], 3: ["tid", "numbers"], 4: ["comm", "numbers"],
    5: ["cgroup", "numbers"], 6: ["labelSet", "numbers"], 7: ["recording", "numbers"],
    8: ["state", "numbers"], 9: ["waker", "numbers"], 10: ["process", "numbers"],
  };
  const samples = {
    1: ["owner", "numbers"], 2: ["step", "numbers"], 3: ["count", "numbers"],
    4: ["weight", "large"], 5: ["skipped", "large"],
  };
  return {
    1: ["version", "number"], 2: ["origin", origin], 3: ["events", [event]],
    4: ["recordings", [recording]], 5: ["texts", texts], 6: ["modules", [module]],
    7: ["functions", functions], 8: ["frames", frames], 9: ["tree", tree], 10: ["owners", owners],
    11: ["labelSets", [{1: ["key", "numbers"], 2: ["value", "numbers"]}]],
    12: ["samples", samples], 13: ["notes", [{1: ["title", "text"], 2: ["text", "text"]}]],
    14: ["sides", [side]], 15: ["sources", [{1: ["file", "number"], 2: ["text", "bytes"]}]],
  };
})();

const kNoColumn = new Uint32Array(0);
const kUtf8 = new TextDecoder();

function emptyValue(type) {
  if (Array.isArray(type))
    return [];
  if (typeof type === "object")
    return emptyMessage(type);
  return {number: 0, fixed: 0, text: "", bytes: new Uint8Array(0)}[type] ?? kNoColumn;
}

function emptyMessage(schema) {
  const message = {};
  for (const [name, type] of Object.values(schema))
    message[name] = emptyValue(type);
  return message;
}

// Reads from bytes[at, end).
class WireReader {
  constructor(bytes, at, end) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
  }

  fail() {
    throw new Error(`the profile in this page is damaged at byte ${this.at} of ${this.bytes.length}`);
  }

  // Exact up to 2^53, which is nine million seconds in nanoseconds.
  varint() {
    let value = 0, scale = 1;
    for (let i = 0; i < 10; i++) {
      if (this.at >= this.end)
        this.fail();
      const byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      if (byte < 128)
        return value;
      scale *= 128;
    }
    return this.fail();
  }

  // The place behind what is `size` bytes long.
  past(size) {
    if (size > this.end - this.at)
      this.fail();
    return this.at + size;
  }

  fixed64() {
    const end = this.past(8);
    const view = new DataView(this.bytes.buffer, this.bytes.byteOffset + this.at, 8);
    this.at = end;
    return Number(view.getBigUint64(0, true));
  }

  column(type) {
    const end = this.past(this.varint());
    let count = 0;
    for (let i = this.at; i < end; i++)
      count += this.bytes[i] < 128 ? 1 : 0;
    const column = new (type === "large" ? Float64Array : Uint32Array)(count);
    const part = new WireReader(this.bytes, this.at, end);
    for (let i = 0; i < count; i++) {
      const value = this.bytes[part.at] < 128 ? this.bytes[part.at++] : part.varint();
      if (type !== "large" && value > 0xffffffff)
        part.fail();
      column[i] = value;
    }
    if (part.at !== end)
      part.fail();
    this.at = end;
    return column;
  }

  // Passes over a field that a later version has added.
  skip(wire) {
    if (wire === 0)
      this.varint();
    else if (wire === 1)
      this.at = this.past(8);
    else if (wire === 2)
      this.at = this.past(this.varint());
    else if (wire === 5)
      this.at = this.past(4);
    else
      this.fail();
  }

  value(type) {
    if (type === "number")
      return this.varint();
    if (type === "fixed")
      return this.fixed64();
    if (type !== "text" && type !== "bytes" && typeof type !== "object")
      return this.column(type);
    const end = this.past(this.varint());
    const begin = this.at;
    this.at = end;
    if (typeof type === "object")
      return new WireReader(this.bytes, begin, end).message(Array.isArray(type) ? type[0] : type);
    const bytes = this.bytes.subarray(begin, end);
    return type === "text" ? decodeText(bytes) : bytes;
  }

  message(schema) {
    const message = emptyMessage(schema);
    while (this.at < this.end) {
      const tag = this.varint();
      const wire = tag % 8, field = schema[Math.floor(tag / 8)];
      if (!field) {
        this.skip(wire);
        continue;
      }
      const [name, type] = field;
      const expected = type === "number" ? 0 : type === "fixed" ? 1 : 2;
      if (wire !== expected)
        this.fail();
      const value = this.value(type);
      if (Array.isArray(type))
        message[name].push(value);
      else
        message[name] = value;
    }
    return message;
  }
}

// Characters that would change how the text around them is read: those that control, that have no
// width, and that turn the direction.
const kInvisible =
    /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
function visible(text) {
  return text.replace(kInvisible,
      (c) => `<U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}>`);
}

// A source file.
function decodeLines(bytes) {
  const lines = kUtf8.decode(bytes).split("\n").map(visible);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

// Names may share so much with the one before that a few bytes tell of gigabytes.
const kMaxText = 1 << 26;

// Most names are plain ASCII, which needs no second look.
function decodeText(bytes) {
  const text = kUtf8.decode(bytes);
  for (let i = 0; i < bytes.length; i++)
    if (bytes[i] < 32 || bytes[i] >= 127)
      return visible(text);
  return text;
}

// The texts, each of which begins as the one before.
function readTexts({shared, rest, bytes}) {
  if (shared.length !== rest.length)
    throw new Error("the profile in this page is damaged: its names do not fit together");
  const texts = new Array(shared.length);
  let text = new Uint8Array(256), size = 0, at = 0, all = 0;
  for (let i = 0; i < texts.length; i++) {
    const length = shared[i] + rest[i];
    all += length;
    if (shared[i] > size || rest[i] > bytes.length - at || all > kMaxText)
      throw new Error(`the profile in this page is damaged: name ${i} of ${texts.length}`);
    if (length > text.length) {
      const larger = new Uint8Array(2 * length);
      larger.set(text);
      text = larger;
    }
    text.set(bytes.subarray(at, at + rest[i]), shared[i]);
    at += rest[i];
    size = length;
    texts[i] = decodeText(text.subarray(0, size));
  }
  return texts;
}

// ---- Columns that are differences

// A column of the values themselves: each is likely(column, row), of the rows before, and a difference,
// zigzag, modulo 2^32.
function restored(column, rows, likely) {
  if (column.length === 0)
    column = new Uint32Array(rows);
  if (column.length !== rows)
    throw new Error("the profile in this page is damaged: columns differ in length");
  for (let row = 0; row < rows; row++) {
    const coded = column[row];
    column[row] = likely(column, row) + ((coded >>> 1) ^ -(coded & 1));
  }
  return column;
}

const rowBefore = (column, row) => row > 0 ? column[row - 1] : 0;

// A number that has not been there is likely: numbers are given in the order of their first time.
function asNext(column) {
  let next = 0;
  return restored(column, column.length, (values, row) => {
    next = row > 0 ? Math.max(next, values[row - 1] + 1) : 0;
    return next;
  });
}

const asBefore = (column, rows) => restored(column, rows, rowBefore);

// For each row the last one before that has the same number, -1 for the first.
function rowsOfSame(numbers) {
  const last = new Map(), rows = new Int32Array(numbers.length);
  for (let row = 0; row < rows.length; row++) {
    rows[row] = last.get(numbers[row]) ?? -1;
    last.set(numbers[row], row);
  }
  return rows;
}

// Differences to the row that rowsOfSame() tells; where there is none, to first(row), or to the row before.
function asLastOf(column, same, first) {
  return restored(column, same.length, (values, row) =>
    same[row] >= 0 ? values[same[row]] : first?.(row) ?? rowBefore(values, row));
}

function restoreColumns({functions, frames, tree, samples}) {
  functions.file = asBefore(functions.file, functions.name.length);
  for (const name of ["package", "declared"])
    functions[name] = asLastOf(functions[name], rowsOfSame(functions.file));
  frames.function = asNext(frames.function);
  const same = rowsOfSame(frames.function);
  frames.line = asLastOf(frames.line, same, (row) => functions.startLine[frames.function[row] - 1]);
  for (const name of ["module", "source", "kind", "isInlined", "unnamed", "text", "leftOut",
    "category", "categoryKind", "isOwn"])
    frames[name] = asLastOf(frames[name], same);
  tree.first = asNext(tree.first);
  samples.owner = asBefore(samples.owner, samples.owner.length);
  samples.step = asLastOf(samples.step, rowsOfSame(samples.owner));
}

// The message Page of its bytes, texts decoded; references are not yet checked.
function readPage(bytes) {
  const page = new WireReader(bytes, 0, bytes.length).message(kSchema);
  if (page.version !== 1)
    throw new Error(`this page holds a profile of version ${page.version}, its viewer knows 1`);
  restoreColumns(page);
  page.texts = readTexts(page.texts);
  if (page.texts.length === 0)
    page.texts = [""];
  return page;
}
