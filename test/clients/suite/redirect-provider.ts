/** The suites ask a public provider for a balance: here the local chain's provider answers. */
const PUBLIC = /^https:\/\/cardano-preprod\.blockfrost\.io\/api\/v0/;
const forward = globalThis.fetch;

globalThis.fetch = (input, init) =>
  forward(
    typeof input === "string" ? input.replace(PUBLIC, process.env.PEER_PROVIDER ?? "") : input,
    init,
  );
