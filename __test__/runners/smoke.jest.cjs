const { define } = require("./smoke_suite.cjs");

define(test);
