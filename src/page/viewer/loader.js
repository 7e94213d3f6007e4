// Unpacks the viewer and runs it. This script, with unpack.js, is the only one that the page has as
// text; the policy knows its hash and the viewer's.
unpacked("viewer").then((bytes) => {
  const script = document.createElement("script");
  script.textContent = new TextDecoder().decode(bytes);
  document.head.append(script);
}).catch(showBroken);
