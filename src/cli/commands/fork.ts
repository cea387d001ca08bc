import { resolve } from "node:path";
import { type JsonObject, type JsonValue, jsonIn } from "../../core/json.js";
import { defined } from "../../core/defined.js";
import { resolveProject } from "../../store/runs/project-id.js";
import { type ForkedFile, refuseMissing } from "../../tools/files/fork-files.js";
import { type GoOnOptions, goOn, requestOf } from "../start/go-on.js";
import { modelOf } from "../options/model-options.js";
import { wholeNumber } from "../options/numbers.js";
import { type ExitCode, UsageError, printNote, usable } from "../terminal/output.js";
import { registerRoot } from "../session/register-root.js";

interface ForkOptions extends GoOnOptions {
  readonly fromNode?: string;
  readonly atVisit?: string;
  readonly set?: readonly string[];
  readonly project?: string;
  readonly allowMissing?: boolean;
}

/** `interlock fork`: a new run that begins as another one stood at a node boundary. */
export async function forkCommand(runId: string, options: ForkOptions): Promise<ExitCode> {
  const { fromNode, atVisit } = options;
  if ((fromNode === undefined) === (atVisit === undefined)) {
    throw new UsageError(
      "Say where the fork begins: --from-node <id>, or --at-visit <n> (0 is the beginning).",
    );
  }
  const where = {
    ...defined({ fromNode }),
    ...(atVisit === undefined ? {} : { visit: wholeNumber("--at-visit", atVisit, 0) }),
  };
  const set = variablesOf(options.set ?? []);
  return goOn(runId, options, async ({ config, store, session, reader, known }) => {
    const project = options.project === undefined ? undefined : resolve(options.project);
    const isHere = store !== undefined && known !== undefined;
    if (isHere && project !== undefined) {
      await registerRoot(store, usable(await resolveProject(project)).root, "write");
    }
    const point = usable(await reader.ask("read.fork", { run: runId, ...where, ...defined({ project }) }));
    const { files, isElsewhere, projectRoot, visit, nodeId, runId: source } = point;
    sayFiles(files, isElsewhere);
    const allowMissing = options.allowMissing === true;
    if (isElsewhere && !allowMissing) {
      usable(refuseMissing(files.filter(({ status }) => status === "lost")));
    }
    const request = await requestOf(reader, source);
    const changes = {
      ...(Object.keys(set).length === 0 ? {} : { set }),
      allowMissing,
      ...defined({ model: modelOf(config, options) }),
    };
    // The moment that was compared: a run that goes on may enter the node again meanwhile.
    const run = await session.client.forkFrom(request, source, { visit, projectRoot, ...changes });
    return { run, more: { forkedFrom: { runId: source, visit, nodeId, files } } };
  });
}

/** `key=value`: the value is JSON where it reads as JSON, else a text. */
function variablesOf(pairs: readonly string[]): JsonObject {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, key, text = ""] = /^([^=]+)=([^]*)$/.exec(pair) ?? [];
      if (key === undefined) throw new UsageError(`--set takes key=value, not "${pair}".`);
      return [key, valueOf(text)];
    }),
  );
}

function valueOf(text: string): JsonValue {
  const value = jsonIn(text);
  return value === undefined ? text : value;
}

function sayFiles(files: readonly ForkedFile[], isElsewhere: boolean): void {
  for (const { path, status } of files) {
    if (status === "differs") printNote(`  ${path} differs from what it was then; it stays as it is.`);
    else if (status === "lost") printNote(`  ${path} is missing, and its content is no longer kept.`);
    else if (status === "missing") {
      printNote(isElsewhere ? `  ${path} is restored as it was.` : `  ${path} is missing.`);
    }
  }
}
