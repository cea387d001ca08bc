import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/**
 * Lets the keyboard come to boxes while more is in them than is seen: the arrow keys scroll the one that has the focus. Those that show all
 * are no stop on its way. `inner` selects boxes in the place; without it the place is one. They are looked for anew with another `asOf`.
 */
export function useScrolling(
  place: RefObject<HTMLElement | null>,
  label: string,
  asOf: string,
  inner?: string,
): void {
  useLayoutEffect(() => {
    const { current } = place;
    if (current === null) return undefined;
    const boxes = inner === undefined ? [current] : [...current.querySelectorAll<HTMLElement>(inner)];
    const observer = new ResizeObserver(() => boxes.forEach((box) => setReach(box, label)));
    boxes.forEach((box) => observer.observe(box));
    return () => observer.disconnect();
  }, [label, asOf, inner]);
}

function setReach(box: HTMLElement, label: string): void {
  const isTable = box.tagName === "TABLE"; // it stays one to a screen reader
  if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) {
    box.tabIndex = 0;
    box.setAttribute("aria-label", label);
    if (!isTable) box.setAttribute("role", "group");
  } else {
    for (const name of ["tabindex", "aria-label", "role"]) box.removeAttribute(name);
  }
}
