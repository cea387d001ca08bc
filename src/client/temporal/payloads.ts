import type { Client } from "@temporalio/client";
import { type Payload, defaultPayloadConverter } from "@temporalio/common";
import type { History } from "@temporalio/common/lib/proto-utils.js";
import { UNOPENED_METADATA } from "../../contract/sealed.js";
import { sealErrorIn } from "../../seal/seal-error.js";
import type { RawDescription } from "./raw-values.js";

/** What of Temporal's client reads payloads that do not come through it. */
export interface PayloadReader {
  readonly options: Pick<Client["options"], "loadedDataConverter" | "namespace">;
}

/** The value of a payload of a workflow. Rejects where it is sealed and no key here opens it, or of an unknown encoding. */
export async function valueIn(
  temporal: PayloadReader,
  payload: Payload,
  workflowId: string,
): Promise<unknown> {
  return defaultPayloadConverter.fromPayload(await opened(temporal, payload, workflowId));
}

/** As `valueIn`; undefined for what cannot be read, and where there is none. */
export async function readableValue(
  temporal: PayloadReader,
  payload: Payload | null | undefined,
  workflowId: string,
): Promise<unknown> {
  if (payload === null || payload === undefined) return undefined;
  return valueIn(temporal, payload, workflowId).catch(() => undefined);
}

/** A history with its input and the results of its activities, local ones included, opened as far as they can be; one that cannot be says why. */
export async function withResults(
  temporal: PayloadReader,
  { events }: History,
  workflowId: string,
): Promise<History> {
  const open = async (payloads: readonly Payload[] | null | undefined) => ({
    payloads: await Promise.all((payloads ?? []).map((each) => openedIfPossible(temporal, each, workflowId))),
  });
  const read = (events ?? []).map(async (event) => {
    const started = event.workflowExecutionStartedEventAttributes;
    const done = event.activityTaskCompletedEventAttributes;
    const marker = event.markerRecordedEventAttributes;
    const result = marker?.details?.["result"];
    return {
      ...event,
      ...(started?.input
        ? {
            workflowExecutionStartedEventAttributes: {
              ...started,
              input: await open(started.input.payloads),
            },
          }
        : {}),
      ...(done?.result
        ? { activityTaskCompletedEventAttributes: { ...done, result: await open(done.result.payloads) } }
        : {}),
      ...(result
        ? { markerRecordedEventAttributes: { ...marker, details: { result: await open(result.payloads) } } }
        : {}),
    };
  });
  return { events: await Promise.all(read) };
}

/** A description of an execution whose pending activities say why they have failed, where that is sealed too. */
export async function withFailures(
  temporal: PayloadReader,
  raw: RawDescription,
  workflowId: string,
): Promise<RawDescription> {
  const pending = (raw.pendingActivities ?? []).map(async (activity) => {
    const { lastFailure } = activity;
    const said = await readableValue(temporal, lastFailure?.encodedAttributes, workflowId);
    if (typeof said !== "object" || said === null || !("message" in said)) return activity;
    return { ...activity, lastFailure: { ...lastFailure, message: String(said.message) } };
  });
  return { ...raw, pendingActivities: await Promise.all(pending) };
}

async function opened(temporal: PayloadReader, payload: Payload, workflowId: string): Promise<Payload> {
  const { loadedDataConverter, namespace } = temporal.options;
  let each = payload;
  for (const codec of loadedDataConverter.payloadCodecs.toReversed()) {
    [each = payload] = await codec.decode([each], { type: "workflow", namespace, workflowId });
  }
  return each;
}

async function openedIfPossible(temporal: PayloadReader, payload: Payload, workflowId: string) {
  return opened(temporal, payload, workflowId).catch((error: unknown): Payload => {
    const why = sealErrorIn(error)?.message;
    if (why === undefined) return payload;
    return { ...payload, metadata: { ...payload.metadata, [UNOPENED_METADATA]: Buffer.from(why) } };
  });
}
