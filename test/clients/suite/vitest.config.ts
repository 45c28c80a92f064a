/** How Vitest runs the peer's end-to-end suites, which are written for Jest. */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { peerModules } from "../peer-modules.ts";

const { PEER_SUITES = "." } = process.env;
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));

export default defineConfig({
  plugins: [peerModules()],
  root: PEER_SUITES,
  server: { fs: { strict: false } },
  test: {
    globals: true,
    include: ["tests/e2e/**/*.test.ts"],
    globalSetup: here("global-setup.ts"),
    setupFiles: [here("redirect-provider.ts"), `${PEER_SUITES}/tests/e2e/setup/testEnvironment.ts`],
    fileParallelism: false,
    testTimeout: 1_200_000,
    hookTimeout: 1_200_000,
  },
});
