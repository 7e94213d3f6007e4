// Drives Debian's chromium by the DevTools protocol, over a pipe: messages of JSON that a NUL ends.
"use strict";

const {spawn} = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");
const {pathToFileURL} = require("url");

const kFlags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
  "--remote-debugging-pipe", "--hide-scrollbars", "--force-color-profile=srgb"];

class Browser {
  constructor() {
    this.home = fs.mkdtempSync(path.join(os.tmpdir(), "gosym-chromium-"));
    this.process = spawn("chromium", [...kFlags, `--user-data-dir=${this.home}`, "about:blank"],
      {stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"], detached: true,
        env: {...process.env, HOME: this.home}});
    this.calls = new Map();
    this.last = 0;
    this.events = [];
    let rest = "";
    this.process.stdio[4].setEncoding("utf8").on("data", (text) => {
      const messages = (rest + text).split("\0");
      rest = messages.pop();
      for (const message of messages)
        this.receive(JSON.parse(message));
    });
    this.process.on("exit", () => {
      for (const {reject} of this.calls.values())
        reject(new Error("chromium has ended"));
    });
  }

  receive(message) {
    const call = this.calls.get(message.id);
    if (!call) {
      this.events.push(message);
      return;
    }
    this.calls.delete(message.id);
    if (message.error)
      call.reject(new Error(message.error.message));
    else
      call.resolve(message.result);
  }

  send(method, params = {}, sessionId = this.session) {
    const id = ++this.last;
    this.process.stdio[3].write(`${JSON.stringify({id, method, params, sessionId})}\0`);
    return new Promise((resolve, reject) => this.calls.set(id, {resolve, reject}));
  }

  async begin(width = 1280, height = 800) {
    const {targetId} = await this.send("Target.createTarget", {url: "about:blank"}, undefined);
    const {sessionId} = await this.send("Target.attachToTarget", {targetId, flatten: true}, undefined);
    this.session = sessionId;
    await this.send("Page.enable");
    await this.send("Runtime.enable");
    await this.send("Network.enable");
    await this.send("Log.enable");
    await this.size(width, height);
  }

  size(width, height, isMobile = false) {
    return this.send("Emulation.setDeviceMetricsOverride",
      {width, height, deviceScaleFactor: isMobile ? 2 : 1, mobile: isMobile});
  }
  scheme(value) {
    return this.send("Emulation.setEmulatedMedia",
      {features: [{name: "prefers-color-scheme", value}]});
  }

  // Opens a file, and waits until the viewer has shown it or said what is wrong.
  async open(file, hash = "") {
    this.events = [];
    await this.send("Page.navigate", {url: "about:blank"});
    await this.send("Page.navigate", {url: pathToFileURL(file).href + hash});
    await this.until("window.gosym");
  }

  async eval(expression) {
    const {result, exceptionDetails} = await this.send("Runtime.evaluate",
      {expression, awaitPromise: true, returnByValue: true});
    if (exceptionDetails)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  // Until the expression is true; a page that never gets there is an error of the test.
  async until(expression) {
    for (let i = 0; i < 1500; i++) {
      if (await this.eval(`Boolean(${expression})`))
        return;
      await new Promise((done) => setTimeout(done, 20));
    }
    throw new Error(`never true: ${expression}`);
  }

  mouse(type, x, y, more = {}) {
    return this.send("Input.dispatchMouseEvent", {type, x, y, button: "none", ...more});
  }
  async click(x, y) {
    await this.mouse("mouseMoved", x, y);
    await this.mouse("mousePressed", x, y, {button: "left", buttons: 1, clickCount: 1});
    await this.mouse("mouseReleased", x, y, {button: "left", clickCount: 1});
  }
  async drag(from, to) {
    await this.mouse("mouseMoved", ...from);
    await this.mouse("mousePressed", ...from, {button: "left", buttons: 1, clickCount: 1});
    for (let i = 1; i <= 5; i++)
      await this.mouse("mouseMoved", from[0] + (to[0] - from[0]) * i / 5,
        from[1] + (to[1] - from[1]) * i / 5, {button: "left", buttons: 1});
    await this.mouse("mouseReleased", ...to, {button: "left", clickCount: 1});
  }
  wheel(x, y, deltaX, deltaY, modifiers = 0) {
    return this.mouse("mouseWheel", x, y, {deltaX, deltaY, modifiers});
  }

  // A key by its name: "Enter", "ArrowDown", "i", "#".
  async key(key, modifiers = 0) {
    const codes = {Enter: 13, Escape: 27, Backspace: 8, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39,
      ArrowDown: 40, Home: 36, End: 35, PageDown: 34, PageUp: 33, Tab: 9};
    const text = key.length === 1 ? key : key === "Enter" ? "\r" : undefined;
    const code = codes[key] ?? key.toUpperCase().charCodeAt(0);
    await this.send("Input.dispatchKeyEvent",
      {type: "keyDown", key, text, windowsVirtualKeyCode: code, modifiers});
    await this.send("Input.dispatchKeyEvent",
      {type: "keyUp", key, windowsVirtualKeyCode: code, modifiers});
  }
  type(text) {
    return this.send("Input.insertText", {text});
  }

  // The middle of an element, in the window.
  async middle(selector) {
    return this.eval(`(() => { const box = document.querySelector(${JSON.stringify(selector)})
      .getBoundingClientRect(); return [box.left + box.width / 2, box.top + box.height / 2]; })()`);
  }
  // An element that has just opened has its place two frames later.
  async clickOn(selector) {
    await this.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))" +
        ".then(() => true)");
    await this.click(...await this.middle(selector));
  }

  async screenshot(file) {
    const {data} = await this.send("Page.captureScreenshot", {format: "png"});
    fs.writeFileSync(file, Buffer.from(data, "base64"));
  }

  // Errors that the page logged, and requests that it sent to a network.
  errors() {
    return this.events.filter(({method, params}) => method === "Runtime.exceptionThrown" ||
        (method === "Log.entryAdded" && params.entry.level === "error"))
      .map(({params}) => JSON.stringify(params).slice(0, 600));
  }
  requests() {
    return this.events.filter(({method}) => method === "Network.requestWillBeSent")
      .map(({params}) => params.request.url).filter((url) => !/^(file|about|data):/.test(url));
  }

  async end() {
    try {
      await Promise.race([this.send("Browser.close", {}, undefined),
        new Promise((done) => setTimeout(done, 3000))]);
    } catch {
      // It has ended.
    }
    try {
      process.kill(-this.process.pid, "SIGKILL");
    } catch {
      // All of its processes have.
    }
    fs.rmSync(this.home, {recursive: true, force: true, maxRetries: 5});
  }
}

module.exports = {Browser};
