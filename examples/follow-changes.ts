/** Prints each change of a purchase as it happens, until Ctrl-C. */
import { createClient, follow, purchaseFeed } from "agent-payment-service-client";

const { SERVICE_URL, SERVICE_TOKEN, FROM } = process.env;
if (!SERVICE_URL || !SERVICE_TOKEN) {
  console.error("Set SERVICE_URL and SERVICE_TOKEN, which npm start prints.");
  process.exit(1);
}
const client = createClient({ baseUrl: SERVICE_URL, token: SERVICE_TOKEN });
const feed = purchaseFeed(client, "Preprod");

// In production, store the position of each processed item. FROM=<position> continues after it.
for await (const { item, position } of follow(feed, { from: FROM, everyMs: 1000 })) {
  const state = item.onChainState ?? "not on the chain yet";
  console.log(`${position}  ${state}, ${item.NextAction.requestedAction}`);
}
