// Reads the profile that the page holds, unpacked: a protobuf message, as page.proto says. All bytes
// may be damaged: whatever does not fit is an Error with words for people.

// A schema is a message: page_schema.py makes kPage and those in it of page.proto. Fields by number:
// [name, type]. "number" is a varint, "fixed" a fixed64, "text" UTF-8, "bytes" raw; "numbers" and "large"
// (64 bits, as doubles) are packed columns; a schema is a message, and a list of one schema is a repeated
// message.

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
    // A varint ends with a byte below 128: there are as many numbers as such bytes.
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
  requireThat(shared.length === rest.length, "its names do not fit together");
  const texts = new Array(shared.length);
  let text = new Uint8Array(256), size = 0, at = 0, all = 0;
  for (let i = 0; i < texts.length; i++) {
    const length = shared[i] + rest[i];
    all += length;
    requireThat(shared[i] <= size && rest[i] <= bytes.length - at && all <= kMaxText,
      `name ${i} of ${texts.length}`);
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
  requireThat(column.length === rows, "columns differ in length");
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

// Undoes differences, in the order of kCodings: columns come after those that they are told by. A coding is
// "table.column.before", "table.column.next", or that of the last of a column, "samples.step.owner".
function restoreColumns(page) {
  const known = new Map();  // rowsOfSame() of a column
  for (const coding of kCodings.split(" ")) {
    const [table, column, by, firstTable, firstColumn] = coding.split(".");
    const columns = page[table], numbers = columns[by];
    if (by === "next") {
      columns[column] = asNext(columns[column]);
    } else if (by === "before") {
      columns[column] = asBefore(columns[column], Object.values(columns)[0].length);
    } else {
      if (!known.has(numbers))
        known.set(numbers, rowsOfSame(numbers));
      // A column that is absent has nothing but zeros.
      const first = page[firstTable]?.[firstColumn];
      columns[column] = asLastOf(columns[column], known.get(numbers), first &&
        ((row) => numbers[row] > 0 ? first[numbers[row] - 1] ?? (first.length ? undefined : 0) : undefined));
    }
  }
}

// The message Page of its bytes, texts decoded; references are not yet checked.
function readPage(bytes) {
  const page = new WireReader(bytes, 0, bytes.length).message(kPage);
  if (page.version !== 1)
    throw new Error(`this page holds a profile of version ${page.version}, its viewer knows 1`);
  restoreColumns(page);
  page.texts = readTexts(page.texts);
  if (page.texts.length === 0)
    page.texts = [""];
  return page;
}
