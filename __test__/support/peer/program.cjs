// A peer in a process or a worker thread of its own.
const { isMainThread, parentPort } = require("node:worker_threads");
const { make_handler } = require("./handler.cjs");

const handle = make_handler();
const channel = isMainThread ? process : parentPort;
const reply = (message) => (isMainThread ? process.send(message) : parentPort.postMessage(message));
channel.on("message", async ({ id, ...request }) => reply({ id, ...(await handle(request)) }));
