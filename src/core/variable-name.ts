import { z } from "zod";
import { redactSecrets } from "./prompt/redact.js";

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Many providers' keys are letters and digits alone, which could be a name. */
const LIKE_A_KEY = /^(?=.*\d)[A-Za-z0-9]{24,}$/;

/** Whether somebody has written a key where the variable that holds it is named. Names of variables mix no digits and small letters so. */
function isKey(text: string): boolean {
  return LIKE_A_KEY.test(text) || (redactSecrets(text) !== text && /\d/.test(text) && /[a-z]/.test(text));
}

/** The name of a variable that holds a secret. Messages and histories say it: what may be the secret is refused, and not repeated. */
export const secretVariable = z
  .string()
  .refine(
    (text) => NAME.test(text) && !isKey(text),
    "must be the name of an environment variable: the secret itself does not belong here",
  );
