// An ES module sees every export by name, and the same classes as CommonJS.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import * as agent from "@downcity/agent";
import * as ai_sdk from "@downcity/agent/ai-sdk";
import * as testing from "@downcity/agent/testing";
import * as tools from "@downcity/agent/tools";
import * as city from "@downcity/city";
import * as type from "@downcity/type";

const require = createRequire(import.meta.url);
const names = (module) =>
  Object.keys(module)
    .filter((name) => name !== "default")
    .sort();
const entries = {
  "@downcity/agent": agent,
  "@downcity/agent/ai-sdk": ai_sdk,
  "@downcity/agent/tools": tools,
  "@downcity/agent/testing": testing,
  "@downcity/city": city,
  "@downcity/type": type,
};
for (const [name, module] of Object.entries(entries)) {
  const common = require(name);
  assert.deepEqual(names(module), names(common), `the names of ${name}`);
  for (const key of names(common)) assert.equal(module[key], common[key], `${key} of ${name}`);
}
assert.equal(city.Workspace, agent.Workspace);
assert.equal(tools.AskQuestionsTool, agent.AskQuestionsTool);
assert.equal(tools.ShellTool, agent.ShellTool);
assert.throws(() => new agent.Agent(), agent.SessionError);
