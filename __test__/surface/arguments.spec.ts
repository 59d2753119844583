import { Agent, memory, SessionError, sqlite, Workspace } from "@downcity/agent";
import { expect, test } from "vitest";
import { open_session } from "./support.js";

const WRONG = [undefined, null, 0, 1, "text", true, [], () => {}, Symbol("s"), 10n];
/** Whatever is wrong with it, these must not be reached by the type checker. */
const loose = <T>(value: unknown): T => value as T;

type Method = (value: unknown) => unknown;

async function problem_of(method: Method, value: unknown): Promise<unknown> {
  try {
    await method(value);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Every wrong value is refused with words, and none with an accident of the program. */
async function refuses(method: Method, values: readonly unknown[]): Promise<void> {
  for (const value of values) {
    const error = await problem_of(method, value);
    expect(error, `${String(value)} was taken`).toBeInstanceOf(SessionError);
    expect((error as SessionError).code).toMatch(/^(INVALID_INPUT|MODEL_INVALID)$/);
    expect((error as SessionError).message.length).toBeGreaterThan(20);
  }
}

const but = (...fine: unknown[]) => WRONG.filter((value) => !fine.includes(value));

test("a Session refuses what its methods do not take, and stays usable", async () => {
  const { agent, session } = await open_session(["Hi."]);
  await refuses((value) => session.prompt(loose(value)), [...WRONG, {}, { qery: "x" }]);
  await refuses((value) => session.prompt({ query: loose(value) }), but("text"));
  await refuses((value) => session.prompt({ query: "x", signal: loose(value) }), but(undefined));
  await refuses((value) => session.respond(loose<never>(value)), [...WRONG, {}, { interaction_id: 1 }]);
  await refuses((value) => session.set(loose(value)), [...WRONG, { secrity: {} }]);
  await refuses((value) => session.set({}, loose(value)), but(undefined));
  await refuses((value) => session.set({ model: loose(value) }), but(undefined));
  await refuses(
    (value) => session.subscribe(loose(value)),
    WRONG.filter((value) => typeof value !== "function"),
  );
  await refuses(
    (value) => session.watch(loose(value)),
    WRONG.filter((value) => typeof value !== "function"),
  );
  await refuses((value) => session.mutations(loose(value)), but(undefined));
  await refuses((value) => session.messages(loose(value)), but(undefined));
  await refuses((value) => session.messages({ limit: loose(value) }), but(undefined, 1));
  await refuses(
    (value) => session.interactions.request(loose<never>(value)),
    [...WRONG, {}, { type: "question" }],
  );
  await refuses((value) => session.interactions.approval.request(loose(value)), [...WRONG, {}]);
  expect(await session.interactions()).toEqual([]);
  expect((await (await session.prompt({ query: "x" })).finished).success).toBe(true);
  await agent.dispose();
});

test("an Agent refuses what its Sessions cannot be opened with", async () => {
  const { agent } = await open_session([]);
  const { sessions } = agent;
  await refuses((value) => sessions.create(loose(value)), but(undefined));
  await refuses((value) => sessions.create({ workspace: loose(value) }), but(undefined));
  await refuses((value) => sessions.create({ session_id: loose(value) }), but(undefined, "text"));
  await refuses((value) => sessions.create({ security: loose(value) }), but(undefined));
  await refuses((value) => sessions.create({ security: { approval_mode: loose(value) } }), but(undefined));
  await refuses((value) => sessions.create({ metadata: loose(value) }), but(undefined));
  const ids = ["", ".", "../x", "a/b", "a\\b", "a\0", "x".repeat(129), "é", "-a", "a b"];
  for (const method of [sessions.get, sessions.archive, sessions.remove]) {
    await refuses((value) => method(loose(value)), [...but("text"), ...ids]);
    await refuses((value) => method("text", loose(value)), but(undefined));
  }
  for (const method of [sessions.list, sessions.archived]) {
    await refuses((value) => method(loose(value)), but(undefined));
    await refuses((value) => method({ limit: loose(value) }), but(undefined, 1));
    await refuses((value) => method({ after: loose(value) }), but(undefined));
  }
  expect((await sessions.list()).items).toHaveLength(1);
});

test("constructors refuse what they do not take", async () => {
  await refuses((value) => new Agent(loose(value)), [...WRONG, {}, { id: "a", modle: 1 }]);
  await refuses((id) => new Agent({ id: loose(id) }), [...but("text"), "a/b", "..", ""]);
  for (const key of ["model", "storage", "max_steps", "max_tool_result_chars", "lease_seconds", "tools"]) {
    const fine = key === "tools" ? [undefined] : [undefined, 1];
    await refuses((value) => new Agent({ id: "a", [key]: value }), but(...fine));
  }
  await refuses(
    (instruction) => new Agent({ id: "a", instruction: loose(instruction) }),
    but(undefined, "text"),
  );
  await refuses((value) => new Workspace(loose(value)), [...WRONG, {}]);
  await refuses((path) => new Workspace({ id: "w", path: loose(path) }), [...but("text"), "/dev/null"]);
  await refuses((path) => sqlite(loose(path)), but("text"));
  await refuses((options) => sqlite("x.db", loose(options)), [...but(undefined), { synchronous: "off" }]);
  const broken = {
    input_schema: { type: "object", properties: { a: { type: "strng" } } },
    execute: () => null,
  };
  await refuses(
    (tool) => new Agent({ id: "a", tools: { broken: loose(tool) }, storage: memory() }),
    [broken],
  );
});

test("a refusal names the argument, and what was found in its place", async () => {
  const { agent, session } = await open_session([]);
  const { sessions } = agent;
  const tools = (value: unknown) => () => new Agent({ id: "a", tools: loose(value) });
  const refusals: [() => unknown, RegExp][] = [
    [() => session.prompt(loose(undefined)), /^prompt takes an object: .*; what is given is missing\.$/],
    [() => session.prompt({ query: loose(7) }), /^`query` has to be .*; it is 7\.$/],
    [
      () => session.prompt({ query: loose([{ type: "text", text: [] }]) }),
      /^query\[0\]\.text .* an array\.$/,
    ],
    [() => session.prompt({ query: "x", signal: loose("no") }), /^`signal` .*; it is "no"\.$/],
    [() => session.respond(loose<never>({ interaction_id: null })), /^`interaction_id` .*; it is null\.$/],
    [
      () => session.set({ security: { approval_mode: loose([]) } }),
      /^security\.approval_mode .* an array\.$/,
    ],
    [() => session.subscribe(loose("x")), /listener of subscribe has to be a function .*; it is "x"\.$/],
    [() => session.messages({ limit: -1 }), /^`limit` .* at least 1; it is -1\.$/],
    [() => sessions.create({ session_id: "../x" }), /^`session_id` .*; it is "\.\.\/x"\.$/],
    [() => sessions.create({ session_id: "x".repeat(129) }), /; it is a string of 129 characters\.$/],
    [() => sessions.create({ metadata: loose([]) }), /^`metadata` has to be an object; it is an array\.$/],
    [() => sessions.create({ metadata: { a: { b: loose(1n) } } }), /^metadata\.a\.b is a BigInt; /],
    [() => sessions.list({ after: loose({}) }), /^`after` has to be a string; it is an object\.$/],
    [() => new Agent({ id: "a", max_steps: Number.NaN }), /^`max_steps` .*; it is NaN\.$/],
    [() => new Agent({ id: "a", storage: loose(() => {}) }), /^`storage` .*; it is a function\.$/],
    [() => sqlite("x.db", { synchronous: loose(true) }), /^`synchronous` .*; it is true\.$/],
    [tools([]), /^tools has to be an object .*; it is an array\.$/],
    [tools({ act: 7n }), /^tool "act": it has to be an object .* and is a bigint\.$/],
    [tools({ act: { input_schema: {}, execute() {}, title: 7 } }), /^tool "act": title .*, not 7\.$/],
  ];
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const throwing = Object.defineProperty({}, "query", {
    enumerable: true,
    get: () => {
      throw new Error("not today");
    },
  });
  refusals.push(
    [() => session.prompt(loose(proxy)), /^prompt takes an object: .*; what is given cannot be read: .*\.$/],
    [() => session.prompt(loose(throwing)), /^prompt takes .*; what is given cannot be read: not today\.$/],
    [() => new Agent(loose(proxy)), /cannot be read: .*\.$/],
  );
  for (const [refuse, words] of refusals) {
    const error = await problem_of(refuse, undefined);
    expect(error).toMatchObject({ code: "INVALID_INPUT", message: expect.stringMatching(words) });
    expect((error as Error).message).not.toMatch(/\n\s+at /);
  }
  await agent.dispose();
});

test("a Proxy that was revoked is refused like any other object", async () => {
  const { agent, session } = await open_session(["Hi."]);
  const gone = (target: object) => {
    const { proxy, revoke } = Proxy.revocable(target, {});
    revoke();
    return proxy;
  };
  const response = { type: "approval", outcome: "denied" } as const;
  const methods: Method[] = [
    (value) => new Agent({ id: loose(value) }),
    (value) => agent.sessions.get(loose(value)),
    (value) => agent.sessions.list({ limit: loose(value) }),
    (value) => session.subscribe(loose(value)),
    (value) => session.messages({ limit: loose(value) }),
    (value) => session.respond({ interaction_id: loose(value), response }),
  ];
  for (const method of methods) {
    for (const target of [{}, []]) {
      const error = await problem_of(method, gone(target));
      expect(error).toMatchObject({
        code: "INVALID_INPUT",
        message: expect.stringContaining("it is an object"),
      });
    }
  }
  expect((await (await session.prompt({ query: "Hello" })).finished).text).toBe("Hi.");
  await agent.dispose();
});

test("an id of any length names no Interaction, and is not named in full", async () => {
  const { agent, session } = await open_session([]);
  const response = { type: "approval", outcome: "denied" } as const;
  for (const length of [1024, 1025, 17 * 2 ** 20]) {
    const error = await problem_of(
      (id) => session.respond({ interaction_id: loose(id), response }),
      "x".repeat(length),
    );
    expect(error).toMatchObject({ code: "INTERACTION_NOT_FOUND" });
    expect((error as Error).message.length).toBeLessThan(2_000);
  }
  await agent.dispose();
});

test("text that is not well formed is taken as text, not as an accident", async () => {
  const { agent, session } = await open_session([[{ text: "Hi \ud83d" }]], {
    instruction: "Be \ud800 brief",
  });
  const response = { type: "approval", outcome: "denied", reason: "no \udc00" } as const;
  const answering = session.respond({ interaction_id: "\ud800", response });
  await expect(answering).rejects.toMatchObject({ code: "INTERACTION_NOT_FOUND" });
  const { text } = await (await session.prompt({ query: "a \ud800 b" })).finished;
  expect(text).toBe("Hi \ufffd");
  expect(JSON.stringify((await session.messages()).items[0])).toContain("a \ufffd b");
  await agent.dispose();
});
