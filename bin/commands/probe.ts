import { callControl, findControl } from '../control-client.ts';
import type { ControlOptions } from '../control-client.ts';

/** Options of `gw live` and `gw ready`. */
export interface ProbeOptions extends ControlOptions {
  readonly quiet?: boolean;
}

/** Asks the running gateway whether it lives, or is ready. 0: yes, 1: no, or nobody answers. */
export async function probe(
  endpoint: 'live' | 'ready',
  { quiet, ...options }: ProbeOptions,
): Promise<number> {
  const target = findControl(endpoint, options);
  if (typeof target === 'string') return fail(target);
  try {
    const { status, body } = await callControl(target);
    if (status !== 200) return fail(`gw: not ${endpoint}: ${target.url} answers ${status}${reasonsIn(body)}`);
    if (!quiet) process.stdout.write(`OK: ${target.url}\n`);
    return 0;
  } catch (error) {
    return fail(`gw: not ${endpoint}: ${(error as Error).message}`);
  }
}

function fail(message: string): number {
  process.stderr.write(`${message}\n`);
  return 1;
}

/** One line per check that fails; nothing when the body is something else. */
function reasonsIn(body: string): string {
  try {
    const { checks = {} } = JSON.parse(body) as {
      checks?: Record<string, { status: string; output?: string }[]>;
    };
    return Object.entries(checks)
      .flatMap(([name, results]) => results.map((result) => ({ name, ...result })))
      .filter(({ status }) => status !== 'pass')
      .map(({ name, output }) => `\n  ${name}: ${output}`)
      .join('');
  } catch {
    return '';
  }
}
