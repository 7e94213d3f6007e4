// Text of the page as bytes: what src/page/packing.h makes, for the viewer itself and for the profile.
"use strict";

// The digits are all printable ASCII but what is special in HTML: a pair of them is 13 bits, a
// single one at the end 6.
function fromDigits(text) {
  const values = new Int8Array(128).fill(-1);
  for (let code = 33, digit = 0; code < 127; code++)
    if (!"&<>".includes(String.fromCharCode(code)))
      values[code] = digit++;
  const bytes = new Uint8Array(text.length);
  let size = 0, bits = 0, count = 0, first = -1;
  const add = (value, length) => {
    bits |= value << count;
    for (count += length; count >= 8; count -= 8, bits >>= 8)
      bytes[size++] = bits & 255;
  };
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code <= 32)
      continue;
    const value = code < 128 ? values[code] : -1;
    if (value < 0 || first * 91 + value > 8191)
      throw new Error("the profile in this page is damaged: it has foreign characters. Was it cut short?");
    if (first < 0) {
      first = value;
    } else {
      add(first * 91 + value, 13);
      first = -1;
    }
  }
  if (first >= 0)
    add(first, 6);
  return bytes.subarray(0, size);
}

// Ten times what the largest recordings need: more is an attack on the reader's memory.
const kMaxInflated = 1 << 30;

async function inflate(bytes) {
  if (typeof DecompressionStream === "undefined")
    throw new Error("this browser is too old: Chrome 103, Firefox 113, Safari 16.4 and later show it");
  const chunks = [];
  let size = 0;
  try {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    for (const reader = stream.getReader();;) {
      const {done, value} = await reader.read();
      if (done)
        break;
      chunks.push(value);
      size += value.length;
      if (size > kMaxInflated)
        throw new RangeError("too large");
    }
  } catch (error) {
    throw new Error("the profile in this page cannot be decompressed. Was the file cut short or " +
                    `changed? (${error.message})`);
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

// Of the element with this id.
const unpacked = (id) => inflate(fromDigits(document.getElementById(id).textContent));

function showBroken(error) {
  const text = document.createElement("p");
  text.className = "broken";
  text.setAttribute("role", "alert");
  text.textContent = `This page cannot show its profile: ${error.message}.`;
  document.body.replaceChildren(text);
  window.gosym = {error: error.message};
  console.error(error);
}
