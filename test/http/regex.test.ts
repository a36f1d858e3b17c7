import { beforeAll, expect, test } from 'vitest';
import { guardRegexes, translatePcre } from '../../src/config/index.ts';
import { compileRegex, HttpFault, type Regex } from '../../src/http/index.ts';
import { attacks } from './regex-corpus.ts';
import { perTier } from '../harness/tier.ts';

/** Lengths around each limit at which another engine takes over, up to more than the default size of a request head. */
const LENGTHS = perTier({
  short: [40, 500, 2_048, 2_049, 65_536],
  long: [40, 120, 500, 1_000, 2_048, 2_049, 4_096, 8_192, 16_384, 32_768, 65_536],
});
/** The promise is 50 ms on an otherwise idle machine. */
const CPU_MS = 250;

// As in a worker.
beforeAll(guardRegexes);

test.each(attacks)('$pattern cannot keep a worker busy', ({ pattern, pumped }) => {
  for (const regex of [compiled(pattern), compiled(`${pattern}(?!\\n)`)]) {
    for (const [before, repeated, after] of pumped) {
      for (const length of LENGTHS) {
        const text = before + repeated.repeat(length / repeated.length) + after;
        expect(cpuMs(regex, text), `${length} characters`).toBeLessThan(CPU_MS);
      }
    }
  }
});

function compiled(pattern: string): Regex {
  const translated = translatePcre(pattern, { caseless: false });
  if ('fault' in translated) throw new Error(`${translated.fault} in ${pattern}`);
  return compileRegex({ pattern, ...translated });
}

/** The time of a match, or of one that is given up. */
function cpuMs(regex: Regex, text: string): number {
  const before = process.cpuUsage();
  try {
    regex.exec(text);
  } catch (error) {
    if (!(error instanceof HttpFault)) throw error;
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
