const { define } = require("../suites/error_codes.cjs");

define(test);
