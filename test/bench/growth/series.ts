import type { Bench } from '../bench.ts';
import { compare, type Comparison, type Sample } from '../compare.ts';
import { NotInstalled } from '../programs.ts';
import { emptyLine, type Finding } from '../row.ts';
import { median } from '../statistics.ts';

export interface Series<Size> {
  readonly sizes: readonly Size[];
  /** What the line of a size is called when it fails. */
  readonly name: (size: Size) => string;
  readonly open: (own: Bench, size: Size) => Promise<Comparison>;
}

/**
 * The same comparison at each size. Notes say how the CPU time of a request grows from the first size on. What a size
 * started has ended when the next one starts, and a size that fails does not keep the others from being measured.
 */
export async function series<Size>(bench: Bench, { sizes, name, open }: Series<Size>): Promise<Finding[]> {
  const lines: Finding[] = [];
  for (const size of sizes) {
    try {
      lines.push(...(await bench.apart(async (own) => compare(own, await open(own, size)))));
    } catch (error) {
      if (error instanceof NotInstalled) throw error;
      lines.push(emptyLine(name(size), 'failed', String(error)));
    }
  }
  const first = lines.find(({ measured }) => measured !== undefined);
  return lines.map((line) =>
    line.measured === undefined ? line : { ...line, note: `${growthText(first, line)}; ${line.note}` },
  );
}

function growthText(first: Finding | undefined, line: Finding): string {
  const [before, now] = [cpuOf(first, 'subject'), cpuOf(line, 'subject')];
  const [peerBefore, peerNow] = [cpuOf(first, 'peer'), cpuOf(line, 'peer')];
  return `CPU x${(now / before).toFixed(2)}, peer x${(peerNow / peerBefore).toFixed(2)}`;
}

function cpuOf(line: Finding | undefined, side: 'subject' | 'peer'): number {
  const details = line?.measured?.details as Record<typeof side, readonly Sample[]> | undefined;
  return median((details?.[side] ?? []).map(({ requests, cpuSeconds }) => cpuSeconds / requests));
}
