import { argumentsProperty } from "./arguments.js";
import { atOnceProperty } from "./at-once.js";
import { documentProperty } from "./documents.js";
import { guardProperty } from "./guard.js";
import { archiveProperty, packageProperty } from "./packages.js";
import { pathProperty } from "./paths.js";
import type { Property } from "./property.js";
import { readProperty } from "./reads.js";
import { searchProperty } from "./search.js";
import { stateProperty } from "./state.js";

/** Everything that is fuzzed. */
export function openProperties(): readonly Property[] {
  const properties = [
    guardProperty(),
    pathProperty(),
    stateProperty(),
    documentProperty(),
    argumentsProperty(),
    atOnceProperty(),
    searchProperty(),
    readProperty(),
    packageProperty(),
    archiveProperty(),
  ];
  return properties as unknown as readonly Property[]; // each is given its own kind of case only
}
