import { inject } from "vitest";
import { type ArmedBuild, armedBuild } from "./armed-build.js";

/** The build that all crash tests share, in which nothing was changed. */
export function sharedBuild(): ArmedBuild {
  return armedBuild(inject("armedBuild"));
}
