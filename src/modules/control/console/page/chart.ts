import uPlot from 'uplot';
import { h, setText } from './dom.ts';
import { clock } from './format.ts';
import type { Pace } from './pace.ts';
import { type Range, SHORTEST_RANGE } from '../ranges.ts';

const HEIGHT = 176;

/** One line or layer of a chart. */
interface Series {
  readonly name: string;
  /** A class in the style sheet that defines its colour. */
  readonly tone: string;
  value(pace: Pace): number | undefined;
}

interface ChartOptions {
  readonly title: string;
  readonly series: readonly Series[];
  /** The values are stacked. */
  readonly stacked?: boolean;
  /** Minimum upper end of the axis. */
  readonly least: number;
  format(value: number): string;
}

/** A chart of the last minutes or hours. The legend shows the values under the pointer, or the last ones. */
export class TimeChart {
  readonly element: HTMLElement;
  readonly #options: ChartOptions;
  readonly #drawing = h('div', { class: 'chart', role: 'img' });
  readonly #readouts: readonly HTMLElement[];
  readonly #swatches: readonly HTMLElement[];
  readonly #time = h('span', { class: 'chart-time' });
  readonly #plot: uPlot;
  #paces: readonly Pace[] = [];
  #now = 0;
  #range = SHORTEST_RANGE;

  constructor(options: ChartOptions) {
    this.#options = options;
    this.#readouts = options.series.map(() => h('b'));
    this.#swatches = options.series.map(() => h('i', { 'aria-hidden': 'true' }));
    const keys = options.series.map(({ name, tone }, index) =>
      h('span', { class: `key ${tone}` }, this.#swatches[index], name, this.#readouts[index]),
    );
    this.element = h(
      'section',
      { class: 'card' },
      h('header', { class: 'card-head' }, h('h2', {}, options.title), this.#time),
      h('p', { class: 'legend' }, ...keys),
      this.#drawing,
    );
    this.#plot = new uPlot(this.#shape(), [[]], this.#drawing);
    new ResizeObserver(() =>
      this.#plot.setSize({ width: this.#drawing.clientWidth, height: HEIGHT }),
    ).observe(this.#drawing);
  }

  update(paces: readonly Pace[], { nowMs, range }: { nowMs: number; range: Range }): void {
    const { series, stacked, format, title } = this.#options;
    this.#now = nowMs / 1000;
    this.#range = range;
    this.#paces = paces.filter(({ atMs }) => atMs / 1000 > this.#now - range.seconds);
    const layers = series.map(({ value }) => this.#paces.map((pace) => value(pace) ?? null));
    const times = this.#paces.map(({ atMs }) => atMs / 1000);
    this.#plot.setData([times, ...(stacked ? stacks(layers) : layers)]);
    this.#read();
    const pace = this.#paces.at(-1);
    const last = series.map(({ name, value }) => `${name} ${format((pace && value(pace)) ?? 0)}`);
    this.#drawing.setAttribute('aria-label', `${title}: ${last.join(', ')}`);
  }

  #shape(): uPlot.Options {
    const { series, stacked, least } = this.#options;
    return {
      width: 0,
      height: HEIGHT,
      padding: [8, 14, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      scales: {
        x: { time: false, range: () => [this.#now - this.#range.seconds, this.#now] },
        y: { range: (_, __, max) => [0, uPlot.rangeNum(0, Math.max(least, max), 0.1, true)[1] ?? max] },
      },
      axes: this.#axes(),
      series: [{}, ...this.#swatches.map((swatch) => this.#line(swatch))],
      bands: stacked ? series.slice(1).map((_, index) => ({ series: [index + 2, index + 1] })) : [],
      hooks: { setCursor: [() => this.#read()] },
    };
  }

  /** uPlot needs resolved colours, and they change with the theme: they are read for each drawing. */
  #axes(): uPlot.Axis[] {
    const { format } = this.#options;
    const axis = { font: '11px system-ui', ticks: { show: false }, gap: 6 };
    const stroke = (): string => getComputedStyle(this.#drawing).color;
    const line = (): string => getComputedStyle(this.#drawing).borderColor;
    return [
      {
        ...axis,
        stroke,
        size: 22,
        grid: { show: false },
        splits: () => this.#range.marks.map((ago) => this.#now - ago * this.#range.unitSeconds),
        values: () => this.#range.marks.map((ago) => (ago === 0 ? 'now' : `−${ago} ${this.#range.unit}`)),
      },
      {
        ...axis,
        stroke,
        size: 46,
        space: 50,
        grid: { stroke: line, width: 1 },
        values: (_, values) => values.map(format),
      },
    ];
  }

  #line(swatch: Element): uPlot.Series {
    const colour = (): string => getComputedStyle(swatch).backgroundColor;
    const paint = this.#options.stacked ? { fill: colour } : { stroke: colour, width: 1.75 };
    return { points: { show: false }, ...paint };
  }

  #read(): void {
    const picked = this.#paces[this.#plot.cursor.idx ?? -1];
    const pace = picked ?? this.#paces.at(-1);
    setText(this.#time, picked ? clock(picked.atMs) : this.#range.words);
    for (const [index, { value }] of this.#options.series.entries()) {
      const shown = pace && value(pace);
      setText(this.#readouts[index] as HTMLElement, shown === undefined ? '–' : this.#options.format(shown));
    }
  }
}

/** Returns running totals, so that each layer is drawn on top of the previous one. */
function stacks(layers: readonly (readonly (number | null)[])[]): number[][] {
  const totals: number[] = [];
  return layers.map((layer) => layer.map((value, at) => (totals[at] = (totals[at] ?? 0) + (value ?? 0))));
}
