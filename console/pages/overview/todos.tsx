/** What needs a person: each kind once, with its count, its amount, what to do and where. */
import { formatFunds, keepOnOneLine } from "../../ui/format.ts";
import { TODO_KINDS, type TodoGroup, type TodoKind } from "./todo-kinds.ts";

/** So many of a kind are listed; the kind's own list has the others. */
const MAX_LISTED = 8;

export function TodoList({ groups }: { groups: readonly TodoGroup[] }) {
  return (
    <ul class="todo">
      {groups.map((group) => (
        <TodoLine key={group.kind} group={group} />
      ))}
    </ul>
  );
}

/** Amounts, each with its unit on one line. */
const formatAmounts = (funds: TodoGroup["funds"]) =>
  funds.map(({ amount, unit }) => keepOnOneLine(formatFunds(amount, unit))).join(" and ");

function TodoLine({ group: { kind, todos, funds } }: { group: TodoGroup }) {
  const { tone, one, many, advice, button }: TodoKind = TODO_KINDS[kind];
  const [first] = todos;
  if (!first) return null;
  const isOne = todos.length === 1;
  return (
    <li class={tone}>
      <div class="what">
        <strong>{isOne ? one(first.name) : many(todos.length)}</strong>
        {funds.length > 0 && <span class="amount"> · {formatAmounts(funds)}</span>}
        <p>{(isOne ? first.advice : undefined) ?? advice}</p>
        {!isOne && (
          <details>
            <summary>Each one</summary>
            <ul>
              {todos.slice(0, MAX_LISTED).map(({ name, href, funds: own = [] }) => (
                <li key={href}>
                  <a href={href}>{name}</a> <span class="amount">{formatAmounts(own)}</span>
                </li>
              ))}
            </ul>
          </details>
        )}
      </div>
      {first.href && (
        <a class="button" href={isOne ? first.href : (first.listHref ?? first.href)}>
          {button}
        </a>
      )}
    </li>
  );
}
