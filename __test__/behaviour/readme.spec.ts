/** The documents' programs are what they say they are, and run as they stand. */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { temporary_folder } from "../support/stores.js";

function text_of(path: string): string {
  return readFileSync(join(process.cwd(), path), "utf8");
}

/** The programs in a document: its blocks that import something. */
function programs_in(path: string): string[] {
  const blocks = [...text_of(path).matchAll(/^```js\n(.*?)^```$/gms)].map(([, block = ""]) => block);
  return blocks.filter((block) => block.startsWith("import ") && block.includes("new Agent("));
}

/** Runs an ES module from the repository's root; its temporary files go with the test. */
async function run(source: string): Promise<{ code: number | null; said: string; complained: string }> {
  const child = spawn(process.execPath, ["--input-type=module"], {
    env: { ...process.env, TMPDIR: temporary_folder() },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  child.stdin.end(source);
  const closed = new Promise<number | null>((resolve) => child.on("close", resolve));
  const [said, complained, code] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { code, said, complained };
}

test("the README shows examples/hello.mjs as it is", () => {
  expect(programs_in("README.md")).toEqual([text_of("examples/hello.mjs")]);
});

test("the README's example runs, asks once and ends by itself", async () => {
  const said = "May it call deploy with { region: 'eu' } ? Yes.\nThe site is live.\n";
  expect(await run(text_of("examples/hello.mjs"))).toEqual({ code: 0, said, complained: "" });
});

test("the replay tool in docs/durability.md is entered twice and orders once", async () => {
  const [program = ""] = programs_in("docs/durability.md");
  const said = ["Entered.", "Entered again.", "The same question: true", "It is ordered. Orders: 1"];
  const ended = await run(program);
  expect({ ...ended, said: ended.said.trim().split("\n").sort() }).toEqual({
    code: 0,
    said: said.sort(),
    complained: "",
  });
});

test("the program in docs/testing-agents.md finds everything as it says", async () => {
  const [program = ""] = programs_in("docs/testing-agents.md");
  expect(await run(program)).toEqual({ code: 0, said: "As expected.\n", complained: "" });
});

test("every link between the documents leads somewhere", () => {
  const documents = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
  const pages = readdirSync(join(process.cwd(), "docs"), { recursive: true, encoding: "utf8" });
  documents.push(...pages.filter((page) => page.endsWith(".md")).map((page) => `docs/${page}`));
  expect(documents).toContain("docs/decisions/group-commit.md");
  const broken = documents.flatMap((from) => links_in(from).filter((link) => !leads_somewhere(from, link)));
  expect(broken).toEqual([]);
});

function links_in(path: string): string[] {
  const targets = [...text_of(path).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  return targets.filter((target) => !/^[a-z]+:/.test(target));
}

function leads_somewhere(from: string, link: string): boolean {
  const [path = "", heading] = link.split("#");
  const target = path === "" ? from : join(from, "..", path);
  try {
    return heading === undefined ? text_of(target) !== "" : headings_of(target).includes(heading);
  } catch {
    return false;
  }
}

/** As they are written in links: in lower case, without punctuation, with hyphens for blanks. */
function headings_of(path: string): string[] {
  const lines = text_of(path)
    .split("\n")
    .filter((line) => /^#+ /.test(line));
  const words = lines.map((line) => line.replace(/^#+ /, "").toLowerCase());
  return words.map((word) => word.replace(/[^a-z0-9 _-]/g, "").replaceAll(" ", "-"));
}
