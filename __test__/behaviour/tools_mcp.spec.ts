/** Tools of an MCP server, through the client of the official SDK and through that of the AI SDK. */
import { createMCPClient } from "@ai-sdk/mcp";
import { with_approval } from "@downcity/agent";
import { mcp_tools } from "@downcity/agent/tools";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import {
  answer_next,
  approve,
  calls_of,
  deny,
  open,
  refusal_of,
  results_in,
  run,
  type Tools,
} from "../support/session.js";
import { memory_store, sqlite_store } from "../support/stores.js";

/** A server with a tool that works, one that fails and one that waits; `seen` is what reached it. */
function server() {
  const seen: unknown[] = [];
  const aborted: string[] = [];
  const mcp = new McpServer({ name: "files", version: "1.0.0" });
  const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
  const inputSchema = { path: z.string().describe("Where"), lines: z.number().int().optional() };
  mcp.registerTool("read", { title: "Read", description: "Reads a file.", inputSchema }, (input) => {
    seen.push(input);
    return {
      content: [
        ...text(`content of ${input.path}`).content,
        { type: "image", data: "AA==", mimeType: "image/png" },
      ],
    };
  });
  mcp.registerTool("fail", { description: "Fails.", inputSchema }, () => ({
    ...text("no such file"),
    isError: true,
  }));
  mcp.registerTool("wait", { description: "Waits." }, ({ signal }) => {
    seen.push("waiting");
    return new Promise((settle) => {
      signal.addEventListener("abort", () => {
        aborted.push("wait");
        settle(text("too late"));
      });
    });
  });
  onTestFinished(() => mcp.close());
  return { mcp, seen, aborted };
}

async function official() {
  const { mcp, seen, aborted } = server();
  const [here, there] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "test", version: "1.0.0" });
  await Promise.all([mcp.connect(there), client.connect(here)]);
  onTestFinished(() => client.close());
  return { client, seen, aborted };
}

async function of_ai_sdk(): Promise<{ tools: Tools; seen: unknown[] }> {
  const { mcp, seen } = server();
  const [here, there] = InMemoryTransport.createLinkedPair();
  await mcp.connect(there);
  const client = await createMCPClient({ transport: here as never });
  onTestFinished(() => client.close());
  return { tools: (await client.tools()) as Tools, seen };
}

const CLIENTS: [string, () => Promise<{ tools: Tools; seen: unknown[] }>][] = [
  [
    "the official SDK",
    async () => {
      const { client, seen } = await official();
      return { tools: await mcp_tools(client), seen };
    },
  ],
  ["the AI SDK", of_ai_sdk],
];

test.each(CLIENTS)(
  "tools through %s are shown, judged by their schema, gated and run",
  async (_name, connect) => {
    const { tools, seen } = await connect();
    const gated = { ...tools, read: with_approval(tools.read as NonNullable<typeof tools.read>) };
    const bad = [{ call: "read", input: { path: 5 } }];
    const good = [
      { call: "read", input: { path: "a" } },
      { call: "read", input: { path: "b" } },
    ];
    const { session, model } = await open(sqlite_store, [bad, good, "Done."], { tools: gated });
    const turn = await session.prompt({ query: "Go" });
    await answer_next(session, approve);
    await answer_next(session, (id) => deny(id, "not b"));
    expect((await turn.finished).status).toBe("completed");
    expect(seen).toEqual([{ path: "a" }]);
    const shown = model.requests[0]?.tools.find(({ name }) => name === "read");
    expect(shown).toMatchObject({
      description: "Reads a file.",
      inputSchema: {
        type: "object",
        properties: { path: { type: "string", description: "Where" } },
        required: ["path"],
      },
    });
    const [refused, read, denied] = await calls_of(session);
    expect(refused).toMatchObject({
      state: "failed",
      error_code: "invalid_input",
      error: expect.stringContaining("path"),
    });
    expect(read).toMatchObject({ state: "completed", title: "Read" });
    expect(read?.output).toMatchObject({
      content: [
        { type: "text", text: "content of a" },
        { type: "image", data: "AA==" },
      ],
    });
    expect(denied).toMatchObject({ state: "failed", error_code: "denied" });
    expect(JSON.stringify(results_in(model.prompts[2])[1]?.output)).toContain("content of a");
  },
);

test("what the server says is an error fails the call in its words", async () => {
  const { client } = await official();
  const tools = await mcp_tools(client, { prefix: "files_" });
  expect(Object.keys(tools)).toEqual(["files_read", "files_fail", "files_wait"]);
  const { session, model } = await open(
    memory_store,
    [[{ call: "files_fail", input: { path: "a" } }], "Done."],
    { tools },
  );
  expect((await run(session)).status).toBe("completed");
  expect(await calls_of(session)).toMatchObject([
    { state: "failed", error_code: "tool_failed", error: "no such file" },
  ]);
  expect(results_in(model.prompts[1])[0]?.output).toEqual({ type: "error-text", value: "no such file" });
});

test("stopping the Turn cancels the request at the server", async () => {
  const { client, seen, aborted } = await official();
  const tools = await mcp_tools(client, { timeout: 60_000 });
  const { session } = await open(memory_store, [[{ call: "wait" }]], { tools });
  const turn = await session.prompt({ query: "Go" });
  await expect.poll(() => seen).toEqual(["waiting"]);
  await session.stop();
  expect((await turn.finished).status).toBe("stopped");
  await expect.poll(() => aborted).toEqual(["wait"]);
});

test("what is no client, and options it does not know, are refused in words", async () => {
  const { client } = await official();
  expect((await refusal_of(mcp_tools({} as never))).message).toMatch(
    /connected Client of @modelcontextprotocol\/sdk/,
  );
  expect((await refusal_of(mcp_tools(client, { prefx: "a" } as never))).code).toBe("INVALID_INPUT");
  expect((await refusal_of(mcp_tools(client, { timeout: "1" } as never))).message).toMatch(/timeout/);
});
