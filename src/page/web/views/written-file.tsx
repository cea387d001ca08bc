import { useState } from "preact/hooks";
import type { FileWrite } from "../../api-visit.js";
import { ask } from "../ask.js";
import { languageOf } from "../text/code.js";
import { Difference } from "../ui/difference.js";
import { Fault, Quiet, Switch } from "../ui/parts.js";
import { SafeText } from "../ui/texts.js";
import { useAsked } from "../use-asked.js";

const FORMS = [
  ["read", "As it reads"],
  ["source", "Its text"],
  ["difference", "What changed"],
] as const;

/** What one call has written: as it reads, as it is, and against what was there before. */
export function WrittenFile({ run, write }: { readonly run: string; readonly write: FileWrite }) {
  const { path, sha256, previousSha256, isKept } = write;
  const forms = FORMS.filter(
    ([form]) =>
      (form !== "read" || isMarkdown(path)) && (form !== "difference" || previousSha256 !== undefined),
  );
  const [chosen, setForm] = useState<(typeof FORMS)[number][0]>();
  const form = forms.find(([name]) => name === chosen)?.[0] ?? forms[0]?.[0] ?? "source";
  const now = useContent(run, isKept ? sha256 : undefined);
  const before = useContent(run, form === "difference" ? previousSha256 : undefined);
  if (!isKept) return <Quiet>What was written is no longer kept.</Quiet>;
  return (
    <>
      {forms.length > 1 && <Switch label="How it is shown" value={form} options={forms} onValue={setForm} />}
      <div class="gap" />
      <Fault error={now.error ?? before.error} />
      {now.value !== undefined && now.value === null && <Quiet>It is no text, or no longer kept.</Quiet>}
      {now.value !== undefined && now.value !== null && form !== "difference" && (
        <SafeText text={now.value} form={form === "read" ? "markdown" : languageOf(path)} />
      )}
      {now.value && form === "difference" && before.value !== undefined && (
        <>
          {before.value === null ? (
            <Quiet>What was there before is no longer kept.</Quiet>
          ) : (
            <Difference before={before.value.text} after={now.value.text} />
          )}
        </>
      )}
    </>
  );
}

export function isMarkdown(path: string): boolean {
  return /\.(?:md|markdown)$/i.test(path);
}

/** A content by its hash; nothing is asked for where there is none. */
function useContent(run: string, sha256: string | undefined) {
  const load = async (signal: AbortSignal) =>
    sha256 === undefined ? undefined : (await ask("content", { run, sha256 }, signal)).text;
  return useAsked(`content ${run} ${sha256}`, load);
}
