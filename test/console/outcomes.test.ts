/** What the console reports of actions whose effect comes later. */
import { expect, test } from "vitest";
import { listAllActions } from "../../console/pages/escrow/steps.ts";
import { LIST_PAGES } from "../../console/pages/lists.ts";

/** Operations that answer before a wallet or a queue has done the work. */
const LATER =
  /^(POST|DELETE) (\/wallet\/transfer-funds|\/registry|\/inbox-agents(\/deregister)?|\/payment-source-extended\/reference-script|\/webhooks\/deliveries\/replay|\/p\w+\/(submit-result|authorize-refund|withdraw|request-refund|cancel-refund-request|withdraw-refund|retry))$/;

test("the console says of an action that it is done only where the effect is there", () => {
  const listed = LIST_PAGES.flatMap(({ tabs }) =>
    tabs.flatMap(({ creates = [], actions = [] }) => [...creates, ...actions]),
  );
  const all = [...listed, ...listAllActions("payment"), ...listAllActions("purchase")];
  // A record without a token on the chain is removed at once.
  const changing = all.filter(({ name }) => name !== "remove");
  const isLater = changing.filter(({ method, path }) => LATER.test(`${method} ${path}`));
  expect(isLater.length).toBeGreaterThan(12);
  expect(changing.filter(({ outcome }) => outcome !== undefined)).toEqual(isLater);
});
