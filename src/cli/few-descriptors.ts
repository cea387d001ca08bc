import { readDescriptors } from "../worker/descriptors.js";
import { CommandError } from "./terminal/output.js";

/** Loading a command's modules takes that many, all at once; what cannot be loaded says nothing that helps. */
const DESCRIPTORS_TO_LOAD = 128;

/** Throws `CommandError` where a process may open too few files to load a command. */
export function refuseFewDescriptors(): void {
  const { limit } = readDescriptors();
  if (limit === undefined || limit >= DESCRIPTORS_TO_LOAD) return;
  throw new CommandError(
    `This process may open ${limit} files and connections, too few to start. Raise the limit: ulimit -n 1024`,
  );
}
