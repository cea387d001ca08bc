import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Route, packagesHref, parseRoute, runsHref } from "./routes.js";
import { useAnswer } from "./use-asked.js";
import { PackageView } from "./views/package.js";
import { PackagesView } from "./views/packages.js";
import { RunView } from "./views/run.js";
import { RunsView } from "./views/runs.js";

export function App() {
  const route = useRoute();
  const session = useAnswer("session", {});
  const main = useMainFocus(route);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        To the content
      </a>
      <header class="bar">
        <a class="brand" href={runsHref()}>
          <img src="icon.svg" alt="" />
          Interlock
        </a>
        <nav aria-label="Views">
          <Tab href={runsHref()} isHere={route.view === "runs" || route.view === "run"} text="Runs" />
          <Tab href={packagesHref()} isHere={route.view.startsWith("package")} text="Packages" />
        </nav>
        <span class="standing">
          {session.value !== undefined && `${session.value.namespace} · ${session.value.version}`}
        </span>
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        <View route={route} />
      </main>
    </>
  );
}

function View({ route }: { readonly route: Route }) {
  switch (route.view) {
    case "runs":
      return <RunsView filter={route.filter} />;
    case "run":
      return <RunView key={route.run} route={route} />;
    case "packages":
      return <PackagesView taskQueue={route.taskQueue} />;
    case "package":
      return <PackageView key={route.packageId} taskQueue={route.taskQueue} packageId={route.packageId} />;
  }
}

function Tab({
  href,
  isHere,
  text,
}: {
  readonly href: string;
  readonly isHere: boolean;
  readonly text: string;
}) {
  return (
    <a href={href} aria-current={isHere ? "page" : undefined}>
      {text}
    </a>
  );
}

function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useLayoutEffect(() => {
    // By the event: the address may be another one already, and who goes back at once comes by each.
    const changed = ({ newURL }: HashChangeEvent) => setRoute(parseRoute(new URL(newURL).hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}

/** Who comes to another view by keyboard or screen reader begins at its content. */
function useMainFocus(route: Route) {
  const main = useRef<HTMLElement>(null);
  const shown = route.view === "run" ? route.run : route.view;
  const before = useRef(shown);
  useEffect(() => {
    if (before.current !== shown) main.current?.focus();
    before.current = shown;
  }, [shown]);
  return main;
}
