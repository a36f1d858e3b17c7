import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { load } from '../../src/pipeline.ts';
import { runIn } from '../cli/command.ts';
import { HAS_NGINX } from './nginx.ts';

/*
 * refusals/*.refusal: `content of http => why it is refused`, one per line; `ok` when it is not. Recorded from a real nginx
 * (RECORD=1 writes them again); where nginx is on the PATH it still has to say so, and gw always.
 */
const directory = new URL('refusals/', import.meta.url);

async function nginxSays(http: string): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'gw-nginx-'));
  const conf = join(dir, 'c');
  writeFileSync(conf, `pid ${dir}/pid; error_log ${dir}/log; events {} http { access_log off; ${http} }`);
  const { stderr } = await runIn(dir, ['nginx', '-t', '-p', dir, '-c', conf]);
  rmSync(dir, { recursive: true });
  const [, message] = /\[emerg\] (?:\d+#\d+: )?(.*)/.exec(stderr) ?? [];
  return message?.replace(' in DIR/c:1', '').replaceAll('DIR/', '') ?? 'ok';
}

function gwSays(http: string): string {
  const text = `events {} http { access_log off; ${http} }`;
  const { faults } = load({ confFile: '/gw.conf', name: 'gw.conf', prefix: '/', text }).report;
  return faults.find(({ severity }) => severity === 'emerg')?.message ?? 'ok';
}

const judges = [...(HAS_NGINX ? [{ name: 'nginx', says: nginxSays }] : []), { name: 'gw', says: gwSays }];

for (const file of readdirSync(directory)) {
  const lines = readFileSync(new URL(file, directory), 'utf8');
  const confs = lines
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' => ', 1)[0] as string);

  for (const { name, says } of judges) {
    test(`${name} refuses the configurations of ${file.replace('.refusal', '')} as recorded`, async () => {
      let said = '';
      for (const conf of confs) said += `${conf} => ${await says(conf)}\n`;
      if (process.env['RECORD'] && name === 'nginx') writeFileSync(new URL(file, directory), said);
      else expect(said).toBe(lines);
    });
  }
}
