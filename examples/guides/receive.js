import { verifyWebhook, WebhookError } from "agent-payment-service-client";
import express from "express";

const { WEBHOOK_SECRET, LISTEN_PORT } = process.env;
if (!WEBHOOK_SECRET || !LISTEN_PORT) {
  console.error("Set WEBHOOK_SECRET, which POST /webhooks answers, and LISTEN_PORT of its url.");
  process.exit(1);
}
const app = express();
app.post("/", express.raw({ type: "application/json" }), async ({ body, headers }, response) => {
  try {
    const { id, type } = await verifyWebhook({ body, headers }, WEBHOOK_SECRET);
    console.log(type, id); // in production: store the event, and process it afterwards
    response.sendStatus(204);
  } catch (error) {
    response.sendStatus(error instanceof WebhookError ? 400 : 500);
  }
});
app.use(express.json());
app.listen(Number(LISTEN_PORT), "127.0.0.1").on("error", ({ message }) => {
  console.error(`LISTEN_PORT: ${message}`);
  process.exit(1);
});
