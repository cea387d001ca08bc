import { type SecretFile, modeOpenToOthers } from "../environment/secret-files.js";
import { type Finding, passed, warning } from "./finding.js";

/** Whether other users of the machine can read the files that variables name for secrets. */
export async function checkSecretFiles(files: readonly SecretFile[]): Promise<readonly Finding[]> {
  return Promise.all(
    files.map(async ({ variable, path }) => {
      const mode = await modeOpenToOthers(path);
      if (mode === undefined) return passed("secret file", variable);
      const found = `${variable} names a file that others may open (${mode})`;
      return warning("secret file", found, `chmod 600 "$${variable}"`);
    }),
  );
}
