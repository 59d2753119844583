const { define } = require("../cases/realms.cjs");

define(test);
