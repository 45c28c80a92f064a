/** A new action of the console fails here at once, and not only in the long test that performs them. */
import { expect, test } from "vitest";
import { LIST_PAGES } from "../../console/pages/lists.ts";
import { operatorActionsOf, type Props, undone } from "./operator-actions.ts";

const PROPS: Props = {
  ...{ sourceId: "", endpointId: "", sellerVkey: "", sellerAddress: "", buyerVkey: "" },
  ...{ month: "2026-11", address: "", receiver: "", dollar: "", mnemonic: "" },
  other: { address: "", policyId: "" },
  evm: { network: "", rpcUrl: "", token: "", payerId: "", keyId: "", address: "" },
};

test("the operator's actions name every action of the console's lists", () => {
  expect(undone(LIST_PAGES, operatorActionsOf(PROPS))).toEqual([]);
});
