import { z } from "zod";

/** A schema as others are given it: the name of its file in `schemas/`, and the JSON Schema with its id and a title. */
export function publishedSchema(
  schema: z.ZodType,
  { name, id, title }: { readonly name: string; readonly id: string; readonly title: string },
): [string, object] {
  const { $schema, ...rest } = z.toJSONSchema(schema, { target: "draft-2020-12", io: "input" });
  return [`${name}.schema.json`, { $schema, $id: `urn:interlock:${id}`, title, ...rest }];
}
