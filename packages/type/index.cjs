const { define_agent_tool, SESSION_APPROVAL_RESPONSE_SCHEMA } = require("@downcity/agent");

module.exports = { define_agent_tool, SESSION_APPROVAL_RESPONSE_SCHEMA };
