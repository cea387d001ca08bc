import { counted } from "../core/text.js";
import { realpath } from "node:fs/promises";
import { Client, Connection, type ConnectionOptions } from "@temporalio/client";
import { QUEUE_REMEDY, queueTrouble } from "../client/stores/stores.js";
import { grpcReason } from "../client/temporal/grpc-reason.js";
import {
  DEADLINE_EXCEEDED,
  NOT_FOUND,
  PERMISSION_DENIED,
  RESOURCE_EXHAUSTED,
  UNAUTHENTICATED,
} from "../client/temporal/grpc-status.js";
import { certificateTrouble } from "../client/temporal/temporal-words.js";
import { writeRefusal } from "../client/temporal/write-refusal.js";
import { SEARCH_ATTRIBUTES, registeredAttributes } from "../contract/names.js";
import { processIdentity } from "../embedded/process-identity.js";
import { readServerRecord, serverFiles } from "../embedded/server-record.js";
import { checkClientCertificate } from "./check-client-certificate.js";
import { checkWorkerConnection } from "./check-worker-connection.js";
import { type NamespacePlace, addAttributes, keepLonger, makeNamespace } from "./namespace-commands.js";
import { CHECK_MS, type Finding, failed, firstOf, passed, skipped, warning } from "./finding.js";

/** Where a store's Temporal is. */
export interface TemporalPlace {
  readonly connection: ConnectionOptions;
  readonly namespace: string;
  readonly taskQueue: string;
  /** The store's id; absent where there is none yet. */
  readonly storeId?: string;
  /** It is the store's own server. */
  readonly embedded: boolean;
}

/** The time for an answer: that of the server, then those of all that it has, side by side. Both are within the bound of the whole check. */
const ANSWER_MS = CHECK_MS - 500;
const FEW_DAYS = 7;
const DAY_SECONDS = 86_400;
const LATER = ["namespace", "rights", "retention", "search attributes", "workers"] as const;

/** The embedded server of a store, if one runs: none is started for this. */
export async function runningServer(storeDir: string): Promise<{ readonly address: string } | undefined> {
  const dir = await realpath(storeDir).catch(() => undefined);
  const record = dir === undefined ? null : readServerRecord(serverFiles(dir));
  if (record === null || processIdentity(record.pid) !== record.identity) return undefined;
  return { address: record.address };
}

/** What is said where no embedded server runs. */
export function noServer(): readonly Finding[] {
  return [
    passed("temporal", "embedded; none runs now (interlock dev, run and demo start it)"),
    ...LATER.map((name) => skipped(name, "no server runs")),
  ];
}

/** Asks a Temporal what it is and what it has. */
export async function checkTemporal(place: TemporalPlace): Promise<readonly Finding[]> {
  return [...checkClientCertificate(place.connection.tls), ...(await checkServer(place))];
}

async function checkServer(place: TemporalPlace): Promise<readonly Finding[]> {
  const address = place.connection.address ?? "127.0.0.1:7233";
  let connection: Connection | undefined;
  try {
    // No retries: what is wrong is to be said, not to be waited for.
    connection = Connection.lazy({ ...place.connection, interceptors: [] });
    return await askAll(connection, place, address);
  } catch (error) {
    return [
      failed("temporal", `${address}: ${causeOf(error)}`, remedyFor(error, place)),
      ...LATER.map((name) => skipped(name, "Temporal does not answer")),
    ];
  } finally {
    await connection?.close();
  }
}

async function askAll(
  connection: Connection,
  place: TemporalPlace,
  address: string,
): Promise<readonly Finding[]> {
  const inTime = <T>(ask: () => Promise<T>) => connection.withDeadline(Date.now() + ANSWER_MS, ask);
  const { serverVersion } = await inTime(() => connection.workflowService.getSystemInfo({}));
  const how = place.embedded ? "embedded, " : hasTls(place) ? "with TLS, " : "";
  const server = passed("temporal", `${address} (${how}version ${serverVersion || "unknown"})`);
  const [namespace, ofWorkers, ...rest] = await inTime(() =>
    Promise.all([
      checkNamespace(connection, place, address),
      hasTls(place) ? checkWorkerConnection(place.connection, ANSWER_MS) : undefined,
      checkSearchAttributes(connection, place, address),
      checkWorkers(connection, place),
    ]),
  );
  const reached = ofWorkers === undefined ? [server] : [server, ofWorkers];
  if (namespace[0]?.status === "failed") {
    return [...reached, ...namespace, ...LATER.slice(1).map((name) => skipped(name, "no namespace"))];
  }
  return [...reached, ...namespace, ...rest];
}

async function checkNamespace(
  connection: Connection,
  place: TemporalPlace,
  address: string,
): Promise<readonly Finding[]> {
  const { namespace } = place;
  const at = { address, namespace };
  const rights = checkRights(connection, place);
  let seconds: number;
  try {
    const { config } = await connection.workflowService.describeNamespace({ namespace });
    seconds = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0);
  } catch (error) {
    if (codeOf(error) === NOT_FOUND) {
      const remedy = `Correct TEMPORAL_NAMESPACE, or make it: ${makeNamespace(at)}`;
      return [failed("namespace", `${namespace} does not exist`, remedy)];
    }
    const remedy = isRefusal(error)
      ? "Let this key or certificate into the namespace, or correct TEMPORAL_NAMESPACE."
      : remedyFor(error, place);
    return [failed("namespace", `${namespace}: ${causeOf(error)}`, remedy)];
  }
  return [passed("namespace", namespace), await rights, judgeRetention(seconds, at)];
}

