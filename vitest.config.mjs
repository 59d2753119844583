import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["__test__/**/*.spec.ts"],
    exclude: ["**/node_modules/**", "__test__/package/**"],
    testTimeout: 20_000,
    // The package is used as it was built, not taken through the transforms that tests go through.
    server: { deps: { external: [/\/dist\//, /\/native\//] } },
    // The addon is loaded into each worker; two workers suit the two cores the project is built for.
    pool: "forks",
    maxWorkers: 2,
  },
});
