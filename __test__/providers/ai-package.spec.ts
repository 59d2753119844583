/** Models and tools as the `ai` package makes them; 6 here, 7 where the newer line is tested. */
import { Agent, memory } from "@downcity/agent";
import { next_interaction, ScriptedModel } from "@downcity/agent/testing";
import type * as Ai from "ai";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { ask } from "../support/journey.js";
import { ai_package, WRAPPED } from "../support/provider-lines.js";

type Model = Parameters<typeof Ai.wrapLanguageModel>[0]["model"];

describe.each(WRAPPED)("a model of %s in a wrapper", (specification) => {
  it("is taken, with the settings and changes of its middleware", async () => {
    const ai = await ai_package();
    const inner = new ScriptedModel(
      [[{ text: "<think>hm</think>Let me." }, { call: "save", input: { n: "1" } }], "Saved."],
      { specification },
    );
    const settings: object[] = [];
    const model = ai.wrapLanguageModel({
      model: inner as unknown as Model,
      middleware: [
        ai.defaultSettingsMiddleware({ settings: { providerOptions: { own: { effort: "low" } } } }),
        ai.extractReasoningMiddleware({ tagName: "think" }),
        {
          specificationVersion: specification as "v3",
          wrapStream: ({ doStream, params }) => {
            settings.push(params.providerOptions ?? {});
            return doStream();
          },
        },
      ],
    });
    const saved: number[] = [];
    const save = ai.tool({
      description: "Saves.",
      inputSchema: z.object({ n: z.coerce.number() }),
      needsApproval: true,
      execute: ({ n }) => {
        saved.push(n);
        return { saved: n };
      },
    });
    const agent = new Agent({ id: "wrapped", storage: memory(), model, tools: { save } });
    onTestFinished(() => agent.dispose());
    const session = await agent.sessions.create();
    const running = ask(session);
    const { interaction_id, payload } = await next_interaction(session);
    expect(payload).toMatchObject({ validated_input: { n: 1 } });
    const response = { type: "approval", outcome: "resolved", payload: { decision: "approved" } } as const;
    await session.respond({ interaction_id, response });
    expect(await running).toMatchObject({ success: true, text: "Saved." });
    expect(saved).toEqual([1]);
    expect(settings).toEqual([{ own: { effort: "low" } }, { own: { effort: "low" } }]);
    const { items } = await session.messages();
    expect(items.at(-1)?.parts.slice(0, 2)).toMatchObject([
      { type: "reasoning", text: "hm" },
      { type: "text", text: "Let me." },
    ]);
  });
});
