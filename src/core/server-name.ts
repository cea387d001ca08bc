/** What is said of a name that no MCP server can have. */
export const SERVER_NAME = "must have a name of at most 32 characters of a-z 0-9 -, a letter first";

/** Whether an MCP server can be called so in the settings. */
export function isServerName(name: string): boolean {
  return /^[a-z][a-z0-9-]{0,31}$/.test(name);
}
