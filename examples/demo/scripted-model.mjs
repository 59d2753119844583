// A language model without a language model: an AI SDK LanguageModel (specification v3) that follows a script.
// It knows nothing but the prompt it is given, so what a person answers really decides what it does next.

const SUMMARY = "summary.md";
const STYLES = [
  { value: "bullets", label: "Bullet points", description: "Short and easy to scan" },
  { value: "prose", label: "Sentences", description: "One paragraph for each file" },
  { value: "table", label: "A table", description: "One row for each note" },
];

export const scripted_model = {
  specificationVersion: "v3",
  provider: "scripted",
  modelId: "note-keeper",
  supportedUrls: {},
  async doStream({ prompt, abortSignal }) {
    const done = calls_in(prompt);
    return { stream: stream_of(next_step(done), done.length, abortSignal) };
  },
  async doGenerate() {
    throw new Error("This model only streams.");
  },
};

/** What has been called since the last word of the user, each with its result. */
function calls_in(prompt) {
  const from = prompt.findLastIndex((message) => message.role === "user");
  const contents = prompt.slice(from + 1).flatMap((message) => message.content);
  const results = new Map();
  for (const item of contents) if (item.type === "tool-result") results.set(item.toolCallId, item.output);
  return contents
    .filter((item) => item.type === "tool-call")
    .map(({ toolCallId, toolName, input }) => ({ name: toolName, input, ...read(results.get(toolCallId)) }));
}

function read(output) {
  if (output?.type === "json") return { ok: true, value: output.value };
  const why = output?.value ?? output?.reason ?? "no result";
  return { ok: false, error: String(why) };
}

/** `{ text, calls }`: what it says, and the tools it calls then. */
function next_step(done) {
  const all = (name) => done.filter((call) => call.name === name);
  const [listed] = all("list_files");
  if (!listed) return step("I will see which notes there are.", call("list_files", {}));
  if (!listed.ok) return step(`I cannot see the files, so I stop here: ${listed.error}`);
  const names = listed.value.files.map((file) => file.name);
  const outdated = names.find((name) => name.endsWith("-old.md"));
  const notes = names.filter((name) => name.endsWith(".md") && name !== outdated);

  const [asked] = all("ask_question");
  if (!asked) return step("Before I write anything, I need to know what you want.", question(notes));
  if (!asked.ok) return step(`Then I leave everything as it is. (${asked.error})`);
  const [chosen, style, heading] = asked.value.answers.map((answer) => answer.value);

  const reads = all("read_file");
  const unread = chosen.filter((name) => !reads.some((call) => call.input.path === name));
  if (unread.length > 0) {
    return step("I read what you chose.", ...unread.map((name) => call("read_file", { path: name })));
  }
  const [written] = all("write_file");
  if (!written && chosen.length > 0) {
    const text = summary(
      heading,
      style,
      reads.filter((call) => call.ok).map((call) => call.value),
    );
    return step(`Now I write ${SUMMARY}.`, call("write_file", { path: SUMMARY, text }));
  }
  const [deleted] = all("delete_file");
  if (!deleted && outdated) {
    const newer = outdated.replace("-old", "");
    const model_explanation = `${outdated} looks like an older version of ${newer}, and nothing refers to it.`;
    return step(
      `${outdated} seems to be outdated. I would like to delete it.`,
      call("delete_file", { path: outdated, model_explanation }),
    );
  }
  const [counted, looked] = all("shell");
  if (!counted) return step("A last look at how much there is.", call("shell", { command: "wc -w *.md" }));
  if (!looked) {
    return step(
      "I would also like to know whether folders of earlier demos are left. The sandbox hides them from me.",
      call("shell", {
        command: "ls -d ../downcity-demo-*",
        reason: "In the sandbox I only see this Workspace, and the folders of other runs are beside it.",
        unrestricted: true,
      }),
    );
  }
  return step(`${closing(chosen, style, written, deleted)} ${report(counted, looked)}`);
}

