import { shellValue } from "../core/text.js";

/** A namespace of a Temporal, where it is. */
export interface NamespacePlace {
  readonly address: string;
  readonly namespace: string;
}

/** Temporal Cloud's addresses. The Temporal CLI does not set up what is there: Cloud has a tool of its own. */
const CLOUD = /\.(?:tmprl\.cloud|temporal\.io)(?::\d+)?$/i;

/** The command that makes a namespace. */
export function makeNamespace(place: NamespacePlace): string {
  return operator("namespace create", place, "--retention 30d");
}

/** The command that has a namespace keep histories longer. */
export function keepLonger(place: NamespacePlace): string {
  if (CLOUD.test(place.address)) return cloud("retention set", place, "--retention-days 30");
  return operator("namespace update", place, "--retention 30d");
}

/** The command that adds search attributes to a namespace, as keywords. */
export function addAttributes(place: NamespacePlace, names: readonly string[]): string {
  if (CLOUD.test(place.address)) {
    return cloud("search-attributes add", place, names.map((name) => `--sa ${name}=Keyword`).join(" "));
  }
  const flags = names.map((name) => `--name ${name} --type Keyword`).join(" ");
  return operator("search-attribute create", place, flags);
}

function operator(command: string, { address, namespace }: NamespacePlace, flags: string): string {
  return `temporal operator ${command} --address ${shellValue(address)} --namespace ${shellValue(namespace)} ${flags}`;
}

function cloud(command: string, { namespace }: NamespacePlace, flags: string): string {
  return `tcld namespace ${command} --namespace ${shellValue(namespace)} ${flags}`;
}
