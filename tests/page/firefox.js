// Drives Debian's firefox by its own protocol, Marionette: over TCP, each message a list in JSON with
// its size before it, "12:[0,1,…]".
"use strict";

const {spawn} = require("child_process");
const fs = require("fs");
const net = require("net");
const os = require("os");
const path = require("path");
const {pathToFileURL} = require("url");

class Firefox {
  async begin(port = 29200 + process.pid % 1000) {
    this.home = fs.mkdtempSync(path.join(os.tmpdir(), "gosym-firefox-"));
    fs.writeFileSync(path.join(this.home, "user.js"), `user_pref("marionette.port", ${port});\n`);
    this.process = spawn("firefox-esr", ["--headless", "--no-remote", "--marionette", "--profile",
      this.home], {stdio: "ignore", detached: true, env: {...process.env, HOME: this.home}});
    this.process.on("error", (error) => {
      this.failure = error;
    });
    this.socket = await this.connect(port);
    this.calls = new Map();
    this.last = 0;
    let rest = Buffer.alloc(0);
    this.socket.on("data", (data) => {
      rest = Buffer.concat([rest, data]);
      for (let colon; (colon = rest.indexOf(":")) > 0;) {
        const end = colon + 1 + Number(rest.subarray(0, colon));
        if (rest.length < end)
          break;
        this.receive(JSON.parse(rest.subarray(colon + 1, end)));
        rest = rest.subarray(end);
      }
    });
    await this.call("WebDriver:NewSession", {capabilities: {}});
  }

  // It takes some time until firefox listens.
  async connect(port) {
    for (let i = 0; i < 600 && !this.failure; i++) {
      const socket = await new Promise((done) => {
        const socket = net.connect(port, "127.0.0.1", () => done(socket));
        socket.once("error", () => done(null));
      });
      if (socket)
        return socket;
      await new Promise((done) => setTimeout(done, 100));
    }
    throw this.failure ?? new Error("firefox does not listen");
  }

  receive(message) {
    if (!Array.isArray(message))  // its greeting
      return;
    const [, id, error, result] = message;
    const {resolve, reject} = this.calls.get(id);
    this.calls.delete(id);
    if (error)
      reject(new Error(error.message));
    else
      resolve(result);
  }

  call(name, parameters) {
    const text = JSON.stringify([0, ++this.last, name, parameters]);
    this.socket.write(`${Buffer.byteLength(text)}:${text}`);
    return new Promise((resolve, reject) => this.calls.set(this.last, {resolve, reject}));
  }

  async eval(expression) {
    const {value} = await this.call("WebDriver:ExecuteScript",
      {script: `return (${expression});`, args: [], newSandbox: false, sandbox: null});
    return value;
  }

  async open(file, hash = "") {
    await this.call("WebDriver:Navigate", {url: pathToFileURL(file).href + hash});
    for (let i = 0; i < 600; i++) {
      if (await this.eval("Boolean(window.gosym)"))
        return;
      await new Promise((done) => setTimeout(done, 50));
    }
    throw new Error("firefox shows nothing");
  }

  // Keys as WebDriver has them, at the element with the focus.
  async keys(text) {
    const actions = [...text].flatMap((value) => [{type: "keyDown", value}, {type: "keyUp", value}]);
    await this.call("WebDriver:PerformActions", {actions: [{type: "key", id: "keys", actions}]});
  }
  async click(x, y) {
    await this.call("WebDriver:PerformActions", {actions: [{type: "pointer", id: "mouse",
      parameters: {pointerType: "mouse"}, actions: [
        {type: "pointerMove", x: Math.round(x), y: Math.round(y)}, {type: "pointerDown", button: 0},
        {type: "pointerUp", button: 0}]}]});
  }

  async end() {
    try {
      process.kill(-this.process.pid, "SIGKILL");
    } catch {
      // It has ended.
    }
    this.socket?.destroy();
    await new Promise((done) => setTimeout(done, 200));
    fs.rmSync(this.home, {recursive: true, force: true, maxRetries: 5});
  }
}

module.exports = {Firefox};
