import { h, setText, show, svg } from './dom.ts';
import { clock } from './format.ts';
import type { Pace } from './pace.ts';

const STEPS = [1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10];

/** The first round number at or above `value`. */
function roundUp(value: number): number {
  if (value <= 0) return 1;
  const magnitude = 10 ** Math.floor(Math.log10(value));
  const step = STEPS.find((factor) => factor * magnitude >= value * 0.999) ?? 10;
  return step * magnitude;
}

/** Points as the `d` of a path; a missing value breaks the line. */
export function linePath(points: readonly (readonly [x: number, y: number] | undefined)[]): string {
  let path = '';
  let isOpen = false;
  for (const point of points) {
    if (point) path += `${isOpen ? 'L' : 'M'}${point[0].toFixed(1)} ${point[1].toFixed(1)}`;
    isOpen = point !== undefined;
  }
  return path;
}

/** The area between two lines of the same length. */
export function areaPath(
  top: readonly (readonly [x: number, y: number])[],
  bottom: readonly (readonly [x: number, y: number])[],
): string {
  if (top.length < 2) return '';
  const back = bottom.toReversed().map(([x, y]) => `L${x.toFixed(1)} ${y.toFixed(1)}`);
  return `${linePath(top)}${back.join('')}Z`;
}

const WINDOW_MS = 300_000;
const HEIGHT = 176;
const LEFT = 46;
const RIGHT = 6;
const TOP = 8;
const BOTTOM = 22;
const MINUTES = [4, 3, 2, 1, 0];

/** One line or layer of a chart. */
interface Series {
  readonly name: string;
  /** A class of the style sheet that has its colour. */
  readonly tone: string;
  value(pace: Pace): number | undefined;
}

interface ChartOptions {
  readonly title: string;
  readonly series: readonly Series[];
  /** Layers on top of each other, not lines beside each other. */
  readonly stacked?: boolean;
  /** The axis goes up to this at least. */
  readonly least: number;
  format(value: number): string;
}

type Point = readonly [x: number, y: number];

/** The last five minutes of something. The legend tells the values under the pointer, or the last ones. */
export class TimeChart {
  readonly element: HTMLElement;
  readonly #options: ChartOptions;
  readonly #drawing = svg('svg', { class: 'chart', role: 'img', height: HEIGHT });
  readonly #readouts: readonly HTMLElement[];
  readonly #time = h('span', { class: 'chart-time' });
  #paces: readonly Pace[] = [];
  #nowMs = 0;
  #pointer: number | undefined;

