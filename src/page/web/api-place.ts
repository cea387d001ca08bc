const KEPT = "api";
const OPENED = /^#\/opened(\/api\/[\w-]+)$/;

/** For a browser that keeps nothing: this tab's. */
let told = "";

/** Takes what the link has told of where the API is. The address does not keep it; the origin does, for its other tabs. */
export function takeApiPlace(): void {
  const place = OPENED.exec(location.hash)?.[1];
  if (place === undefined) return;
  told = place;
  try {
    localStorage.setItem(KEPT, place);
  } catch {
    // it is known in this tab
  }
  history.replaceState(null, "", "#/runs");
}

/** Where a path of the API is. Another tab may have opened a later link. */
export function apiPath(path: string): string {
  return path.replace(/^\/api/, keptPlace() || "/api");
}

function keptPlace(): string {
  try {
    return localStorage.getItem(KEPT) ?? told;
  } catch {
    return told;
  }
}
