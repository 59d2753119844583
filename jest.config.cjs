module.exports = {
  rootDir: __dirname,
  roots: ["<rootDir>/__test__"],
  testMatch: ["**/*.jest.cjs"],
  testEnvironment: "node",
  transform: {},
  testTimeout: 20_000,
  // node_modules/@downcity/agent is a link to this very folder.
  haste: { enableSymlinks: false },
};
