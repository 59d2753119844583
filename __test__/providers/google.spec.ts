/** `@ai-sdk/google` against a server that wants thought signatures on the parts they came with. */
import { describe, expect, it, onTestFinished } from "vitest";
import { type GoogleReply, GoogleService } from "../support/google-server.js";
import { ask, CALLS, journey, REASON, simple, TEXTS } from "../support/journey.js";
import { type HttpRefusal, ModelServer } from "../support/model-server.js";
import { LINES, without_metadata } from "../support/provider-lines.js";
import { memory_store, on_each_store } from "../support/stores.js";

type Steps = (GoogleReply | HttpRefusal)[];

const call = (name: string, args: object, thoughtSignature?: string) => ({
  functionCall: { name, args },
  ...(thoughtSignature ? { thoughtSignature } : {}),
});
const text = (words: string) => ({ text: words });

const JOURNEY: Steps = [
  {
    parts: [
      { text: "Thought \u{1f389}", thought: true },
      text(TEXTS[0]),
      // Of parallel calls only the first is signed.
      call("read", CALLS.read, "signature-1=="),
      call("write", CALLS.write),
      call("remove", CALLS.remove),
    ],
  },
  { parts: [call("write", CALLS.write_again, "signature-2==")] },
  {
    parts: [
      { text: "so", thought: true },
      { text: TEXTS[2], thoughtSignature: "signature-3==" },
    ],
  },
  { parts: [text(TEXTS[3])] },
];

describe.each(LINES)("@ai-sdk/google, specification $specification", ({ specification, load }) => {
  async function start(steps: Steps) {
    const server = await ModelServer.start(new GoogleService(), steps);
    onTestFinished(() => server.stop());
    const packages = await load();
    const provider = packages.google.createGoogleGenerativeAI({ baseURL: server.base_url, apiKey: "none" });
    return { server, model: provider("gemini-3-pro-preview") };
  }

  on_each_store("around the pauses", (store) => {
    it("thought signatures go back on their own parts, each call answered", async () => {
      const { server, model } = await start(JOURNEY);
      await journey(store, model);
      expect(server.faults).toEqual([]);
      const contents = server.requests.at(-1)?.contents ?? [];
      expect(contents.map(({ role }) => role)).toEqual([
        "user",
        "model",
        "user",
        "model",
        "user",
        "model",
        "user",
      ]);
      expect(JSON.stringify(contents[1])).toContain(JSON.stringify(CALLS.write));
      expect(contents[2]?.parts).toMatchObject([
        { functionResponse: { name: "read", response: { content: "content" } } },
        { functionResponse: { name: "write" } },
        { functionResponse: { name: "remove" } },
      ]);
      expect(JSON.stringify(contents[2]?.parts[2])).toContain(REASON);
    });
  });

  it("the server does refuse calls without their signatures", async () => {
    const { model } = await start(JOURNEY);
    const { session } = await simple(without_metadata(model), memory_store);
    expect(await ask(session)).toMatchObject({
      status: "failed",
      error: expect.stringMatching(/thought_signature|Thought signature/),
    });
  });

  // The package of AI SDK 5 does not know them.
  it.skipIf(specification === "v2")(
    "tools of the service: call and result keep their own signatures",
    async () => {
      const tool = { id: "server-1", toolType: "GOOGLE_SEARCH_WEB" };
      const { server, model } = await start([
        {
          parts: [
            { toolCall: { ...tool, args: { queries: ["q"] } }, thoughtSignature: "of-the-call==" },
            { toolResponse: { ...tool, response: { found: 1 } }, thoughtSignature: "of-the-result==" },
            text("Found."),
          ],
        },
        { parts: [text("Later.")] },
      ]);
      const { session } = await simple(model, memory_store);
      expect((await ask(session)).text).toBe("Found.");
      expect((await ask(session, "And?")).text).toBe("Later.");
      expect(server.faults).toEqual([]);
    },
  );

  it("a file the model made is a Part, and goes back", async () => {
    const inlineData = { mimeType: "image/png", data: "AAAA" };
    const { server, model } = await start([
      // Without a signature: a file of specification v2 has no place for one.
      { parts: [text("Here."), { inlineData }] },
      { parts: [text("Later.")] },
    ]);
    const { session } = await simple(model, memory_store);
    await ask(session);
    const { items } = await session.messages();
    expect(items.at(-1)?.parts).toContainEqual(
      expect.objectContaining({ type: "file", media_type: "image/png", data: "AAAA" }),
    );
    expect(await ask(session, "And?")).toMatchObject({ success: true });
    expect(server.requests.at(-1)?.contents[1]?.parts).toContainEqual(
      expect.objectContaining({ inlineData }),
    );
  });

  it("an error within the stream ends the Turn in its words, and the next one is taken", async () => {
    const error = { code: 400, status: "INVALID_ARGUMENT", message: "It went wrong." };
    const { server, model } = await start([{ parts: [text("Half")], error }, { parts: [text("Whole.")] }]);
    const { session } = await simple(model, memory_store);
    const { status, error: words } = await ask(session);
    // AI SDK 5's package cannot read such an event, and says that instead.
    expect({ status, words }).toEqual({ status: "failed", words: expect.stringMatching(/./) });
    expect((await ask(session, "Still there?")).text).toBe("Whole.");
    expect(server.faults).toEqual([]);
  });

  it("a busy service is asked again", async () => {
    const { server, model } = await start([{ status: 503, message: "busy" }, { parts: [text("Fine.")] }]);
    const { session } = await simple(model, memory_store);
    expect(await ask(session)).toMatchObject({ success: true, text: "Fine.", usage: { input_tokens: 12 } });
    expect(server.requests).toHaveLength(2);
  });

  it("calls are not run where no reason was given, or the reason is the limit", async () => {
    const { server, model } = await start([
      { parts: [call("spy", {}, "signature-1==")], finish: null },
      { parts: [call("spy", {}, "signature-2==")], finish: "MAX_TOKENS" },
      { parts: [text("Shorter.")] },
    ]);
    const { session, spy } = await simple(model, memory_store);
    expect(await ask(session)).toMatchObject({ success: true, text: "Shorter." });
    expect(spy.inputs).toEqual([]);
    expect(server.faults).toEqual([]);
  });
});