  constructor(options: ChartOptions) {
    this.#options = options;
    this.#readouts = options.series.map(() => h('b'));
    const legend = options.series.map(({ name, tone }, index) =>
      h('span', { class: `key ${tone}` }, h('i', { 'aria-hidden': 'true' }), name, this.#readouts[index]),
    );
    this.element = h(
      'section',
      { class: 'card' },
      h('header', { class: 'card-head' }, h('h2', {}, options.title), this.#time),
      h('p', { class: 'legend' }, ...legend),
      this.#drawing,
    );
    new ResizeObserver(() => this.#draw()).observe(this.element);
    this.#drawing.addEventListener('pointermove', (event) => this.#point(event.offsetX));
    this.#drawing.addEventListener('pointerleave', () => this.#point(undefined));
  }

  update(paces: readonly Pace[], nowMs: number): void {
    this.#paces = paces.filter(({ atMs }) => atMs > nowMs - WINDOW_MS);
    this.#nowMs = nowMs;
    this.#draw();
  }

  #point(x: number | undefined): void {
    this.#pointer = x;
    this.#draw();
  }

  #draw(): void {
    const width = this.#drawing.clientWidth;
    if (width === 0) return;
    const { series, stacked, format, least, title } = this.#options;
    const layers = stacked ? this.#stacks() : series.map(({ value }) => this.#paces.map(value));
    const top = roundUp(Math.max(least, ...layers.flat().map((value) => value ?? 0)));
    const x = (atMs: number): number =>
      width - RIGHT - ((this.#nowMs - atMs) / WINDOW_MS) * (width - LEFT - RIGHT);
    const y = (value: number): number => HEIGHT - BOTTOM - (value / top) * (HEIGHT - TOP - BOTTOM);
    const picked = this.#picked(x);
    this.#read(picked);
    this.#drawing.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
    this.#drawing.setAttribute('aria-label', `${title}: ${this.#summary()}`);
    show(
      this.#drawing,
      ...[0, top / 2, top].map((value) => gridLine(y(value), { width, label: format(value) })),
      ...MINUTES.map((ago) => timeLabel(x(this.#nowMs - ago * 60_000), ago)),
      ...(stacked ? this.#areas(layers, { x, y }) : this.#lines(layers, { x, y })),
      picked &&
        svg('line', {
          class: 'cursor',
          x1: x(picked.atMs),
          x2: x(picked.atMs),
          y1: TOP,
          y2: HEIGHT - BOTTOM,
        }),
    );
  }

  /** Running totals, so that each layer lies on the one before it. */
  #stacks(): number[][] {
    const { series } = this.#options;
    const totals = this.#paces.map(() => 0);
    return series.map(({ value }) =>
      this.#paces.map((pace, index) => (totals[index] = (totals[index] as number) + (value(pace) ?? 0))),
    );
  }

  #areas(layers: readonly (readonly (number | undefined)[])[], scale: Scale): SVGElement[] {
    return layers.map((layer, index) => {
      const below = layers[index - 1];
      const points = (values: readonly (number | undefined)[] | undefined): Point[] =>
        this.#paces.map((pace, at) => [scale.x(pace.atMs), scale.y(values?.[at] ?? 0)]);
      return svg('path', {
        class: `area ${this.#options.series[index]?.tone ?? ''}`,
        d: areaPath(points(layer), points(below)),
      });
    });
  }

  #lines(layers: readonly (readonly (number | undefined)[])[], scale: Scale): SVGElement[] {
    return layers.map((layer, index) => {
      const points = layer.map((value, at): Point | undefined =>
        value === undefined ? undefined : [scale.x(this.#paces[at]?.atMs ?? 0), scale.y(value)],
      );
      return svg('path', { class: `line ${this.#options.series[index]?.tone ?? ''}`, d: linePath(points) });
    });
  }

  #picked(x: (atMs: number) => number): Pace | undefined {
    const pointer = this.#pointer;
    if (pointer === undefined) return undefined;
    const distance = ({ atMs }: Pace): number => Math.abs(x(atMs) - pointer);
    return this.#paces.toSorted((a, b) => distance(a) - distance(b))[0];
  }

  #read(picked: Pace | undefined): void {
    const pace = picked ?? this.#paces.at(-1);
    setText(this.#time, picked ? clock(picked.atMs) : 'last 5 minutes');
    for (const [index, { value }] of this.#options.series.entries()) {
      const shown = pace && value(pace);
      setText(this.#readouts[index] as HTMLElement, shown === undefined ? '–' : this.#options.format(shown));
    }
  }

  #summary(): string {
    const pace = this.#paces.at(-1);
    return this.#options.series
      .map(({ name, value }) => `${name} ${this.#options.format((pace && value(pace)) ?? 0)}`)
      .join(', ');
  }
}

interface Scale {
  x(atMs: number): number;
  y(value: number): number;
}

function gridLine(y: number, { width, label }: { width: number; label: string }): SVGElement {
  return svg(
    'g',
    { class: 'grid' },
    svg('line', { x1: LEFT, x2: width - RIGHT, y1: y, y2: y }),
    svg('text', { x: LEFT - 8, y: y + 4, 'text-anchor': 'end' }, label),
  );
}

function timeLabel(x: number, ago: number): SVGElement {
  const text = ago === 0 ? 'now' : `−${ago} min`;
  return svg('text', { class: 'tick', x, y: HEIGHT - 5, 'text-anchor': ago === 0 ? 'end' : 'middle' }, text);
}
