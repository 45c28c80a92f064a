import type { Page } from "../ui/resource.ts";

export const tasks: Page = {
  name: "tasks",
  title: "Tasks",
  needs: "User",
  tabs: [
    {
      name: "tasks",
      title: "Tasks",
      about:
        "Steps of escrows that are waiting or under way: what each waits for, and until when the contract allows it. Open one to see its escrow.",
      path: "/task",
      rows: "Tasks",
      hasNetwork: true,
      empty: "No task waits: every requested step is done.",
      columns: [
        { head: "Step", at: "step" },
        { head: "Of a", at: "kind" },
        { head: "Status", at: "status", as: "tag" },
        { head: "Reason", at: "reason" },
        { head: "Since", at: "since", as: "time" },
        { head: "Not before", at: "notBefore", as: "time" },
        { head: "Deadline", at: "deadline", as: "time" },
        { head: "Next try", at: "nextTryAt", as: "time" },
        { head: "Failed tries", at: "failedTries" },
        { head: "Transaction", at: "txHash", as: "code" },
      ],
      related: [
        {
          label: "The escrow",
          page: "payment",
          pageWhen: { at: "kind", is: "Purchase", page: "purchase" },
          id: "id",
          query: {},
        },
      ],
    },
  ],
};
