import { NamespaceNotFoundError, ServiceError, isGrpcServiceError } from "@temporalio/client";
import { grpcReason } from "./grpc-reason.js";
import {
  NOT_FOUND,
  PERMISSION_DENIED,
  UNIMPLEMENTED,
  UNAUTHENTICATED,
  isAway,
  statusIn,
  statusOf,
} from "./grpc-status.js";

const SEE = "See: interlock doctor";

/** All that can be said of a Temporal that says nothing. */
export const SILENT = "Temporal does not answer.";

/** Why Temporal refuses all that it is asked; undefined where it does not answer. */
export function unreadyWords(error: unknown): string | undefined {
  const isSilent = isAway(error) && certificateTrouble(grpcReason(error)) === undefined;
  return isSilent ? undefined : temporalWords(error);
}

/** What Temporal has refused, or that it does not answer any more; undefined for what is no word of Temporal's. */
export function temporalWords(error: unknown): string | undefined {
  const undescribed = error instanceof Error ? UNDESCRIBED.exec(error.message)?.groups : undefined;
  if (undescribed !== undefined) return undescribedWords(undescribed);
  if (error instanceof Error && UNCONNECTED.test(error.message)) return unconnectedWords(error.message);
  const cause = error instanceof Error ? error.cause : undefined;
  const said = [error, cause].find((each) => isGrpcServiceError(each) || isNoNamespace(each));
  if (said === undefined && !(error instanceof ServiceError)) return undefined;
  const reason = grpcReason(said ?? error).replace(/\.$/, "");
  if (isNoNamespace(said)) return `${reason}. TEMPORAL_NAMESPACE names it. ${SEE}`;
  const trouble = isAway(said) || reason === NGINX_REFUSES ? certificateTrouble(reason) : undefined;
  if (trouble !== undefined) return certificateWords(trouble, reason);
  if (isAway(said)) return `Temporal, or a worker that it asks, does not answer in time (${reason}). ${SEE}`;
  switch (statusIn(said)?.code) {
    case PERMISSION_DENIED:
    case UNAUTHENTICATED:
      return notLetIn(reason);
    case UNIMPLEMENTED:
      return `What answers at Temporal's address is no Temporal, or one that does not know this (${reason}). ${SEE}`;
    default:
      return `Temporal refuses this: ${reason}.`;
  }
}

/** What a worker that begins is told of its namespace: its core repeats the whole status, as Rust shows one. */
const UNDESCRIBED =
  /^Namespace (?<namespace>\S+) was not found or otherwise could not be described: .*?\bcode: (?<code>\w+), message: "(?<said>[^"]*)"/s;

function undescribedWords({ namespace = "", code = "", said = "" }: Record<string, string>): string {
  const reason = said.replace(/\.$/, "");
  if (code === "NotFound") return `${reason}. TEMPORAL_NAMESPACE names it. ${SEE}`;
  if (code === "PermissionDenied" || code === "Unauthenticated") return notLetIn(reason);
  return `Temporal does not tell of the namespace ${namespace} (${reason}). ${SEE}`;
}

