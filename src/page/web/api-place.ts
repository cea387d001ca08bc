import { ROUTES } from "../api.js";

const KEPT = "api";
const OPENED = /^#\/opened(\/api\/[\w-]+)$/;

/** For a browser that keeps nothing: this tab's. */
let told = "";

/**
 * Takes what the link has told of where the API is. The address does not keep it; the origin does, for its other tabs. Pages of others may lead to
 * any address here, so a place that does not let this browser in changes nothing.
 */
export async function takeApiPlace(): Promise<void> {
  const place = OPENED.exec(location.hash)?.[1];
  if (place === undefined) return;
  if (await letsIn(place)) keep(place);
  history.replaceState(null, "", "#/runs");
}

async function letsIn(place: string): Promise<boolean> {
  try {
    return (await fetch(pathAt(place, ROUTES.session.path), { cache: "no-store" })).ok;
  } catch {
    return false;
  }
}

function keep(place: string): void {
  told = place;
  try {
    localStorage.setItem(KEPT, place);
  } catch {
    // it is known in this tab
  }
}

/** Where a path of the API is. Another tab may have opened a later link. */
export function apiPath(path: string): string {
  return pathAt(keptPlace() || "/api", path);
}

function pathAt(place: string, path: string): string {
  return path.replace(/^\/api/, place);
}

function keptPlace(): string {
  try {
    return localStorage.getItem(KEPT) ?? told;
  } catch {
    return told;
  }
}
