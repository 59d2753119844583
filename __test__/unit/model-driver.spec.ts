import { afterEach, describe, expect, it, vi } from "vitest";
import { accept_model } from "../../lib/model/accept.js";
import { ModelDriver } from "../../lib/model/driver.js";
import { PromptHistory } from "../../lib/model/history.js";
import { type Gate, gate, ScriptedModel } from "../../lib/testing/index.js";
import { FINISH, raw, run, SPECIFICATIONS, scripted, USER } from "../support/model-run.js";

describe("what does not end properly", () => {
  const failed = (message: string, retryable: boolean) => ({
    type: "failed",
    code: "MODEL_FAILED",
    message,
    retryable,
  });

  it("no model", async () => {
    expect(await run(undefined)).toMatchObject([{ type: "failed", code: "MODEL_MISSING", retryable: false }]);
  });

  it("a refused request, as the error says whether to try again", async () => {
    expect(await run(scripted({ reject: new Error("busy"), retryable: true }))).toEqual([
      failed("busy", true),
    ]);
    expect(await run(scripted({ reject: new Error("bad key"), retryable: false }))).toEqual([
      failed("bad key", false),
    ]);
    expect(await run(scripted({ reject: "odd" }))).toEqual([failed("odd", false)]);
    expect(await run(scripted({ reject: Object.assign(new Error("x"), { code: "ECONNREFUSED" }) }))).toEqual([
      failed("x", true),
    ]);
    expect(await run(scripted({ reject: Object.assign(new Error("x"), { statusCode: 503 }) }))).toEqual([
      failed("x", true),
    ]);
    expect(await run(scripted({ reject: undefined }))).toEqual([failed("undefined was thrown", false)]);
  });

  it.each<[{ [name: string]: string }, number | undefined]>([
    [{ "Retry-After": "2" }, 2000],
    [{ "retry-after-ms": "150", "retry-after": "9" }, 150],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "-1" }, 0],
    [{}, undefined],
  ])("retry-after %j", async (headers, expected) => {
    const [seen] = await run(scripted({ reject: new Error("busy"), retryable: true, headers }));
    expect((seen as { retry_after_ms?: number }).retry_after_ms).toBe(expected);
  });

  it("retry-after as a date", async () => {
    const headers = { "retry-after": new Date(Date.now() + 60_000).toUTCString() };
    const [seen] = await run(scripted({ reject: new Error("busy"), retryable: true, headers }));
    expect((seen as { retry_after_ms: number }).retry_after_ms).toBeGreaterThan(1000);
  });

  it("an error part, after which nothing is read", async () => {
    const seen = await run(
      scripted([
        { text: "par" },
        { error: { error: { message: "overloaded" }, status: 529 } },
        { text: "never" },
      ]),
    );
    expect(seen.slice(-2)).toEqual([{ type: "text_end", ref: 1 }, failed("overloaded", true)]);
    expect(await run(scripted([{ error: "plain" }]))).toEqual([failed("plain", false)]);
  });

  it("a stream that breaks off", async () => {
    const seen = await run(scripted([{ text: "half \ud83c" }, { break_off: new Error("terminated") }]));
    expect(seen).toEqual([
      { type: "text_start", ref: 1 },
      { delta: "half ", ref: 1 },
      { delta: "\ufffd", ref: 1 },
      { type: "text_end", ref: 1 },
      failed("terminated", true),
    ]);
  });

  it("a stream that ends without finish, or says itself that it was interrupted", async () => {
    const message = "The model's stream ended before the model had finished.";
    expect(await run(raw())).toEqual([failed(message, true)]);
    expect(await run(raw({ ...FINISH, finishReason: { unified: "interrupted" } }))).toEqual([
      failed(message, true),
    ]);
  });

  it("a finish that is followed by a break", async () => {
    const seen = await run(scripted([{ raw: FINISH }, { break_off: new Error("late") }]));
    expect(seen).toEqual([failed("late", true)]);
  });

  it("a model that gives back nothing, or throws at once", async () => {
    const base = { specificationVersion: "v3", provider: "p", modelId: "m" };
    expect(await run({ ...base, doStream: () => undefined })).toEqual([
      failed("The model gave back no stream.", false),
    ]);
    expect(await run({ ...base, doStream: async () => ({}) })).toEqual([
      failed("The model gave back no stream.", false),
    ]);
    const thrower = () => {
      throw new Error("sync");
    };
    expect(await run({ ...base, doStream: thrower })).toEqual([failed("sync", false)]);
  });

  it("an error whose members cannot be read", async () => {
    const hostile = {
      get isRetryable() {
        throw new Error("x");
      },
    };
    expect(await run(scripted({ reject: hostile }))).toMatchObject([{ type: "failed", retryable: false }]);
  });
});

