import { describe, expect, it } from "vitest";
import type { Specification } from "../../lib/model/accept.js";
import { PromptHistory } from "../../lib/model/history.js";
import type { PromptMessage } from "../../lib/model/prompt-types.js";
import { assert_strict_prompt } from "../../lib/testing/index.js";
import {
  assistant,
  content_of,
  type LoosePart,
  type Message,
  reasoning,
  text,
  tool,
  user,
} from "../support/messages.js";

const SPECIFICATIONS = ["v2", "v3", "v4"] as const;

function prompt_of(
  messages: Message[],
  specification: Specification = "v3",
  max_tool_result_chars = 1000,
): PromptMessage[] {
  const history = new PromptHistory({ max_tool_result_chars });
  history.append(messages);
  const prompt = history.prompt(undefined, specification);
  assert_strict_prompt(prompt, specification);
  return prompt;
}

/** The results of one step with these Parts. */
function outputs_of(parts: LoosePart[], specification: Specification = "v3", limit = 1000): unknown[] {
  const message = prompt_of([user("hi"), assistant("s1", parts)], specification, limit).at(-1);
  if (message?.role !== "tool") return [];
  return message.content.flatMap((content) => (content.type === "tool-result" ? [content.output] : []));
}

describe("grouping", () => {
  it("each step is one assistant message and the results of its calls, in their order", () => {
    const message_id = "message:a";
    const prompt = prompt_of([
      user("go", "on"),
      assistant("s1", [text("First."), tool("c1", { output: 1 }), tool("c2", { output: "two" })], message_id),
      assistant("s2", [tool("c3", { output: null }), text("Then.")], message_id),
      assistant("s3", [text("Done.")], message_id),
      user("thanks"),
    ]);
    expect(prompt).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "go" },
          { type: "text", text: "on" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "First." },
          { type: "tool-call", toolCallId: "c1", toolName: "write", input: {} },
          { type: "tool-call", toolCallId: "c2", toolName: "write", input: {} },
        ],
      },
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "c1", toolName: "write", output: { type: "json", value: 1 } },
          {
            type: "tool-result",
            toolCallId: "c2",
            toolName: "write",
            output: { type: "text", value: "two" },
          },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "tool-call", toolCallId: "c3", toolName: "write", input: {} },
          { type: "text", text: "Then." },
        ],
      },
      {
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "c3", toolName: "write", output: { type: "json", value: null } },
        ],
      },
      { role: "assistant", content: [{ type: "text", text: "Done." }] },
      { role: "user", content: [{ type: "text", text: "thanks" }] },
    ]);
  });

  it("parts that a model does not read leave no trace", () => {
    const skipped = [
      { type: "action", title: "t", description: "d", state: "completed" },
      { type: "error", error_code: "X", message: "m" },
      { type: "interaction", interaction: {} },
      { type: "data", data: 1 },
      { type: "source", source_type: "url", url: "x" },
      text(""),
      text(" \n"),
      reasoning(""),
    ];
    expect(
      prompt_of([user("hi"), assistant("s1", skipped), assistant("s2", [...skipped, text("yes")])]),
    ).toEqual([
      { role: "user", content: [{ type: "text", text: "hi" }] },
      { role: "assistant", content: [{ type: "text", text: "yes" }] },
    ]);
  });

  it("data of a user is read as its JSON", () => {
    const content = [{ type: "text", text: '{"a":1}' }];
    expect(prompt_of([user({ type: "data", data: { a: 1 } })])).toEqual([{ role: "user", content }]);
  });

  it("an empty text with nothing of a provider's own is left out", () => {
    const empty = { text: "", provider_metadata: {} };
    const own = { text: "", provider_metadata: { own: { s: 1 } } };
    const parts = [
      { type: "text", ...empty },
      { type: "reasoning", ...empty },
      { type: "reasoning", ...own },
      { type: "text", ...own },
    ];
    const [, message] = prompt_of([user("hi"), assistant("s1", parts)]);
    expect(content_of<{ type: string }>(message).map(({ type }) => type)).toEqual(["reasoning", "text"]);
  });

  it("a thought that led to nothing is left out", () => {
    expect(prompt_of([user("hi"), assistant("s1", [reasoning("hm", { p: { s: 1 } })])])).toHaveLength(1);
  });
});

describe("metadata", () => {
  it("of every part comes back as it was, in the order of the parts, also on empty reasoning", () => {
    const [a, b, c, d] = [1, 2, 3, 4].map((n) => ({ own: { z: n, a: { sig: "s" } } }));
    const prompt = prompt_of([
      user("hi"),
      assistant("s1", [
        reasoning("", a),
        tool("c1", { output: 1, provider_metadata: b }),
        reasoning("more", c),
        tool("c2", { state: "failed", error: "bad", provider_metadata: d }),
        text("so", a),
      ]),
    ]);
    expect(prompt[1]?.content).toEqual([
      { type: "reasoning", text: "", providerOptions: a },
      { type: "tool-call", toolCallId: "c1", toolName: "write", input: {}, providerOptions: b },
      { type: "reasoning", text: "more", providerOptions: c },
      { type: "tool-call", toolCallId: "c2", toolName: "write", input: {}, providerOptions: d },
      { type: "text", text: "so", providerOptions: a },
    ]);
    expect(JSON.stringify(prompt[1])).toContain('"providerOptions":{"own":{"z":1,"a":{"sig":"s"}}}');
  });
});

