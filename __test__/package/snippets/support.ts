// The values that the documented snippets leave open: a Session with a model that calls tools.
import { Agent, define_agent_tool, type Session } from "@downcity/agent";
import { ScriptedModel } from "@downcity/agent/testing";
import { AskQuestionsTool } from "@downcity/agent/tools";
import { z } from "zod";

export const region_question = {
  title: "Choose a deployment region",
  questions: [
    {
      question: "Which region should receive the deployment?",
      type: "single_select",
      options: [
        { value: "cn", label: "China" },
        { value: "us", label: "United States" },
      ],
    },
  ],
};

const INPUTS: { [tool: string]: unknown } = {
  delete_file: { path: "a.txt" },
  ask_question: region_question,
  ask_region_and_features: {},
};

/** A function that keeps what it is called with. */
export function spied<T>(): { call: (value: T) => void; first: Promise<T> } {
  let call!: (value: T) => void;
  const first = new Promise<T>((resolve) => {
    call = resolve;
  });
  return { call, first };
}

export interface Opened {
  session: Session;
  model: ScriptedModel;
  deleted: string[];
}

export async function open_session({ calls = ["delete_file"] } = {}): Promise<Opened> {
  const deleted: string[] = [];
  const delete_file = define_agent_tool({
    description: "Deletes a file.",
    input_schema: z.object({ path: z.string() }),
    execute: async ({ path }, context) => {
      const decision = await context.interactions.approval.request({ payload: { operation: "tool" } });
      if (decision.approved) deleted.push(path);
      return { deleted: decision.approved };
    },
  });
  const ask_region_and_features = define_agent_tool({
    input_schema: z.object({}),
    execute: async (_, context) => {
      const options = (...values: string[]) => values.map((value) => ({ value, label: `The ${value}` }));
      const { result } = await context.interactions.request({
        type: "question",
        payload: {
          questions: [
            {
              question_id: "region",
              question: "Where?",
              type: "single_select",
              options: options("cn", "us"),
            },
            {
              question_id: "features",
              question: "With what?",
              type: "multi_select",
              options: options("search", "files", "mail"),
            },
          ],
        },
      });
      return (await result).response;
    },
  });
  const model = new ScriptedModel([calls.map((call) => ({ call, input: INPUTS[call] })), "Done."]);
  const tools = { delete_file, ask_region_and_features, ask_question: AskQuestionsTool };
  const session = await new Agent({ id: "snippets", model, tools }).sessions.create();
  return { session, model, deleted };
}
