/** Value by series as written, for example `gw_x_total{code="200"}`. */
export type Scrape = ReadonlyMap<string, number>;

const HELP = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) ((?:[^\\]|\\\\|\\n)+)$/;
const TYPE = /^# TYPE (\S+) (counter|gauge|histogram|untyped)$/;
const LABELS = String.raw`\{[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*"(?:,[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*")*\}`;
const SAMPLE = new RegExp(
  String.raw`^([a-zA-Z_:][a-zA-Z0-9_:]*)(${LABELS})? (-?\d+(?:\.\d+)?(?:e[+-]\d+)?|NaN|[+-]Inf)$`,
);

/**
 * Reads the text format 0.0.4 strictly: each metric once, its HELP and TYPE before its samples, no series twice, buckets that
 * grow and agree with their count. Throws on everything else.
 */
export function readStrictly(text: string): Scrape {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const scrape = new Map<string, number>();
  const done = new Set<string>();
  const lines = text.slice(0, -1).split('\n');
  while (lines.length > 0) {
    const [, name] = HELP.exec(lines[0] ?? '') ?? [];
    if (name === undefined) throw new Error(`"${lines[0]}" is no HELP line`);
    lines.shift();
    const [, typed, type] = TYPE.exec(lines[0] ?? '') ?? [];
    if (typed !== name || type === undefined) throw new Error(`"${lines[0]}" is no TYPE line of "${name}"`);
    lines.shift();
    if (done.has(name)) throw new Error(`"${name}" comes twice`);
    done.add(name);
    readSamples(lines, { name, type, scrape });
  }
  return scrape;
}

interface FamilyReading {
  readonly name: string;
  readonly type: string;
  readonly scrape: Map<string, number>;
}

function readSamples(lines: string[], { name, type, scrape }: FamilyReading): void {
  const names = type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name];
  const own = new Map<string, number>();
  for (let line = lines[0]; line !== undefined && !line.startsWith('#'); line = lines[0]) {
    const [, sample, labels = '', value] = SAMPLE.exec(line) ?? [];
    if (sample === undefined || !names.includes(sample))
      throw new Error(`"${line}" is no sample of "${name}"`);
    if (own.has(sample + labels)) throw new Error(`"${sample}${labels}" comes twice`);
    own.set(sample + labels, Number(value?.replace('Inf', 'Infinity')));
    lines.shift();
  }
  if (own.size === 0) throw new Error(`"${name}" has no sample`);
  if (type === 'histogram') checkHistogram(name, own);
  for (const [series, value] of own) {
    if (type === 'counter' && !(value >= 0)) throw new Error(`counter "${series}" is ${value}`);
    scrape.set(series, value);
  }
}

function checkHistogram(name: string, own: ReadonlyMap<string, number>): void {
  const last = new Map<string, { le: number; count: number }>();
  for (const [series, count] of own) {
    const [, labels = '', le] = /_bucket\{(?:(.*),)?le="([^"]+)"\}$/.exec(series) ?? [];
    if (le === undefined) continue;
    const before = last.get(labels);
    const bound = Number(le.replace('Inf', 'Infinity'));
    if (before && (bound <= before.le || count < before.count)) throw new Error(`"${series}" does not grow`);
    last.set(labels, { le: bound, count });
  }
  if (last.size === 0) throw new Error(`"${name}" has no buckets`);
  for (const [labels, { le, count }] of last) {
    if (le !== Infinity || own.get(`${name}_count${labels && `{${labels}}`}`) !== count)
      throw new Error(`"${name}" {${labels}} does not end with its count`);
  }
}