describe("the input of a call", () => {
  it.each<[string, object, string]>([
    ["keeps the order of its keys", { input: { z: 1, a: { y: 2, b: 3 } } }, '{"z":1,"a":{"y":2,"b":3}}'],
    [
      "gets the explanation back",
      { input: { a: 1 }, model_explanation: "because" },
      '{"a":1,"model_explanation":"because"}',
    ],
    [
      "is empty where it could not be parsed",
      { input: undefined, input_text: '{"a":', state: "failed", error: "x" },
      "{}",
    ],
    ["is empty where it was a list", { input: [1], state: "failed", error: "x" }, "{}"],
    ["keeps `__proto__` as data", { input: JSON.parse('{"__proto__":{"x":1}}') }, '{"__proto__":{"x":1}}'],
  ])("%s", (_name, fields, expected) => {
    const [, message] = prompt_of([user("hi"), assistant("s1", [tool("c1", fields)])]);
    const [call] = content_of<{ input: unknown }>(message);
    expect(JSON.stringify(call?.input)).toBe(expected);
  });

  it("an invented name is sent as a name", () => {
    const [, message] = prompt_of([
      user("hi"),
      assistant("s1", [tool("c1", { tool_name: "" }), tool("c2", { tool_name: "get weather!" })]),
    ]);
    expect(content_of<{ toolName: string }>(message).map(({ toolName }) => toolName)).toEqual([
      "unknown_tool",
      "get_weather_",
    ]);
  });
});

describe.each(SPECIFICATIONS)("results in specification %s", (specification) => {
  it("each end has its own form, and none is empty", () => {
    const denied = {
      state: "failed",
      error_code: "denied",
      error: "The user denied this call, so it was not executed. Reason: use /tmp",
    } as const;
    expect(
      outputs_of(
        [
          tool("c1", { output: { a: [1] } }),
          tool("c2", { output: "text" }),
          tool("c3", { output: "" }),
          tool("c4", { output: undefined }),
          tool("c5", { state: "failed", error: "went wrong" }),
          tool("c6", { state: "failed", error: "" }),
          tool("c7", denied),
          tool("c8", { ...denied, error: undefined }),
          tool("c9", { state: "running" }),
          tool("c10", { output: false }),
        ],
        specification,
      ),
    ).toEqual([
      { type: "json", value: { a: [1] } },
      { type: "text", value: "text" },
      { type: "text", value: "(empty result)" },
      { type: "json", value: null },
      { type: "error-text", value: "went wrong" },
      { type: "error-text", value: "The tool call failed." },
      specification === "v2"
        ? { type: "error-text", value: denied.error }
        : { type: "execution-denied", reason: denied.error },
      expect.objectContaining({ type: specification === "v2" ? "error-text" : "execution-denied" }),
      {
        type: "error-text",
        value: "No result of this call was recorded. Whether it was executed is unknown.",
      },
      { type: "json", value: false },
    ]);
  });

  it("files are sent in its own form", () => {
    const file = { type: "file", media_type: "image/png" };
    const prompt = prompt_of(
      [
        user(
          { ...file, data: "AAAA", filename: "a.png" },
          { ...file, url: "https://example.org/a.png" },
          { ...file, url: "data:image/png;base64,BBBB" },
          { ...file, url: "data:,a%20b" },
          { ...file, url: "no url" },
        ),
        assistant("s1", [{ ...file, data: "CCCC", provider_metadata: { p: {} } }]),
      ],
      specification,
    );
    const data = (base64: string) => (specification === "v4" ? { type: "data", data: base64 } : base64);
    const url = new URL("https://example.org/a.png");
    expect(prompt[0]?.content).toEqual([
      { type: "file", mediaType: "image/png", data: data("AAAA"), filename: "a.png" },
      { type: "file", mediaType: "image/png", data: specification === "v4" ? { type: "url", url } : url },
      { type: "file", mediaType: "image/png", data: data("BBBB") },
      { type: "file", mediaType: "image/png", data: data("YSBi") },
      { type: "text", text: "[A file that cannot be read: no url]" },
    ]);
    expect(prompt[1]?.content).toEqual([
      { type: "file", mediaType: "image/png", data: data("CCCC"), providerOptions: { p: {} } },
    ]);
  });
});

