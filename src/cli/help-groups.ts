/** Headings of the commands in the help, which has them in the order in which they are given first. */
export const GROUP = {
  start: "Start:",
  look: "Look at runs:",
  tell: "Tell a run:",
  goOn: "Let a run go on:",
  keep: "Keep and prove:",
  packages: "Packages and projects:",
  operate: "Operate:",
} as const;