/** Whoever may read a namespace may lack the rights to do anything in it. */
async function checkRights(connection: Connection, { namespace }: TemporalPlace): Promise<Finding> {
  const refusal = await writeRefusal(connection, namespace);
  if (refusal === undefined) return passed("rights", "may read and write");
  const found = `may read, and not write (${causeOf(refusal)}): runs can be looked at, and neither started, told anything nor worked on`;
  return failed("rights", found, "Give this key or certificate the rights of a writer in the namespace.");
}

/** Of a run that is over Temporal keeps the history for so long; 0 where it does not say. */
function judgeRetention(seconds: number, place: NamespacePlace): Finding {
  if (seconds === 0) return skipped("retention", "the server does not say");
  const days = seconds / DAY_SECONDS;
  const found = `${counted(Number(days.toFixed(1)), "day")} after a run is over`;
  if (days >= FEW_DAYS) return passed("retention", found);
  const remedy = `Keep histories longer: ${keepLonger(place)}`;
  return warning("retention", `${found}; then only the store knows it`, remedy);
}

async function checkSearchAttributes(
  connection: Connection,
  { namespace }: TemporalPlace,
  address: string,
): Promise<Finding> {
  const name = "search attributes";
  let custom: Readonly<Record<string, unknown>>;
  try {
    ({ customAttributes: custom } = await connection.operatorService.listSearchAttributes({ namespace }));
  } catch (error) {
    return skipped(name, `the server does not tell: ${causeOf(error)}`);
  }
  const present = registeredAttributes(custom);
  const wanted = Object.keys(SEARCH_ATTRIBUTES);
  const missing = wanted.filter((attribute) => !present.includes(attribute));
  if (missing.length === 0) return passed(name, `all ${wanted.length}`);
  const other = missing.filter((attribute) => Object.hasOwn(custom, attribute));
  if (other.length > 0) {
    const remedy =
      "Give runs a namespace of their own (TEMPORAL_NAMESPACE). Or, where nobody else uses them, remove them (temporal operator search-attribute remove), and create them as Keyword.";
    return warning(name, `no keywords: ${other.join(", ")}; runs work, but cannot be searched for`, remedy);
  }
  const found = `missing: ${missing.join(", ")}; runs that begin work, but cannot be searched for; open ones that have set them wait until they are back`;
  return warning(name, found, addAttributes({ address, namespace }, missing));
}

async function checkWorkers(connection: Connection, place: TemporalPlace): Promise<Finding> {
  const { namespace, taskQueue, embedded } = place;
  const shared = sharedQueue(connection, place);
  let pollers: readonly string[];
  try {
    const queue = { namespace, taskQueue: { name: taskQueue } };
    const response = await connection.workflowService.describeTaskQueue(queue);
    pollers = (response.pollers ?? []).map(({ identity }) => identity ?? "");
  } catch (error) {
    return skipped("workers", `the server does not tell: ${causeOf(error)}`);
  }
  const at = `the task queue "${taskQueue}"`;
  const trouble = await shared;
  if (trouble !== undefined) return warning("workers", trouble, QUEUE_REMEDY);
  if (pollers.length > 0) {
    return passed("workers", `${firstOf(pollers)} at ${at}, within five minutes`);
  }
  if (embedded) return passed("workers", `none at ${at}: commands bring one of their own`);
  return warning("workers", `none at ${at}: runs wait until there is one`, "interlock worker");
}

/** What is wrong where other stores are at the queue. Undefined also where Temporal does not say which there are. */
async function sharedQueue(
  connection: Connection,
  { namespace, taskQueue, storeId }: TemporalPlace,
): Promise<string | undefined> {
  if (storeId === undefined) return undefined;
  const client = new Client({ connection, namespace });
  return queueTrouble(client, { storeId, taskQueue }).catch(() => undefined);
}

function hasTls({ connection: { tls, apiKey } }: TemporalPlace): boolean {
  return tls === undefined || tls === null ? apiKey !== undefined : tls !== false;
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

function causeOf(error: unknown): string {
  return codeOf(error) === DEADLINE_EXCEEDED ? `no answer within ${ANSWER_MS / 1_000} s` : grpcReason(error);
}

/** Whoever asks is not let in. */
function isRefusal(error: unknown): boolean {
  const code = codeOf(error);
  return code === UNAUTHENTICATED || code === PERMISSION_DENIED;
}

function remedyFor(error: unknown, place: TemporalPlace): string {
  const cause = causeOf(error);
  if (place.embedded) return "Look into temporal-server.log in the store; interlock dev starts it again.";
  if (codeOf(error) === RESOURCE_EXHAUSTED) {
    return "It is asked for more than it is set to answer, and runs wait meanwhile. Look again later; where it stays so, raise its limit (frontend.namespaceRPS and its kin).";
  }
  if (isRefusal(error)) {
    return "Check TEMPORAL_API_KEY, or the client's certificate (TEMPORAL_TLS_CLIENT_CERT_PATH and its kin).";
  }
  if (/ECONNREFUSED|ENOTFOUND|EAI_AGAIN|Name resolution/i.test(cause)) {
    return "Start that server, or correct TEMPORAL_ADDRESS; unset, the embedded server is used.";
  }
  const certificate = certificateTrouble(cause);
  if (certificate !== undefined) return certificate.remedy;
  if (hasTls(place)) return "Check TEMPORAL_ADDRESS and the TLS settings (TEMPORAL_TLS and its kin).";
  return "Check TEMPORAL_ADDRESS: something else may listen there. If the server wants TLS, set TEMPORAL_TLS=true.";
}
