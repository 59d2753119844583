/** The tools of an MCP server, through a client of the official SDK; this package does not depend on it. */
import type { AiSdkTool } from "../../types/tool.js";
import { SessionError } from "../errors.js";
import { type Fields, fields_of } from "../fields.js";

/** What is used of `Client` of `@modelcontextprotocol/sdk`. */
export interface McpClient {
  listTools(params?: { cursor?: string }): Promise<{ tools: McpTool[]; nextCursor?: string }>;
  callTool(
    params: { name: string; arguments?: { [name: string]: unknown } },
    schema?: never,
    options?: object,
  ): Promise<unknown>;
}

export interface McpTool {
  name: string;
  title?: string;
  description?: string;
  inputSchema: object;
}

export interface McpToolsOptions {
  /** Goes before each name, so that the tools of several servers can stand side by side. */
  prefix?: string;
  /** Milliseconds without an answer or a sign of progress after which a call fails; the SDK's default is a minute. */
  timeout?: number;
}

/**
 * The tools of a connected MCP client, for `new Agent({ tools })`. A result that the server marks as an error fails the
 * call; the model sees texts and images, the store keeps the result whole. Put `with_approval` around those that a
 * person has to allow: what a server says of its own tools is no security signal.
 *
 * @example
 * const client = new Client({ name: "my-agent", version: "1.0.0" });
 * await client.connect(transport);
 * const agent = new Agent({ id: "helper", model, tools: await mcp_tools(client) });
 *
 * @throws SessionError `INVALID_INPUT` for what is no client; what the client rejects with
 */
export async function mcp_tools(
  client: McpClient,
  options: McpToolsOptions = {},
): Promise<{ [name: string]: AiSdkTool }> {
  check(client, options);
  const tools: [string, AiSdkTool][] = [];
  let cursor: string | undefined;
  do {
    const page = await client.listTools(cursor === undefined ? undefined : { cursor });
    for (const tool of page.tools)
      tools.push([`${options.prefix ?? ""}${tool.name}`, mcp_tool(client, tool, options)]);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return Object.fromEntries(tools);
}

function check(client: unknown, options: unknown): void {
  const { listTools, callTool } = fields_of(client);
  if (typeof listTools !== "function" || typeof callTool !== "function") {
    throw new SessionError(
      "INVALID_INPUT",
      "mcp_tools takes a connected Client of @modelcontextprotocol/sdk. The AI SDK's own MCP client gives tools by " +
        "its tools(), which an Agent takes as they are.",
    );
  }
  const { prefix, timeout } = fields_of(options);
  const known = Object.keys(fields_of(options)).every((key) => key === "prefix" || key === "timeout");
  const fits = (value: unknown, kind: string): boolean => value === undefined || typeof value === kind;
  if (!known || !fits(prefix, "string") || !fits(timeout, "number")) {
    throw new SessionError(
      "INVALID_INPUT",
      "The options of mcp_tools are { prefix } with a string and { timeout } with a number of milliseconds, or left out.",
    );
  }
}

function mcp_tool(client: McpClient, tool: McpTool, { timeout }: McpToolsOptions): AiSdkTool {
  const { name, title, description, inputSchema } = tool;
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    inputSchema,
    execute: async (input: { [name: string]: unknown }, { abortSignal }: { abortSignal?: AbortSignal }) => {
      const limits = timeout === undefined ? {} : { timeout };
      const more = { signal: abortSignal, resetTimeoutOnProgress: true, onprogress: () => {}, ...limits };
      const result = await client.callTool({ name, arguments: input }, undefined, more);
      if (fields_of(result).isError === true) throw new Error(failure(result));
      return result;
    },
    toModelOutput: ({ output }: { output: unknown }) => model_output(output),
  } as AiSdkTool;
}

/** What the server says went wrong. */
function failure(result: unknown): string {
  const texts = blocks_of(result).flatMap(({ type, text }) =>
    type === "text" && typeof text === "string" ? [text] : [],
  );
  return texts.length > 0 ? texts.join("\n") : "The MCP server says that the call failed.";
}

/** Structured content is what the texts beside it say, in JSON. */
function model_output(result: unknown): object {
  const blocks = blocks_of(result);
  const { structuredContent } = fields_of(result);
  if (blocks.length === 0) return { type: "json", value: structuredContent ?? result };
  return { type: "content", value: blocks.map(item_of) };
}

function item_of(block: Fields): object {
  const { type, text, data, mimeType } = block;
  if (type === "text" && typeof text === "string") return { type: "text", text };
  if ((type === "image" || type === "audio") && typeof data === "string" && typeof mimeType === "string") {
    return { type: "media", data, mediaType: mimeType };
  }
  const resource = fields_of(block.resource);
  if (type === "resource" && typeof resource.text === "string") return { type: "text", text: resource.text };
  return { type: "text", text: JSON.stringify(block) };
}

function blocks_of(result: unknown): Fields[] {
  const { content } = fields_of(result);
  return Array.isArray(content) ? content.map(fields_of) : [];
}
