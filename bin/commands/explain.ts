import { formatFaults } from '../../grammar/index.ts';
import { explain as account, load } from '../../src/pipeline.ts';
import { sourceOf } from '../source.ts';
import { isColorWanted } from '../terminal-color.ts';

/** What `gw explain` was called with. */
export interface ExplainOptions {
  readonly conf?: string;
  readonly prefix?: string;
  readonly header: readonly string[];
  readonly from: string;
  readonly live?: boolean;
  readonly json?: boolean;
}

/** `gw explain METHOD URL`. 0: some server would get it; 1: none; 2: it cannot be told. */
export async function explain(method: string, url: string, options: ExplainOptions): Promise<number> {
  const headers = options.header.map(readHeader);
  const wrong = headers.findIndex((header) => header === undefined);
  if (wrong >= 0) return refuse(`invalid header "${options.header[wrong] ?? ''}"`);
  const { conf, prefix } = options;
  const source = sourceOf({
    ...(conf !== undefined && { confFile: conf }),
    ...(prefix !== undefined && { prefix }),
  });
  const loaded = load(source);
  process.stderr.write(formatFaults(loaded.report, { program: 'gw', color: isColorWanted(process.stderr) }));
  if (!loaded.plan) return 2;
  const told = await account(loaded, {
    method,
    url,
    headers: headers.filter((header) => header !== undefined),
    from: options.from,
    live: options.live === true,
  });
  if (typeof told === 'string') return refuse(told);
  const text = options.json
    ? `${JSON.stringify(told.account, undefined, 2)}\n`
    : told.print({ color: isColorWanted(process.stdout) });
  process.stdout.write(text);
  return told.account.found ? 0 : 1;
}

function readHeader(text: string): readonly [string, string] | undefined {
  const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)[ \t]*$/.exec(text) ?? [];
  return name === undefined || value === undefined ? undefined : [name, value];
}

function refuse(message: string): number {
  process.stderr.write(`gw: ${message}\n`);
  return 2;
}
