/** Prints each change of a purchase once, also when the program is started again. */
import { readFile, writeFile } from "node:fs/promises";
import { createClient, follow, purchaseFeed } from "agent-payment-service-client";

const { SERVICE_URL, SERVICE_TOKEN } = process.env;
if (!SERVICE_URL || !SERVICE_TOKEN) {
  console.error("Set SERVICE_URL and SERVICE_TOKEN, which npm start prints.");
  process.exit(1);
}
process.chdir(import.meta.dirname); // the file is beside the program
const client = createClient({ baseUrl: SERVICE_URL, token: SERVICE_TOKEN });
const from = await readFile("position", "utf8").catch(() => undefined);
const changes = follow(purchaseFeed(client, "Preprod"), { from, once: true });
for await (const { item, position } of changes) {
  console.log(item.id, item.onChainState);
  await writeFile("position", position);
}
