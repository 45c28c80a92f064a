import type { Marker } from "./deployment/open-deployment.ts";
import { RESOURCES, type ResourceName, type Resources } from "./resources.ts";
import type { Answered, Fields } from "./service.ts";
import { maySee, type Stranger } from "./strangers.ts";

/** Names what an answer holds that a stranger may not see and has not sent. */
export function findMarkers(
  answer: Answered,
  sent: Fields,
  markers: readonly Marker[],
  stranger: Stranger,
): string[] {
  const sentText = JSON.stringify(sent);
  const text = textOf(answer);
  return markers
    .filter(({ audience, value }) => !maySee(stranger, audience) && !sentText.includes(value))
    .filter(({ value }) => text.includes(value))
    .map(({ name }) => name);
}

/** Whether an answer holds something of the owner's that was not sent. */
export function hasResources(answer: Answered, sent: Fields, resources: Resources): boolean {
  const sentText = JSON.stringify(sent);
  const text = textOf(answer);
  return Object.values(resources).some((value) => {
    return value.length > 3 && !sentText.includes(value) && text.includes(value);
  });
}

/** Replaces new ids, times and the resources that were sent, so that two answers compare. */
export function maskAnswer({ status, body }: Answered, resources: Resources): string {
  const names = Object.keys(RESOURCES) as ResourceName[];
  const named = names.reduce((text, name) => text.replaceAll(resources[name], `<${name}>`), body);
  const masked = named
    .replaceAll(/\b01[0-9a-z]{24}\b/g, "<id>")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>");
  return `${status} ${masked}`;
}

const textOf = ({ body, headers }: Answered) => `${body}\n${[...headers].join("\n")}`;
