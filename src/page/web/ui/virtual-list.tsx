import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { TEXT_SCALE } from "./text-scale.js";

/** Rows beyond what is seen, above and below. */
const SPARE = 12;
/** Before the list's height is known. */
const FIRST_HEIGHT = 720;

interface VirtualListProps<T> {
  readonly label: string;
  readonly items: readonly T[];
  /** Of every row, in pixels where texts have their usual size. */
  readonly rowHeight: number;
  readonly keyOf: (item: T) => string;
  readonly children: (item: T) => ComponentChildren;
  /** Stays at the end while new rows come, as long as it is there. */
  readonly follows?: boolean;
  /** Told of the first row that is in the page. */
  readonly onSeen?: (first: number) => void;
  /** Called when the last rows are seen, and again whenever it is there anew while they are. */
  readonly onEnd?: (() => void) | undefined;
}

/** A list of which only the rows that are seen are in the page, however long it is. On paper all are. */
export function VirtualList<T>(props: VirtualListProps<T>) {
  const { label, items, rowHeight: usualHeight, keyOf, children, follows = false, onSeen, onEnd } = props;
  const rowHeight = usualHeight * TEXT_SCALE;
  const box = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ top: 0, height: FIRST_HEIGHT });
  const isAtEnd = useRef(true);
  const isPrinted = usePrinting();
  const first = isPrinted ? 0 : Math.max(0, Math.floor(seen.top / rowHeight) - SPARE);
  const end = isPrinted ? items.length : Math.ceil((seen.top + seen.height) / rowHeight) + SPARE;
  const last = Math.min(items.length, end);

  const look = () => {
    const { current } = box;
    if (current === null) return;
    const { scrollTop, clientHeight, scrollHeight } = current;
    isAtEnd.current = scrollTop + clientHeight >= scrollHeight - rowHeight;
    setSeen({ top: scrollTop, height: clientHeight });
  };
  useLayoutEffect(() => {
    const { current } = box;
    if (follows && isAtEnd.current && current !== null) current.scrollTop = current.scrollHeight;
    look();
  }, [items.length]);
  useEffect(() => onSeen?.(first), [first]);
  useEffect(() => {
    if (!isPrinted && last >= items.length && items.length > 0) onEnd?.();
  }, [last, items.length, onEnd === undefined]);

  return (
    <div class="virtual" ref={box} onScroll={look} tabIndex={0} role="region" aria-label={label}>
      <ul style={{ height: `${items.length * rowHeight}px` }}>
        {items.slice(first, last).map((item, index) => (
          <li
            key={keyOf(item)}
            aria-setsize={items.length}
            aria-posinset={first + index + 1}
            style={{ top: `${(first + index) * rowHeight}px`, height: `${rowHeight}px` }}
          >
            {children(item)}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Whether the page is being put on paper: what is shown between the two events is what stands there. */
function usePrinting(): boolean {
  const [isPrinted, setPrinted] = useState(false);
  useEffect(() => {
    const begin = () => setPrinted(true);
    const end = () => setPrinted(false);
    addEventListener("beforeprint", begin);
    addEventListener("afterprint", end);
    return () => {
      removeEventListener("beforeprint", begin);
      removeEventListener("afterprint", end);
    };
  }, []);
  return isPrinted;
}
