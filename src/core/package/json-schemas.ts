import type { z } from "zod";
import { jsonFile } from "../json.js";
import { publishedSchema } from "../published-schema.js";
import { frontmatterSchema } from "../state/state-frontmatter.js";
import { packageTestSchema } from "./package-test.js";
import { agentsFileSchema, graphSchema, manifestSchema, stepFrontmatterSchema } from "./schemas.js";

/** The package format as JSON Schemas for editors and other tools, by file name. Generated into `schemas/`. */
export function packageJsonSchemas(): ReadonlyMap<string, object> {
  return new Map([
    jsonSchema("bmad", "bmad.json: the manifest of a package", manifestSchema),
    jsonSchema("agents", "agents.json: personas and tool policy", agentsFileSchema),
    jsonSchema("workflow-graph", "workflow.graph.json: the legal transitions of a workflow", graphSchema),
    jsonSchema("step-frontmatter", "The frontmatter of a step file", stepFrontmatterSchema),
    jsonSchema("package-test", "tests/*.yaml: a test of a package", packageTestSchema),
    jsonSchema("workflow-frontmatter", "The frontmatter of workflow.md, a run's state", frontmatterSchema),
  ]);
}

function jsonSchema(name: string, title: string, schema: z.ZodType): [string, object] {
  return publishedSchema(schema, { name, id: `package:1.1:${name}`, title });
}

/** The text of a schema file. */
export function renderJsonSchema(schema: object): string {
  return jsonFile(schema);
}
