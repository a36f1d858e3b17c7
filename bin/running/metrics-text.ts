/** One line of a metrics text. */
export interface MetricSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"(?:,|$)/y;
const ESCAPES: Readonly<Record<string, string>> = { '\\n': '\n', '\\"': '"', '\\\\': '\\' };

/** Returns the samples of a metrics text. Throws on an invalid line. */
export function readMetrics(text: string): readonly MetricSample[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name, labels = '', value] = LINE.exec(line) ?? [];
      if (name === undefined || value === undefined) throw new Error(`"${line}" is no metric`);
      return { name, labels: readLabels(labels), value: readNumber(value) };
    });
}

function readLabels(text: string): Readonly<Record<string, string>> {
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.length) {
    const at = LABEL.lastIndex;
    const [, name, value] = LABEL.exec(text) ?? [];
    if (name === undefined || value === undefined) throw new Error(`"${text.slice(at)}" is no label`);
    labels[name] = value.replace(/\\./g, (escaped) => ESCAPES[escaped] ?? escaped);
  }
  return labels;
}

function readNumber(text: string): number {
  if (text === '+Inf') return Infinity;
  return text === '-Inf' ? -Infinity : Number(text);
}

/** The samples of a metrics text by name. */
export class MetricSamples {
  readonly #byName = new Map<string, MetricSample[]>();
  /** Samples by name and label names, then by the values of these labels. */
  readonly #indexes = new Map<string, ReadonlyMap<string, readonly MetricSample[]>>();

  constructor(samples: readonly MetricSample[]) {
    for (const sample of samples) {
      const others = this.#byName.get(sample.name);
      if (others) others.push(sample);
      else this.#byName.set(sample.name, [sample]);
    }
  }

  all(name: string): readonly MetricSample[] {
    return this.#byName.get(name) ?? [];
  }

  /** Returns the samples that have these labels, whatever others they have. */
  matching(name: string, labels: MetricSample['labels']): readonly MetricSample[] {
    const names = Object.keys(labels);
    if (names.length === 0) return this.all(name);
    const key = JSON.stringify([name, ...names]);
    const index = this.#indexes.get(key) ?? this.#indexOf(name, names);
    this.#indexes.set(key, index);
    return index.get(JSON.stringify(Object.values(labels))) ?? [];
  }

  /** Returns the first value of the series with these labels; 0 without any. */
  value(name: string, labels: MetricSample['labels'] = {}): number {
    return this.matching(name, labels)[0]?.value ?? 0;
  }

  #indexOf(name: string, names: readonly string[]): ReadonlyMap<string, readonly MetricSample[]> {
    const index = new Map<string, MetricSample[]>();
    for (const sample of this.all(name)) {
      const key = JSON.stringify(names.map((label) => sample.labels[label]));
      const others = index.get(key);
      if (others) others.push(sample);
      else index.set(key, [sample]);
    }
    return index;
  }
}
