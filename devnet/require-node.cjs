// Ends `npm start` with one sentence before `npm ci` has run. Each Node can read this file, since npm then
// finds the machine's own Node.
const { existsSync } = require("node:fs");
const { join } = require("node:path");
const { devDependencies } = require("../package.json");

if (!existsSync(join(__dirname, "../node_modules/miniflare"))) {
  console.error("The packages are not installed: run npm ci, then npm start");
  process.exit(1);
}
if (Number.parseInt(process.versions.node, 10) < Number.parseInt(devDependencies.node, 10)) {
  console.error(
    `This is Node ${process.versions.node}, and the service needs Node ${devDependencies.node}: ` +
      "run npm ci, which installs it, then npm start",
  );
  process.exit(1);
}

// The modules of the start take seconds to load. The first phase rewrites this line.
if (process.stdout.isTTY) process.stdout.write("Loading …");
