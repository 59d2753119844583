// Values of a realm other than the one the package was loaded in, and what the package hands out to such a realm. Each
// runner gives its own `test`; some of them, Jest among them, give the tests a realm of their own.
const assert = require("node:assert/strict");
const { createContext, runInContext } = require("node:vm");

exports.define = function define(test) {
  const { Agent, memory, SessionError, with_approval } = require("@downcity/agent");
  const { gate, next_interaction, ScriptedModel } = require("@downcity/agent/testing");
  const { z } = require("zod");
  // Bare JavaScript: whatever is made in it has prototypes that nobody else knows.
  const realm = createContext({});
  const foreign = (source) => runInContext(`(${source})`, realm);

  /** As the test's own realm has it, and as one that is certainly another. */
  const both = (source) => [Function(`return (${source});`)(), foreign(source)];

  async function with_session(script, tools, work) {
    const model = new ScriptedModel(script);
    const agent = new Agent({ id: "realms", model, tools, storage: memory() });
    try {
      return await work({ agent, model, session: await agent.sessions.create() });
    } finally {
      await agent.dispose();
    }
  }

  async function call_of(session) {
    const { items } = await session.messages();
    return items.flatMap((message) => message.parts).find((part) => part.type === "tool");
  }

  const plain = { input_schema: { type: "object" } };
  const SOURCES = {
    "new Date(0)": { output: "1970-01-01T00:00:00.000Z" },
    "{ list: [1, new Date(0), { a: undefined }] }": { output: { list: [1, "1970-01-01T00:00:00.000Z", {}] } },
    "new TypeError('no')": { output: { name: "TypeError", message: "no" } },
    "Promise.resolve([1])": { output: [1] },
    "new String('boxed')": { output: "boxed" },
    "/a+/g": { output: "/a+/g" },
    "new Map([['a', 1]])": { error: /Map/ },
    "new Set([1])": { error: /Set/ },
    "new Uint8Array(2)": { error: /Uint8Array/ },
    "{ n: 10n }": { error: /BigInt/ },
  };
  for (const [source, expected] of Object.entries(SOURCES)) {
    test(`a tool returns ${source}, made in this realm or another: it comes to the same`, async () => {
      const seen = [];
      for (const value of both(source)) {
        const act = { ...plain, execute: () => value };
        await with_session([[{ call: "act" }], "Done."], { act }, async ({ session, model }) => {
          assert.equal((await (await session.prompt({ query: "Go" })).finished).text, "Done.");
          const call = await call_of(session);
          if (expected.error) {
            assert.equal(call.state, "failed");
            assert.match(call.error, expected.error);
          } else {
            assert.equal(call.state, "completed");
            assert.equal(JSON.stringify(call.output), JSON.stringify(expected.output));
          }
          seen.push(JSON.stringify(model.prompts[1].at(-1).content[0].output));
        });
      }
      assert.equal(seen[0], seen[1]);
    });
  }

  for (const source of ["new RangeError('too far')", "{ message: 'an object' }", "'a text'"]) {
    test(`a tool throws ${source}, made in this realm or another: the model is told the same`, async () => {
      const seen = [];
      for (const thrown of both(source)) {
        const act = { ...plain, execute: async () => Promise.reject(thrown) };
        await with_session([[{ call: "act" }], "Done."], { act }, async ({ session }) => {
          await (await session.prompt({ query: "Go" })).finished;
          const call = await call_of(session);
          assert.equal(call.state, "failed");
          assert.match(call.error, /too far|an object|a text/);
          seen.push(call.error);
        });
      }
      assert.equal(seen[0], seen[1]);
    });
  }

  test("arguments, schemas and rules of another realm are taken like any other", async () => {
    const runs = [];
    const schema = foreign("{ type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }");
    const by_schema = { input_schema: schema, execute: (input) => runs.push(input) };
    const by_zod = { input_schema: z.object({ n: z.coerce.number() }), execute: (input) => runs.push(input) };
    const tools = Object.assign(foreign("{}"), { by_schema: with_approval(by_schema), by_zod });
    const script = [
      [
        { call: "by_schema", input: { n: 1 } },
        { call: "by_zod", input: { n: "2" } },
      ],
      "Done.",
    ];
    await with_session(script, tools, async ({ session }) => {
      const query = foreign("[{ type: 'text', text: 'Go' }]");
      const turn = await session.prompt(Object.assign(foreign("{}"), { query }));
      const { interaction_id } = await next_interaction(session);
      const response = foreign(
        "{ type: 'approval', outcome: 'resolved', payload: { decision: 'approved' } }",
      );
      assert.equal((await session.respond({ interaction_id, response })).status, "resolved");
      assert.equal((await turn.finished).text, "Done.");
      assert.deepEqual(runs.map(({ n }) => n).sort(), [1, 2]);
    });
  });

  test("what is handed out belongs to the realm of whoever asks", async () => {
    let input;
    let context;
    const execute = (given, more) => {
      [input, context] = [given, more];
    };
    await with_session(
      [[{ call: "act", input: { list: [1] } }], "Done."],
      { act: { ...plain, execute } },
      async ({ session }) => {
        const mutations = [];
        session.subscribe((mutation) => mutations.push(mutation));
        const result = await (await session.prompt({ query: "Go" })).finished;
        const page = await session.messages();
        for (const value of [result, page, page.items[0], mutations[0], input, await session.status()])
          assert.ok(value instanceof Object);
        for (const value of [page.items, input.list, await session.interactions()]) {
          assert.equal(Object.getPrototypeOf(value), Array.prototype);
          assert.ok(Array.isArray(value));
        }
        assert.equal(typeof context.abort_signal.aborted, "boolean");
        const promise = session.status();
        assert.equal(typeof promise.then, "function");
        await promise;
      },
    );
  });

  test("what is rejected is an Error of this realm, with name, code, message and stack", async () => {
    await with_session([], {}, async ({ agent, session }) => {
      const refused = [
        () => session.prompt({ query: "" }),
        () =>
          session.respond({
            interaction_id: "interaction:none",
            response: { type: "approval", outcome: "denied" },
          }),
        () => agent.sessions.get("none"),
        () => agent.sessions.create({ session_id: "../x" }),
        () => new Agent({ id: "" }),
      ];
      for (const work of refused) {
        let error;
        try {
          await work();
        } catch (reason) {
          error = reason;
        }
        assert.ok(error instanceof Error);
        assert.ok(error instanceof SessionError);
        assert.equal(error.name, "SessionError");
        assert.match(error.code, /^[A-Z_]+$/);
        assert.ok(error.message.length > 10);
        assert.equal(typeof error.stack, "string");
      }
    });
  });

  /** As a DOM of its own has it: no relation to the AbortSignal of Node but its shape. */
  const SIGNAL = `(() => {
    const listeners = new Set();
    const signal = {
      aborted: false,
      reason: undefined,
      addEventListener: (_, listener) => void listeners.add(listener),
      removeEventListener: (_, listener) => void listeners.delete(listener),
      throwIfAborted() { if (this.aborted) throw this.reason; },
    };
    const abort = () => {
      signal.aborted = true;
      signal.reason = new Error("enough");
      for (const listener of listeners) listener.call(signal, { type: "abort", target: signal });
    };
    return { signal, abort };
  })()`;
  for (const [name, make] of [
    ["this realm", () => new AbortController()],
    ["another realm", () => foreign(SIGNAL)],
  ]) {
    test(`an AbortSignal of ${name} stops its Turn, ends an iteration, and refuses when it has fired before`, async () => {
      const held = gate();
      const script = [[{ text: "Half" }, { hold: held }], "Next."];
      await with_session(script, {}, async ({ session }) => {
        const controller = make();
        const reading = session.mutations({ signal: controller.signal });
        const first = reading.next();
        const turn = await session.prompt({ query: "Go", signal: controller.signal });
        await held.reached;
        assert.equal((await first).done, false);
        controller.abort();
        assert.equal((await turn.finished).status, "stopped");
        let last = await reading.next();
        while (!last.done) last = await reading.next();
        const late = await session
          .prompt({ query: "x", signal: controller.signal })
          .catch((reason) => reason);
        assert.ok(late instanceof Error);
        assert.equal(late.name, "AbortError");
        held.open();
        assert.equal((await (await session.prompt({ query: "Again" })).finished).text, "Next.");
      });
    });
  }
};