/** What a worker is told that comes to no connection: its core shows Rust's own errors. */
const UNCONNECTED = /^(?:Failed to call GetSystemInfo: |tonic::transport::Error\()/;
const OF_CERTIFICATE = /\bInvalidCertificate\((?:Other\(OtherError\()?(?<why>\w+)/;
/** Before anything is sent. */
const OF_OWN =
  /^tonic::transport::Error\(Transport, (?:General\("(?<said>[^"]*\bkey\b[^"]*)"|InvalidCertificate\()/;
const OF_ALERT =
  /\b(?:received fatal alert: |AlertReceived\(|receiving response with status: (?=400 ))(?<why>\w+)/;
const BARRED_CODE = /^(?:The caller does not have permission|The request does not have valid authentication)/;

function unconnectedWords(message: string): string {
  const trouble = workerTlsTrouble(message);
  if (trouble !== undefined) return `${trouble.found}. ${trouble.remedy}`;
  const code = /^Failed to call GetSystemInfo: code: '([^']*)'/.exec(message)?.[1] ?? message;
  const reason = (/(?:message|error): "([^"]*)"/.exec(message)?.[1] ?? code).replace(/\.$/, "");
  return BARRED_CODE.test(code) ? notLetIn(reason) : `Temporal does not answer a worker (${reason}). ${SEE}`;
}

/** Which certificate keeps a worker from a connection, and what to do; undefined of every other reason. Pure. */
export function workerTlsTrouble(
  message: string,
): { readonly found: string; readonly remedy: string } | undefined {
  const why = OF_CERTIFICATE.exec(message)?.groups?.["why"];
  const own = OF_OWN.exec(message);
  if (own !== null) {
    return {
      found: `A worker cannot show this client's certificate (${own.groups?.["said"] ?? why}). It is stricter than a command: it shows certificates of X.509's version 3, with a key of RSA (2048 to 4096 bits), ECDSA (P-256 or P-384) or Ed25519`,
      remedy: CLIENT_REMEDY,
    };
  }
  if (/\bInvalidDnsNameError\b/.test(message)) {
    return {
      found:
        "A worker speaks TLS to a name or to an IPv4 address alone, and Temporal's is neither (InvalidDnsNameError)",
      remedy:
        "Give Temporal's name in TEMPORAL_ADDRESS, or the one that its certificate is for in TEMPORAL_TLS_SERVER_NAME.",
    };
  }
  if (why !== undefined) {
    return {
      found: `A worker does not accept Temporal's certificate (${why}). It is stricter than a command: one that is its own authority, or has no alternative names, is none for it`,
      remedy: SERVER_REMEDY,
    };
  }
  const alert = OF_ALERT.exec(message)?.groups?.["why"];
  if (alert === undefined) return undefined;
  return {
    found: `Temporal does not take a worker's certificate, or wants one (${alert})`,
    remedy: CLIENT_REMEDY,
  };
}

/** What is said where Temporal does not let this in. */
export function notLetIn(reason: string, address?: string): string {
  const where = address === undefined ? "" : ` at ${address}`;
  return `Temporal${where} does not let this in (${reason}). TEMPORAL_API_KEY, or a client certificate, says who asks. It may be out of date, or lack rights: to list runs and see where they stand takes a reader's in the namespace, all else a writer's. ${SEE}`;
}

/** The client has a class for it in some places; the server says it in others. */
export function isNoNamespace(error: unknown): boolean {
  if (error instanceof NamespaceNotFoundError) return true;
  const status = statusOf(error);
  return status?.code === NOT_FOUND && /^Namespace\b/.test(status.details);
}

/** What nginx answers whoever shows no certificate that it takes. */
const NGINX_REFUSES = "Received HTTP status code 400";

/** Of Temporal's certificate or of this client's. */
interface CertificateTrouble {
  readonly of: "server" | "client";
  readonly remedy: string;
}

/** Whose certificate is not taken, and what to do; undefined of every other reason why a server is not reached. Pure. */
export function certificateTrouble(reason: string): CertificateTrouble | undefined {
  if (reason === NGINX_REFUSES) return { of: "client", remedy: CLIENT_REMEDY };
  if (!/certificate|altnames|alert (?:unknown ca|handshake failure|access denied)/i.test(reason))
    return undefined;
  if (!/\balert\b/i.test(reason)) {
    return { of: "server", remedy: SERVER_REMEDY };
  }
  // What the other side says of what it was shown.
  return { of: "client", remedy: CLIENT_REMEDY };
}

/** The same as a sentence. Pure. */
export function certificateWords(
  { of, remedy }: CertificateTrouble,
  reason: string,
  address?: string,
): string {
  const said =
    of === "server"
      ? `The certificate of ${address ?? "Temporal"} is not accepted`
      : `Temporal${address === undefined ? "" : ` at ${address}`} does not take this client's certificate, or wants one`;
  return `${said} (${reason}). ${remedy}`;
}

const SERVER_REMEDY =
  "Have it renewed, or name its authority in TEMPORAL_TLS_SERVER_CA_CERT_PATH, or the name that it is for in TEMPORAL_TLS_SERVER_NAME: a process reads them when it starts.";
const CLIENT_REMEDY =
  "Name one that it takes in TEMPORAL_TLS_CLIENT_CERT_PATH, and its key in TEMPORAL_TLS_CLIENT_KEY_PATH: a process reads them when it starts.";
