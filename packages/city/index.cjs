const { Workspace } = require("@downcity/agent");

module.exports = { Workspace };
