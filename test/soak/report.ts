import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Options } from './options.ts';
import type { Vitals } from './vitals.ts';

/** Something that must not happen but did; occurrences of one kind are counted. */
interface Violation {
  readonly actor: string;
  readonly message: string;
  times: number;
  /** The first few occurrences: how to repeat each, and what was sent or seen. */
  readonly cases: { readonly turn: string; readonly at: string; readonly evidence: string }[];
}

const MAX_CASES = 5;
const MAX_EVIDENCE = 4_000;

/** The results of a run. */
export class Report {
  readonly violations = new Map<string, Violation>();
  readonly counts = new Map<string, Map<string, number>>();
  slowestProbeMs = 0;
  before: Vitals | undefined;
  after: Vitals | undefined;
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  count(actor: string, kind: string): void {
    const kinds = this.counts.get(actor) ?? new Map<string, number>();
    this.counts.set(actor, kinds);
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }

  /** `turn` is what `--turn` takes, or empty. */
  violation(found: {
    actor: string;
    turn: string;
    message: string;
    evidence?: string | Uint8Array | undefined;
  }): void {
    const { actor, turn, message, evidence = '' } = found;
    const key = `${actor} ${message}`;
    const violation = this.violations.get(key) ?? { actor, message, times: 0, cases: [] };
    this.violations.set(key, violation);
    violation.times++;
    if (violation.times === 1) process.stderr.write(`soak: ${actor} ${turn}: ${message}\n`);
    if (violation.cases.length < MAX_CASES)
      violation.cases.push({ turn, at: new Date().toISOString(), evidence: printable(evidence) });
  }

  get failed(): boolean {
    return this.violations.size > 0;
  }

  /** Writes `soak.json` and `soak.txt`; gives the text. */
  write(): string {
    const { seed, minutes, engine, report } = this.#options;
    const counts = Object.fromEntries(
      [...this.counts].map(([actor, kinds]) => [actor, Object.fromEntries(kinds)]),
    );
    const { slowestProbeMs, before, after } = this;
    const violations = [...this.violations.values()];
    const facts = {
      at: new Date().toISOString(),
      node: process.version,
      seed,
      minutes,
      engine,
      slowestProbeMs,
    };
    mkdirSync(report, { recursive: true });
    const whole = { ...facts, before, after, counts, violations };
    writeFileSync(join(report, 'soak.json'), `${JSON.stringify(whole, null, 2)}\n`);
    const text = this.#text();
    writeFileSync(join(report, 'soak.txt'), text);
    return text;
  }

  #text(): string {
    const { seed, minutes, engine } = this.#options;
    const lines = [`soak: seed ${seed}, ${minutes} minutes, engine ${engine}`];
    for (const [actor, kinds] of this.counts) {
      const shown = [...kinds]
        .sort(([, one], [, other]) => other - one)
        .map(([kind, times]) => `${kind} ${times}`);
      lines.push(`  ${actor}: ${shown.join(', ')}`);
    }
    lines.push(`slowest health probe: ${Math.round(this.slowestProbeMs)} ms`);
    const { before, after } = this;
    if (before) lines.push(`after the warm-up: ${JSON.stringify(before)}`);
    if (after) lines.push(`in the end:        ${JSON.stringify(after)}`);
    for (const { actor, message, times, cases } of this.violations.values()) {
      lines.push(`VIOLATION ${actor}: ${message} (${times} times)`);
      for (const { turn, evidence } of cases.slice(0, 2)) {
        if (turn !== '') lines.push(`  npm run soak -- --seed '${seed}' --engine ${engine} --turn ${turn}`);
        if (evidence !== '') lines.push(`  ${evidence.slice(0, 300)}`);
      }
    }
    lines.push(this.failed ? `${this.violations.size} violations` : 'clean');
    return `${lines.join('\n')}\n`;
  }
}

/** The bytes as one line of text that JavaScript can read back. */
function printable(evidence: string | Uint8Array): string {
  const text = typeof evidence === 'string' ? evidence : Buffer.from(evidence).toString('latin1');
  const cut = text.length > MAX_EVIDENCE ? `… (${text.length} characters)` : '';
  return JSON.stringify(text.slice(0, MAX_EVIDENCE)).slice(1, -1) + cut;
}
