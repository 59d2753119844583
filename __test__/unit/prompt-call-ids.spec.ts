import { describe, expect, it } from "vitest";
import { PromptHistory } from "../../lib/model/history.js";
import { assert_strict_prompt } from "../../lib/testing/index.js";
import { assistant, content_of, type LoosePart, tool, user } from "../support/messages.js";

describe("call ids", () => {
  const ids = (parts: LoosePart[]): string[] => {
    const history = new PromptHistory({ max_tool_result_chars: 1000 });
    history.append([user("hi"), assistant("s1", parts)]);
    const prompt = history.prompt(undefined, "v3");
    assert_strict_prompt(prompt, "v3");
    const [, message, results] = prompt;
    const calls = content_of<{ toolCallId: string }>(message).map(({ toolCallId }) => toolCallId);
    expect(content_of<{ toolCallId: string }>(results).map(({ toolCallId }) => toolCallId)).toEqual(calls);
    return calls;
  };

  it("the provider's own come back, where they are usable", () => {
    expect(ids([tool("call:1", { provider_tool_call_id: "call_0" }), tool("functions.x:1", {})])).toEqual([
      "call_0",
      "functions.x:1",
    ]);
  });

  it("empty and repeated ones are replaced by ours, in characters every provider takes", () => {
    expect(
      ids([
        tool("call:1", { provider_tool_call_id: "" }),
        tool("call:2", { provider_tool_call_id: "same" }),
        tool("same", {}),
        tool("call:3", { provider_tool_call_id: "other" }),
      ]),
    ).toEqual(["call_1", "call_2", "same", "other"]);
  });

  it("every id of the history is taken", () => {
    const history = new PromptHistory({ max_tool_result_chars: 10 });
    history.append([assistant("s1", [tool("call:1", { provider_tool_call_id: "p" })])]);
    expect(["", "call:1", "p", "new", "new"].map((id) => history.claim(id))).toEqual([
      false,
      false,
      false,
      true,
      false,
    ]);
    history.reset();
    expect(history.claim("p")).toBe(true);
  });
});
