import { printable, takesColor } from '../../grammar/index.ts';
import { explain as account } from '../../src/pipeline.ts';
import { loadConfig } from '../load-config.ts';
import type { ConfigOptions } from '../load-config.ts';

/** What `gw explain` was called with. */
export interface ExplainOptions extends ConfigOptions {
  readonly header?: readonly string[];
  readonly from: string;
  readonly data?: string;
  readonly live?: boolean;
  readonly json?: boolean;
}

/** `gw explain METHOD URL`. 0: some server would get it; 1: none; 2: it cannot be told. */
export async function explain(method: string, url: string, options: ExplainOptions): Promise<number> {
  const given = options.header ?? [];
  const headers = given.map(readHeader);
  const wrong = headers.findIndex((header) => header === undefined);
  if (wrong >= 0) return refuse(`invalid header "${printable(given[wrong] ?? '')}"`);
  const loaded = loadConfig(options);
  if (!loaded) return 2;
  const told = await account(loaded, {
    method,
    url,
    headers: headers.filter((header) => header !== undefined),
    from: options.from,
    live: options.live === true,
    ...(options.data !== undefined && { body: options.data }),
  });
  if (typeof told === 'string') return refuse(told);
  const text = options.json
    ? `${JSON.stringify(told.account, undefined, 2)}\n`
    : told.print({ color: takesColor(process.stdout) });
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
