// Text of the page as bytes: what src/page/message.h makes, for the viewer itself and for the profile.
"use strict";

// The digits are all printable ASCII but what is special in HTML: a pair of them is 13 bits, a
// single one at the end 6.
function fromDigits(text) {
  const values = new Int16Array(256).fill(-1);
  for (let code = 33, digit = 0; code < 127; code++)
    if (!"&<>".includes(String.fromCharCode(code)))
      values[code] = digit++;
  const bytes = new TextEncoder().encode(text);
  let size = 0, bits = 0, count = 0, first = -1;
  for (let i = 0; i < bytes.length; i++) {
    if (bytes[i] <= 32)
      continue;
    const value = values[bytes[i]], pair = first * 91 + value;
    if (value < 0 || pair > 8191)
      throw new Error("the profile in this page is damaged: it has foreign characters. Was it cut short?");
    if (first < 0) {
      first = value;
      continue;
    }
    bits |= pair << count;
    first = -1;
    // Never behind what is still to be read.
    for (count += 13; count >= 8; count -= 8, bits >>= 8)
      bytes[size++] = bits & 255;
  }
  if (first >= 0 && count + 6 >= 8)
    bytes[size++] = (bits | first << count) & 255;
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

// The bytes in the element with this id.
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