function report(counted, looked) {
  const words = /(\d+) total/.exec(counted.ok ? counted.value.stdout : "")?.[1];
  const folders = looked.ok ? looked.value.stdout.trim().split("\n").length : 0;
  const count = words === undefined ? "The words could not be counted." : `The notes have ${words} words.`;
  if (!looked.ok) return `${count} I did not look for other folders.`;
  return `${count} ${folders === 1 ? "There is one folder" : `There are ${folders} folders`} of this demo.`;
}

function question(notes) {
  return call("ask_question", {
    title: "About your summary",
    questions: [
      {
        question: "Which files should go into the summary?",
        type: "multi_select",
        options: notes.map((name) => ({ value: name, label: name })),
      },
      { question: "In which style?", type: "single_select", options: STYLES },
      { question: "What should the heading be?", type: "text" },
    ],
  });
}

function closing(chosen, style, written, deleted) {
  const label = STYLES.find((known) => known.value === style)?.label.toLowerCase() ?? style;
  const sentences = [];
  if (!written) sentences.push("You chose no file, so I wrote no summary.");
  else if (written.ok) sentences.push(`${SUMMARY} now holds ${chosen.join(", ")} (${label}).`);
  else sentences.push(`I could not write ${SUMMARY}: ${written.error}`);
  if (deleted?.ok && deleted.value.deleted) sentences.push(`I deleted ${deleted.value.deleted}.`);
  else if (deleted?.ok) sentences.push(kept(deleted));
  else if (deleted) sentences.push(`I could not delete ${deleted.input.path}: ${deleted.error}`);
  return sentences.join(" ");
}

function kept({ input, value }) {
  const because = value.reason ? ` (your reason: ${value.reason})` : "";
  return `You did not want ${input.path} deleted${because}, so it is still there.`;
}

function summary(heading, style, files) {
  const sections = files.map(({ path, text }) => ({ title: title_of(path, text), notes: notes_of(text) }));
  return `# ${heading.trim() || "Summary"}\n\n${WRITERS[style](sections)}\n`;
}

const WRITERS = {
  bullets: (sections) =>
    sections
      .map(({ title, notes }) => [`## ${title}`, "", ...notes.map((note) => `- ${note}`)].join("\n"))
      .join("\n\n"),
  prose: (sections) => sections.map(({ title, notes }) => `**${title}.** ${notes.join(". ")}.`).join("\n\n"),
  table: (sections) =>
    ["| From | Note |", "| --- | --- |"]
      .concat(sections.flatMap(({ title, notes }) => notes.map((note) => `| ${title} | ${note} |`)))
      .join("\n"),
};

function title_of(path, text) {
  return /^# (.+)$/m.exec(text)?.[1] ?? path;
}

function notes_of(text) {
  return [...text.matchAll(/^- (.+)$/gm)].map((match) => match[1]);
}

function step(text, ...calls) {
  return { text, calls };
}

function call(name, input) {
  return { name, input };
}

const PACE_MS = 30;

/** Says it word by word and writes the arguments in pieces, as a real model does. */
function stream_of({ text, calls }, calls_before, signal) {
  return ReadableStream.from(parts());
  async function* parts() {
    yield { type: "stream-start", warnings: [] };
    yield { type: "text-start", id: "text" };
    for (const word of text.split(/(?<= )/)) {
      await pause(signal);
      yield { type: "text-delta", id: "text", delta: word };
    }
    yield { type: "text-end", id: "text" };
    for (const [index, { name, input }] of calls.entries()) {
      const id = `call-${calls_before + index + 1}`;
      const json = JSON.stringify(input);
      yield { type: "tool-input-start", id, toolName: name };
      for (const delta of json.match(/.{1,60}/gsu) ?? []) yield { type: "tool-input-delta", id, delta };
      yield { type: "tool-input-end", id };
      yield { type: "tool-call", toolCallId: id, toolName: name, input: json };
    }
    const unified = calls.length > 0 ? "tool-calls" : "stop";
    yield { type: "finish", finishReason: { unified, raw: unified }, usage: usage_of(text, calls) };
  }
}

function usage_of(text, calls) {
  const words = text.split(" ").length + calls.length;
  return {
    inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: words, text: words, reasoning: 0 },
  };
}

function pause(signal) {
  signal?.throwIfAborted();
  return new Promise((resolve) => setTimeout(resolve, PACE_MS));
}
