/** One figure over the length of a run. */
export interface Line {
  readonly title: string;
  readonly unit: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

const WIDTH = 880;
const HEIGHT = 150;
const LEFT = 70;
const RIGHT = 20;
const TOP = 34;
const BOTTOM = 28;

/** Small charts below one another, each from zero, as an SVG. */
export function drawLines(heading: string, xName: string, lines: readonly Line[]): string {
  const height = 40 + lines.length * HEIGHT;
  const charts = lines.map((line, index) => chart(line, xName, 40 + index * HEIGHT));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${height}" fill="white"/>`,
    `<text x="${LEFT}" y="24" font-size="15">${escaped(heading)}</text>`,
    ...charts,
    "</svg>\n",
  ].join("\n");
}

function chart({ title, unit, points }: Line, xName: string, top: number): string {
  const [maxX, maxY] = [0, 1].map((axis) => Math.max(1e-9, ...points.map((point) => point[axis] ?? 0)));
  const x = (value: number): number => LEFT + (value / (maxX ?? 1)) * (WIDTH - LEFT - RIGHT);
  const y = (value: number): number =>
    top + HEIGHT - BOTTOM - (value / (maxY ?? 1)) * (HEIGHT - TOP - BOTTOM);
  const path = points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" ");
  const last = points.at(-1)?.[1] ?? 0;
  return [
    `<text x="${LEFT}" y="${top + 22}">${escaped(`${title}: ${readable(last)} ${unit} at the end`)}</text>`,
    `<line x1="${LEFT}" y1="${y(0)}" x2="${WIDTH - RIGHT}" y2="${y(0)}" stroke="#888"/>`,
    `<text x="${LEFT - 6}" y="${y(maxY ?? 1) + 4}" text-anchor="end" fill="#555">${readable(maxY ?? 1)}</text>`,
    `<text x="${LEFT - 6}" y="${y(0) + 4}" text-anchor="end" fill="#555">0</text>`,
    `<text x="${WIDTH - RIGHT}" y="${y(0) + 16}" text-anchor="end" fill="#555">${escaped(`${readable(maxX ?? 1)} ${xName}`)}</text>`,
    `<polyline points="${path}" fill="none" stroke="#1f6feb" stroke-width="1.5"/>`,
  ].join("\n");
}

function readable(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
