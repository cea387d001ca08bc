/** A file with agents and, of several in one of JSON, the one that is named behind it: `agents.json#iris`. */
export interface AgentPlace {
  readonly path: string;
  readonly agent?: string;
}

/** Taken apart, as a run's input has it. */
export function agentPlace(agentFile: string): AgentPlace {
  const [, path = agentFile, agent] = /^(.*\.json)#([^#/\\]+)$/isu.exec(agentFile) ?? [];
  return agent === undefined ? { path } : { path, agent };
}
