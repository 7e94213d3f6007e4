// The one script that the page has as text: unpacks the viewer, which is base64 of raw DEFLATE, and
// runs it. The policy knows the hashes of both.
"use strict";
(async () => {
  try {
    if (typeof DecompressionStream === "undefined")
      throw new Error("this browser is too old: Chrome 103, Firefox 113, Safari 16.4 and later show it");
    const packed = atob(document.getElementById("viewer").textContent);
    const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  } catch (error) {
    const text = document.createElement("p");
    text.className = "broken";
    text.textContent = `This page cannot show its profile: ${error.message}.`;
    document.body.replaceChildren(text);
    window.gosym = {error: error.message};
  }
})();
