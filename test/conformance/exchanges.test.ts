import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { oneGateway } from '../harness/gateway.ts';
import { exchangeLine } from './exchange-line.ts';
import { HAS_NGINX, startNginx } from './nginx.ts';

/*
 * raw/*.raw: the content of `http`, a line of dashes, then `bytes => everything that came back`, recorded from a real nginx
 * (RECORD=1 writes it again). gw responds alike on the node engine; on uWebSockets.js too, except where a line begins with
 * `node:`, because uWebSockets.js decides before our code. `gw:` instead of `=>` says how gw responds on purpose instead.
 */
const directory = new URL('raw/', import.meta.url);
const DASHES = '----------\n';

interface Recorded {
  readonly bytes: string;
  readonly onlyNode: boolean;
  readonly response: string;
  readonly ours: string;
}

function read(line: string): Recorded {
  const [, node, bytes = '', rest = ''] = /^(node: )?(.*?) => (.*)$/.exec(line) ?? [];
  const [response = '', ours = response] = rest.split(' gw: ');
  return { bytes, onlyNode: node !== undefined, response, ours };
}

function write({ bytes, onlyNode, ours, response }: Recorded, given: string): string {
  return `${onlyNode ? 'node: ' : ''}${bytes} => ${given}${ours === response || ours === given ? '' : ` gw: ${ours}`}\n`;
}

const engines = ['node', 'uws'].map((engine) => ({
  engine,
  load: oneGateway({ main: `http_engine ${engine};` }),
}));

for (const file of readdirSync(directory)) {
  const [http = '', lines = ''] = readFileSync(new URL(file, directory), 'utf8').split(DASHES);
  const exchanges = lines.trimEnd().split('\n').map(read);
  const name = file.replace('.raw', '');

  test.runIf(HAS_NGINX)(`nginx responds to the bytes of ${name} as recorded`, async (t) => {
    const port = await startNginx(t, http);
    let given = '';
    for (const exchange of exchanges) given += write(exchange, await exchangeLine(port, exchange.bytes));
    if (process.env['RECORD']) writeFileSync(new URL(file, directory), http + DASHES + given);
    else expect(given).toBe(lines);
  });

  for (const { engine, load } of engines) {
    test(`gw responds to the bytes of ${name} as nginx does (engine ${engine})`, async (t) => {
      const { port } = await load(t, (_, own) => http.replaceAll('PORT', String(own)));
      const asked = exchanges.filter(({ onlyNode }) => engine === 'node' || !onlyNode);
      const given: string[] = [];
      for (const { bytes } of asked) given.push(`${bytes} => ${await exchangeLine(port, bytes)}`);
      expect(given).toEqual(asked.map(({ bytes, ours }) => `${bytes} => ${ours}`));
    });
  }
}