describe("abort", () => {
  const held = (held_by: Gate, ...before: { text: string }[]): ScriptedModel =>
    scripted([...before, { hold: held_by }, { text: "late" }]);

  it("nothing is reported afterwards, and the model's signal fires", async () => {
    const controller = new AbortController();
    const hold = gate();
    const model = held(hold, { text: "early" });
    const running = run(model, { signal: controller.signal });
    await hold.reached;
    controller.abort();
    const seen = await running;
    hold.open();
    expect(seen.some((event) => "type" in event && ["finish", "failed"].includes(event.type))).toBe(false);
    expect(model.requests[0]?.signal?.aborted).toBe(true);
  });

  it("a model that ignores the signal is left behind", async () => {
    const controller = new AbortController();
    const asked = gate();
    const never = () => {
      void asked.wait();
      return new Promise(() => {});
    };
    const running = run(
      { specificationVersion: "v2", provider: "p", modelId: "m", doStream: never },
      { signal: controller.signal },
    );
    await asked.reached;
    controller.abort();
    expect(await running).toEqual([]);
  });

  it("a signal that fired before asks nobody", async () => {
    const model = scripted("hi");
    expect(await run(model, { signal: AbortSignal.abort() })).toEqual([]);
    expect(model.requests).toEqual([]);
  });
});

describe("a broken core", () => {
  it("a sink that throws ends the run quietly", async () => {
    const request = {
      model: accept_model(scripted("hi")),
      prompt: USER,
      tools: [],
      delay_ms: 0,
      signal: new AbortController().signal,
      ids: new PromptHistory({ max_tool_result_chars: 1 }),
    };
    const broken = () => {
      throw new Error("sink");
    };
    await expect(new ModelDriver().run(request, { event: broken, delta: broken })).resolves.toBeUndefined();
  });
});

describe("delay", () => {
  afterEach(() => vi.useRealTimers());

  it("the model is asked when it is over, and not at all after an abort", async () => {
    vi.useFakeTimers();
    const model = scripted("hi");
    const running = run(model, { delay_ms: 2000 });
    await vi.advanceTimersByTimeAsync(1999);
    expect(model.requests).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1);
    expect((await running).at(-1)).toMatchObject({ type: "finish" });

    const controller = new AbortController();
    const waiting = run(model, { delay_ms: 2000, signal: controller.signal });
    controller.abort();
    expect(await waiting).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("accept_model", () => {
  it.each(SPECIFICATIONS)("takes %s", (specification) => {
    expect(
      accept_model(new ScriptedModel([], { specification, provider: "p", model_id: "m" })),
    ).toMatchObject({ specification, label: "p/m" });
  });

  it.each<[string, unknown, RegExp]>([
    ["a string", "openai/gpt", /A model id \("openai\/gpt"\) is no model\. Pass an AI SDK language model/],
    ["a promise", Promise.resolve({}), /await it first/],
    ["a provider", () => 1, /call it with a model id/],
    ["v1", { specificationVersion: "v1", doStream: () => 1 }, /specification "v1", which is not supported/],
    ["an embedding model", { specificationVersion: "v3", doEmbed: () => 1 }, /has no doStream/],
    ["an object", {}, /no specificationVersion/],
    ["null", null, /cannot be null/],
    [
      "a hostile getter",
      {
        get specificationVersion() {
          throw new Error("x");
        },
      },
      /cannot be read: x/,
    ],
  ])("refuses %s", (_name, model, message) => {
    expect(() => accept_model(model)).toThrow(
      expect.objectContaining({ code: "MODEL_INVALID", message: expect.stringMatching(message) }),
    );
  });
});
