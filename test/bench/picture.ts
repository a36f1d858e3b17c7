import type { Finding } from './row.ts';

/** What `--json` writes. */
export interface Report {
  readonly at: string;
  readonly node: string;
  readonly platform: string;
  readonly arch: string;
  readonly machine: string;
  readonly findings: readonly Finding[];
}

const WIDTH = 840;
const LABELS = 330;
const RIGHT = 70;
const TOP = 62;
const LINE = 26;
const BAR = 12;
const FOOT = 46;

const STYLE = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .small { font-size: 11px; fill: #59636e }
  .gw { fill: #1a7f64 } .less { fill: #9a6700 }
  .spread { stroke: #1f2328; stroke-width: 1.5 }
  .grid { stroke: #d1d9e0 } .one { stroke: #59636e; stroke-width: 1.5 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .small { fill: #9198a1 }
    .gw { fill: #3fb68b } .less { fill: #d29922 }
    .spread { stroke: #f0f6fc } .grid { stroke: #3d444d } .one { stroke: #9198a1 }
  }`;

/**
 * The ratios of runs of one machine as bars with their lowest and highest round, as SVG that suits light and dark pages.
 * Says when the first one was.
 */
export function drawPicture(runs: readonly Report[]): string {
  const [{ at, node, machine }] = runs as [Report, ...Report[]];
  const ratios = runs
    .flatMap(({ findings }) => findings)
    .filter(({ measured }) => measured?.unit === 'ratio');
  const most = Math.max(1, ...ratios.map(({ measured }) => measured?.highest ?? 0));
  const scale = (ratio: number): number => LABELS + (ratio / most) * (WIDTH - LABELS - RIGHT);
  const height = TOP + ratios.length * LINE + FOOT;
  const marks = Array.from({ length: Math.floor(most * 2) + 1 }, (_, index) => index / 2);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img">
<title>Requests per second of gw, as a multiple of what others serve</title>
<style>${STYLE}
</style>
<text x="0" y="18">Requests per second of gw / of its peer, in the same run</text>
<text class="small" x="0" y="36">Right of 1: gw serves more. The thin line goes from the lowest to the highest round.</text>
${marks.map((mark) => markText(mark, scale(mark), height)).join('\n')}
${ratios.map((finding, index) => barText(finding, scale, TOP + index * LINE)).join('\n')}
<text class="small" x="0" y="${height - 8}">${escaped(`${machine}, Node ${node}, ${at.slice(0, 10)}; one worker each; the load generator runs on the same cores`)}</text>
</svg>
`;
}

function markText(mark: number, x: number, height: number): string {
  const line = `x1="${px(x)}" x2="${px(x)}" y1="${TOP - 8}" y2="${height - FOOT + 4}"`;
  return `<line class="${mark === 1 ? 'one' : 'grid'}" ${line}/><text class="small" x="${px(x)}" y="${height - FOOT + 20}" text-anchor="middle">${mark}</text>`;
}

function barText({ subject, measured }: Finding, scale: (ratio: number) => number, y: number): string {
  const { value = 0, lowest = 0, highest = 0 } = measured ?? {};
  const [from, to, middle] = [scale(0), scale(value), y + BAR / 2];
  return `<text x="${LABELS - 10}" y="${y + BAR - 1}" text-anchor="end">${escaped(subject)}</text>
<rect class="${value >= 1 ? 'gw' : 'less'}" x="${px(from)}" y="${y}" width="${px(to - from)}" height="${BAR}" rx="2"/>
<line class="spread" x1="${px(scale(lowest))}" x2="${px(scale(highest))}" y1="${middle}" y2="${middle}"/>
<text class="small" x="${px(scale(highest) + 6)}" y="${y + BAR - 1}">${value.toFixed(2)}</text>`;
}

const px = (value: number): string => value.toFixed(1);

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
