/** Receives webhooks: checks their signatures (https://www.standardwebhooks.com), prints events. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { buffer } from "node:stream/consumers";

// The answer of `POST /webhooks` has the secret: `npm run example` subscribes and sets it.
const { WEBHOOK_SECRET, LISTEN_PORT } = process.env;
if (!WEBHOOK_SECRET || !LISTEN_PORT) {
  console.error("Set WEBHOOK_SECRET, which POST /webhooks answers, and LISTEN_PORT of its url.");
  process.exit(1);
}
const key = Buffer.from(WEBHOOK_SECRET.replace("whsec_", ""), "base64");

function isGenuine(headers: IncomingHttpHeaders, body: Buffer): boolean {
  const { "webhook-id": id, "webhook-timestamp": sent, "webhook-signature": signatures } = headers;
  const ageSeconds = Math.abs(Date.now() / 1000 - Number(sent));
  if (!(ageSeconds <= 300)) return false;
  const mac = createHmac("sha256", key).update(`${id}.${sent}.`).update(body).digest("base64");
  const expected = Buffer.from(`v1,${mac}`);
  const matches = (one: Buffer) => one.length === expected.length && timingSafeEqual(one, expected);
  return String(signatures)
    .split(" ")
    .some((one) => matches(Buffer.from(one)));
}

const server = createServer(async (request, response) => {
  const body = await buffer(request).catch(() => Buffer.of());
  const genuine = isGenuine(request.headers, body);
  response.writeHead(genuine ? 204 : 400).end();
  if (!genuine) return;
  const { id, type } = JSON.parse(body.toString()); // an id may come twice: dedupe by it
  console.log(type, id);
});
server.on("error", ({ message }) => {
  console.error(`LISTEN_PORT: ${message}`);
  process.exit(1);
});
server.listen(Number(LISTEN_PORT), "127.0.0.1");
