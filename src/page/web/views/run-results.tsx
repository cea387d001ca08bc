import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { addToList } from "../../../core/add-to-list.js";
import type { FileWrite } from "../../api-visit.js";
import { ask } from "../ask.js";
import { runHref } from "../routes.js";
import { Choice, Fault, Quiet, Unanswered } from "../ui/parts.js";
import { useAsked, useAnswer } from "../use-asked.js";
import type { WatchedRun } from "../use-run.js";
import { visibleLine } from "../visible.js";
import { counted } from "../../../core/text.js";
import { bytes } from "../words.js";
import { languageOf } from "../text/code.js";
import { SafeText } from "../ui/texts.js";
import { WrittenFile, isMarkdown } from "./written-file.js";

interface ResultsProps {
  readonly watched: WatchedRun;
  /** The path of the file that is open. */
  readonly at: string;
}

export function ResultsTab(props: ResultsProps) {
  const kind = props.watched.description.value?.row.kind;
  return kind === "bundle" ? <SessionFiles {...props} /> : <WrittenFiles {...props} />;
}

/** The files that a run has written, newest first, each with its versions. */
function WrittenFiles({ watched, at }: ResultsProps) {
  const { run, round } = watched;
  const { value, error } = useAnswer("writes", { run }, { asOf: round });
  if (value === undefined) return <Unanswered error={error} row={watched.description.value?.row} />;
  const files = byPath(value.writes);
  const isNamed = (path: string) => path === at || path.endsWith(`/${at}`);
  const chosen = at === "" ? files[0] : files.find(({ path }) => isNamed(path));
  if (files.length === 0) return <Quiet>The run has written nothing yet.</Quiet>;
  return (
    <Files
      run={run}
      title={`${counted(files.length, "file")} written`}
      files={files.map(({ path, versions }) => ({
        path,
        about: `${bytes(versions[0]?.bytes ?? 0)}${versions.length > 1 ? `, ${versions.length} versions` : ""}`,
      }))}
      chosen={chosen?.path}
    >
      {chosen === undefined ? (
        <Quiet>This run has not written that file.</Quiet>
      ) : (
        <Versions key={chosen.path} run={run} file={chosen} />
      )}
    </Files>
  );
}

interface FilesProps {
  readonly run: string;
  readonly title: string;
  readonly files: readonly { readonly path: string; readonly about: string }[];
  readonly chosen: string | undefined;
  /** The one that is open. */
  readonly children: ComponentChildren;
}

/** Files, and beside them the one that is open. */
function Files({ run, title, files, chosen, children }: FilesProps) {
  return (
    <div class="split">
      <nav class="card" aria-label="Files">
        <h2>{title}</h2>
        <ul class="files">
          {files.map(({ path, about }) => (
            <li key={path}>
              <a href={runHref(run, "results", path)} aria-current={path === chosen ? "true" : undefined}>
                {visibleLine(path)}
              </a>{" "}
              <span class="muted small">{about}</span>
            </li>
          ))}
        </ul>
      </nav>
      <section class="card" aria-label="File">
        {children}
      </section>
    </div>
  );
}

interface WrittenPath {
  readonly path: string;
  /** Newest first. */
  readonly versions: readonly FileWrite[];
}

function byPath(writes: readonly FileWrite[]): readonly WrittenPath[] {
  const found = new Map<string, FileWrite[]>();
  for (const write of writes.toReversed()) addToList(found, write.path, write);
  return [...found].map(([path, versions]) => ({ path, versions }));
}

function Versions({ run, file: { path, versions } }: { readonly run: string; readonly file: WrittenPath }) {
  const [chosen, setChosen] = useState("");
  const write = versions.find(({ callId }) => callId === chosen) ?? versions[0];
  if (write === undefined) return null;
  const options = versions.map(({ callId, bytes: size }, index) => {
    const number = versions.length - index;
    return [
      callId,
      `Version ${number}${index === 0 ? ", the newest" : ""}${size === undefined ? "" : `, ${bytes(size)}`}`,
    ] as const;
  });
  return (
    <>
      <h2 class="mono">{visibleLine(path)}</h2>
      {versions.length > 1 && (
        <Choice label="Version" value={write.callId} options={options} onValue={setChosen} />
      )}
      <WrittenFile key={write.callId} run={run} write={write} />
    </>
  );
}

/** The files of a bundle run's session folder, as they are now. */
function SessionFiles({ watched, at }: ResultsProps) {
  const { run, round } = watched;
  const { value, error } = useAnswer("bundle", { run }, { asOf: round });
  const files = value?.bundle?.files;
  if (files === undefined) {
    return <Unanswered error={error} row={watched.description.value?.row} />;
  }
  const chosen = files.find(({ path }) => path === at) ?? files[0];
  if (chosen === undefined) return <Quiet>The run has written nothing yet.</Quiet>;
  return (
    <Files
      run={run}
      title={`${counted(files.length, "file")} in the session folder`}
      files={files.map(({ path, bytes: size }) => ({ path, about: size === null ? "" : bytes(size) }))}
      chosen={chosen.path}
    >
      <h2 class="mono">{visibleLine(chosen.path)}</h2>
      <Artifact key={chosen.path} run={run} path={chosen.path} version={chosen.sha256 ?? ""} />
    </Files>
  );
}

interface ArtifactProps {
  readonly run: string;
  readonly path: string;
  /** Another one is fetched anew. */
  readonly version: string;
}

function Artifact({ run, path, version }: ArtifactProps) {
  const key = `artifact ${run} ${path} ${version}`;
  const { value, error } = useAsked(key, (signal) => ask("artifact", { run, path }, signal));
  if (value === undefined) return error === undefined ? <Quiet>…</Quiet> : <Fault error={error} />;
  if (value.text === null) return <Quiet>It is no text.</Quiet>;
  return <SafeText text={value.text} form={isMarkdown(path) ? "markdown" : languageOf(path)} />;
}
