/** An object without its undefined fields: for literals with fields that may be absent. */
export function defined<T extends object>(fields: T): Defined<T> {
  const said = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(said) as Defined<T>; // what is left out may be absent
}

/** Fields that may be undefined may be absent instead. */
export type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};
