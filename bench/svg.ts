/** A drawing of this size on its own ground, readable in light and in dark surroundings. */
export function drawing({ width, height, title, description, content }: Drawing): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title description">
<title id="title">${escaped(title)}</title>
<desc id="description">${escaped(description)}</desc>
<style>${STYLE}</style>
<rect class="ground" width="${width}" height="${height}" rx="6"/>
${text(24, 34, title, 'title')}
${content.join('\n')}
</svg>
`;
}

interface Drawing {
  readonly width: number;
  readonly height: number;
  readonly title: string;
  /** All that the drawing shows, for those who cannot see it. */
  readonly description: string;
  readonly content: readonly string[];
}

/** `classes`: `title`, `small`, `end`, `middle`, `ink-0` to `ink-3`. */
export function text(x: number, y: number, content: string, classes = ''): string {
  return `<text x="${short(x)}" y="${short(y)}" class="${classes}">${escaped(content)}</text>`;
}

export function line(x1: number, y1: number, x2: number, y2: number): string {
  return `<line class="grid" x1="${short(x1)}" y1="${short(y1)}" x2="${short(x2)}" y2="${short(y2)}"/>`;
}

/** A line through the points in one of the inks, with a dot on each. */
export function curve(points: readonly (readonly [x: number, y: number])[], ink: number): string {
  const path = points.map(([x, y]) => `${short(x)},${short(y)}`).join(' ');
  const dots = points.map(([x, y]) => `<circle class="fill-${ink}" cx="${short(x)}" cy="${short(y)}" r="4"/>`);
  return [`<polyline class="curve stroke-${ink}" points="${path}"/>`, ...dots].join('\n');
}

export function bar(x: number, y: number, width: number, height: number, ink: number): string {
  return `<rect class="fill-${ink}" x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"/>`;
}

/** Round numbers from 0 to just above the highest value, at most seven. */
export function ticksUpTo(highest: number): readonly number[] {
  const magnitude = 10 ** Math.floor(Math.log10(highest));
  const step = [0.2, 0.5, 1, 2, 5].map((part) => part * magnitude).find((size) => highest / size <= 6) ?? magnitude;
  return Array.from({ length: Math.ceil(highest / step) + 1 }, (_, n) => n * step);
}

/** Two decimals of a pixel are enough, and keep the file small. */
function short(value: number): string {
  return `${Math.round(value * 100) / 100}`;
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Inks that are told apart by people who see colours differently. */
const LIGHT_INKS = ['#0072b2', '#d55e00', '#007a5a', '#8250a8'];
const DARK_INKS = ['#56b4e9', '#ff9a4d', '#3ecf9f', '#c79bf2'];

const STYLE = `
text { font: 14px system-ui, sans-serif; fill: #1f2328 }
.title { font-size: 17px; font-weight: 600 }
.small { font-size: 12px }
.end { text-anchor: end }
.middle { text-anchor: middle }
.ground { fill: #ffffff }
.grid { stroke: #d0d7de }
.curve { fill: none; stroke-width: 2.5 }
${inks(LIGHT_INKS)}
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.ground { fill: #0d1117 }
.grid { stroke: #3d444d }
${inks(DARK_INKS)}
}
`;

function inks(colours: readonly string[]): string {
  return colours
    .map(
      (colour, n) => `.stroke-${n} { stroke: ${colour} } .fill-${n} { fill: ${colour} } .ink-${n} { fill: ${colour} }`,
    )
    .join('\n');
}
