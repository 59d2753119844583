/** The optional tool by which a model asks a person. */
import type {
  QuestionAnswer,
  QuestionInput,
  QuestionInteraction,
  QuestionOption,
} from "../../types/interaction.js";
import type { AgentTool, ToolContext } from "../../types/tool.js";
import { found } from "../errors.js";
import { fields_of } from "../fields.js";

const OPTION = {
  type: "object",
  properties: {
    value: { type: "string", minLength: 1, description: "What comes back when this option is chosen." },
    label: { type: "string", minLength: 1, description: "What the person reads." },
    description: { type: "string" },
  },
  required: ["value", "label"],
};

const QUESTION = {
  type: "object",
  properties: {
    question: { type: "string", minLength: 1 },
    type: {
      type: "string",
      enum: ["text", "single_select", "multi_select"],
      description:
        "text: a free answer, without options. single_select: one option. multi_select: any number of options.",
    },
    options: { type: "array", items: OPTION, description: "For the select types only; at least one." },
  },
  required: ["question", "type"],
};

const INPUT = {
  type: "object",
  properties: {
    title: { type: "string", description: "A short heading for all the questions." },
    questions: { type: "array", minItems: 1, items: QUESTION },
  },
  required: ["questions"],
};

/** What the tool returns to the model, in the order of the questions. */
export interface AskQuestionsResult {
  status: "resolved";
  answers: QuestionAnswer[];
}

/**
 * Lets the model ask the person structured questions and wait for the answers within the Turn. An Agent has it
 * only where it is registered: `tools: { ask_question: AskQuestionsTool }`. When the person declines, the call
 * fails with their reason. It survives a restart.
 */
export const AskQuestionsTool: AgentTool<{ [keyword: string]: unknown }, AskQuestionsResult> = {
  title: "Ask the user",
  description:
    "Ask the user one or more questions and wait for the answers. Use it when something is missing that would " +
    "change the outcome, and only the user can say.",
  input_schema: INPUT,
  resume: "replay",
  execute: async (input, context) => {
    const { title, questions } = questions_of(input);
    const handle = await context.interactions.request<QuestionInteraction>(
      request(title, questions, context),
    );
    return answers_of(await handle.result);
  },
};

function request(title: string | undefined, questions: QuestionInput[], context: ToolContext) {
  return {
    type: "question" as const,
    turn_id: context.turn_id,
    tool_call_id: context.tool_call_id,
    ...(title === undefined ? {} : { title }),
    payload: { questions },
  };
}

/** What the schema cannot say in words that help is checked here, before anything is asked. */
function questions_of(input: unknown): { title?: string; questions: QuestionInput[] } {
  const { title, questions } = fields_of(input);
  const problems: string[] = [];
  if (title !== undefined && typeof title !== "string")
    problems.push(`title has to be a string or left out; it is ${found(title)}`);
  const list = Array.isArray(questions) ? questions : [];
  if (list.length === 0)
    problems.push(`questions has to be an array of at least one question; it is ${empty_or(questions)}`);
  const checked = list.map((question, index) => question_of(question, `questions[${index}]`, problems));
  if (problems.length > 0) {
    throw new Error(`Nothing was asked. Correct this and call the tool again:\n- ${problems.join("\n- ")}`);
  }
  return { title: title as string | undefined, questions: checked };
}

function empty_or(list: unknown): string {
  return Array.isArray(list) ? "an empty array" : found(list);
}

const TYPES = ["text", "single_select", "multi_select"];

function question_of(value: unknown, place: string, problems: string[]): QuestionInput {
  const { question, type, options } = fields_of(value);
  if (!is_text(question))
    problems.push(`${place}.question has to be a non-empty string; it is ${found(question)}`);
  if (typeof type !== "string" || !TYPES.includes(type)) {
    problems.push(
      `${place}.type has to be given as "text", "single_select" or "multi_select"; it is ${found(type)}`,
    );
  }
  const asked = { question, type } as QuestionInput;
  const list: unknown[] = Array.isArray(options) ? options : [];
  if (type === "text") {
    if (list.length > 0)
      problems.push(`${place} is of type "text" and cannot have options: remove them or use a select type`);
    return asked;
  }
  if (list.length === 0) {
    problems.push(
      `${place}.options has to list at least one option with value and label, unless the type is "text"`,
    );
  }
  asked.options = list.map((option, index) => option_of(option, `${place}.options[${index}]`, problems));
  report_repeated(asked.options, place, problems);
  return asked;
}

function option_of(option: unknown, place: string, problems: string[]): QuestionOption {
  const { value, label, description } = fields_of(option);
  if (!is_text(value)) problems.push(`${place}.value has to be a non-empty string; it is ${found(value)}`);
  if (!is_text(label)) problems.push(`${place}.label has to be a non-empty string; it is ${found(label)}`);
  const checked = { value, label } as QuestionOption;
  if (is_text(description)) checked.description = description;
  return checked;
}

function report_repeated(options: QuestionOption[], place: string, problems: string[]): void {
  const seen = new Set<unknown>();
  for (const { value } of options) {
    if (is_text(value) && seen.has(value))
      problems.push(`${place}.options has the value ${JSON.stringify(value)} twice`);
    seen.add(value);
  }
}

function is_text(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function answers_of(interaction: QuestionInteraction): AskQuestionsResult {
  const { response } = interaction;
  if (response?.outcome !== "resolved") {
    throw new Error(
      response?.reason ? `The user declined to answer: ${response.reason}` : "The user declined to answer.",
    );
  }
  const given = new Map(response.payload.answers.map((answer) => [answer.question_id, answer.value]));
  const answers = interaction.payload.questions.map(({ question_id }) => ({
    question_id,
    value: given.get(question_id) ?? "",
  }));
  return { status: "resolved", answers };
}
