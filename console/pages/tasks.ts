import type { PageDefinition } from "../ui/resource.ts";

export const tasksPage: PageDefinition = {
  name: "tasks",
  title: "Tasks",
  access: "User",
  tabs: [
    {
      name: "tasks",
      title: "Tasks",
      description:
        "Steps of escrows that are waiting or under way: what each waits for, and until when the contract allows it. Open one to see its escrow.",
      path: "/task",
      rowsMember: "Tasks",
      hasNetwork: true,
      emptyText: "No task waits: every requested step is done.",
      columns: [
        { heading: "Step", path: "step", as: "word", second: "id" },
        { heading: "Escrow", path: "kind" },
        { heading: "Status", path: "status", as: "tag" },
        { heading: "What it waits for", path: "reason" },
        { heading: "Since", path: "since", as: "time" },
        { heading: "Deadline", path: "deadline", as: "time" },
        { heading: "Next try", path: "nextTryAt", as: "time" },
      ],
      details: [
        { heading: "Not before", path: "notBefore", as: "time" },
        { heading: "Failed tries", path: "failedTries" },
        { heading: "Transaction", path: "txHash", as: "hash" },
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
