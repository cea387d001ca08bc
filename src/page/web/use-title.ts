import { useEffect } from "preact/hooks";

/** What the browser's tab is called while a view is shown. */
export function useTitle(name: string): void {
  useEffect(() => {
    document.title = `${name} · Interlock`;
  }, [name]);
}