describe("long results", () => {
  it("are cut well formed and marked, wherever the limit falls", () => {
    const output = "\u{1f389}".repeat(50);
    for (let limit = 1; limit <= 20; limit += 1) {
      const [cut] = outputs_of([tool("c1", { output })], "v3", limit) as [{ value: string }];
      const kept = limit - (limit % 2);
      expect(cut.value).toBe(
        `${output.slice(0, kept)}\n[${100 - kept} of 100 characters were left out here]`,
      );
    }
  });

  it("JSON becomes text when it is cut, and errors and denials are cut too", () => {
    const long = "x".repeat(100);
    const denied = { state: "failed", error_code: "denied", error: long } as const;
    const outputs = outputs_of(
      [tool("c1", { output: { a: long } }), tool("c2", { state: "failed", error: long }), tool("c3", denied)],
      "v3",
      10,
    );
    expect(outputs).toEqual([
      { type: "text", value: '{"a":"xxxx\n[98 of 108 characters were left out here]' },
      { type: "error-text", value: "xxxxxxxxxx\n[90 of 100 characters were left out here]" },
      { type: "execution-denied", reason: "xxxxxxxxxx\n[90 of 100 characters were left out here]" },
    ]);
  });

  it("those of exactly the limit are whole", () => {
    expect(outputs_of([tool("c1", { output: "0123456789" })], "v3", 10)).toEqual([
      { type: "text", value: "0123456789" },
    ]);
  });
});

describe("calls that the provider ran", () => {
  it("keep their results in the assistant message, whole", () => {
    const output = [{ url: "x".repeat(100) }];
    const prompt = prompt_of(
      [
        user("hi"),
        assistant("s1", [
          tool("p1", { provider_executed: true, output }),
          tool("c1", { output: 1 }),
          tool("p2", { provider_executed: true, state: "failed", error: "quota" }),
        ]),
      ],
      "v3",
      10,
    );
    expect(prompt.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(prompt[1]?.content).toMatchObject([
      { type: "tool-call", toolCallId: "p1", providerExecuted: true },
      { type: "tool-result", toolCallId: "p1", output: { type: "json", value: output } },
      { type: "tool-call", toolCallId: "c1" },
      { type: "tool-call", toolCallId: "p2", providerExecuted: true },
      { type: "tool-result", toolCallId: "p2", output: { type: "error-text", value: "quota" } },
    ]);
    expect(prompt[2]?.content).toHaveLength(1);
  });
});

describe("growing", () => {
  it("new Parts of a Message that grew are added, in a fresh array each time", () => {
    const history = new PromptHistory({ max_tool_result_chars: 1000 });
    history.append([user("hi"), assistant("s1", [tool("c1", { output: 1 })], "message:a")]);
    const first = history.prompt("Be brief.", "v3");
    history.append([assistant("s2", [text("done")], "message:a")]);
    const second = history.prompt("Be brief.", "v3");
    expect(first).toHaveLength(4);
    expect(second).toHaveLength(5);
    expect(second[0]).toEqual({ role: "system", content: "Be brief." });
    expect(second.slice(1, 4)).toEqual(first.slice(1));
    for (const index of [1, 2, 3]) expect(second[index]).toBe(first[index]);
    second.push(second[0] as PromptMessage);
    expect(history.prompt("Be brief.", "v3")).toHaveLength(5);
  });

  it("a Part that is given again replaces what was known of it", () => {
    const history = new PromptHistory({ max_tool_result_chars: 1000 });
    const running = assistant("s1", [tool("c1", { state: "running" })]);
    history.append([running]);
    history.prompt(undefined, "v3");
    const [part] = running.parts;
    history.append([{ ...running, parts: [{ ...part, state: "completed", output: 7 } as never] }]);
    const prompt = history.prompt(undefined, "v3");
    expect(prompt).toHaveLength(2);
    expect(prompt[1]?.content).toMatchObject([{ output: { type: "json", value: 7 } }]);
  });

  it("another specification is converted anew, so that a Session can change its model", () => {
    const history = new PromptHistory({ max_tool_result_chars: 1000 });
    history.append([
      user("hi"),
      assistant("s1", [tool("c1", { state: "failed", error_code: "denied", error: "no" })]),
    ]);
    const kinds = SPECIFICATIONS.map((specification) => {
      const prompt = history.prompt(undefined, specification);
      assert_strict_prompt(prompt, specification);
      return content_of<{ output: { type: string } }>(prompt.at(-1))[0]?.output.type;
    });
    expect(kinds).toEqual(["error-text", "execution-denied", "execution-denied"]);
  });

  it("nothing a model does to the prompt changes the history", () => {
    const history = new PromptHistory({ max_tool_result_chars: 1000 });
    history.append([
      user("hi"),
      assistant("s1", [tool("c1", { input: { a: { b: 1 } }, output: { c: [1] } })]),
    ]);
    const [, message] = history.prompt(undefined, "v3");
    const [call] = content_of<{ input: { a: { b: number } } }>(message);
    expect(() => {
      if (call) call.input.a.b = 2;
    }).toThrow(TypeError);
  });
});
