import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { oneGateway, type Owner } from '../harness/gateway.ts';
import { responseLine } from './response-line.ts';
import { HAS_NGINX, hasModules, modulesOf, startNginx } from './nginx.ts';
import { makeSite } from './site.ts';

/*
 * cases/*.case: the content of `http`, a line of dashes, then `request => response` lines. The responses were recorded from a
 * real nginx (RECORD=1 writes them again); where nginx is on the PATH it still has to give them, and gw always. A line
 * `# show: vary etag` in the configuration adds headers to the responses, `# file name: content` a file beside it, `# alerts`
 * allows alerts in the error log, `# modules: http_echo` needs dynamic modules of nginx; `SITE` is a directory with the files of site.ts.
 */
const directory = new URL('cases/', import.meta.url);
const DASHES = '----------\n';

const load = oneGateway();
const loadAlerting = oneGateway({ expectAlerts: true });

type Files = Readonly<Record<string, string>>;

const servers: readonly {
  name: string;
  start: (t: Owner, http: string, files: Files) => Promise<number>;
}[] = [...(HAS_NGINX ? [{ name: 'nginx', start: startNginx }] : []), { name: 'gw', start: startGw }];

async function startGw(t: Owner, http: string, files: Files): Promise<number> {
  const loadCase = http.includes('# alerts') ? loadAlerting : load;
  const gw = await loadCase(t, (_, port) => http.replaceAll('PORT', String(port)), files);
  return gw.port;
}

/** The files that `# file name: line\nline` puts beside the configuration. */
function filesOf(http: string): Files {
  const found = [...http.matchAll(/^# file (\S+): (.*)$/gm)];
  return Object.fromEntries(found.map(([, name, content]) => [name, content?.replaceAll('\\n', '\n')]));
}

for (const file of readdirSync(directory)) {
  const recorded = readFileSync(new URL(file, directory), 'utf8');
  const [http = '', lines = ''] = recorded.split(DASHES);
  const requests = lines
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' => ', 1)[0] as string);
  const shown = /^# show: (.*)$/m.exec(http)?.[1]?.split(' ') ?? [];

  for (const { name, start } of servers) {
    if (name === 'nginx' && !hasModules(modulesOf(http))) continue;
    test(`${name} serves the requests of ${file.replace('.case', '')} as recorded`, async (t) => {
      const site = http.includes('SITE') ? makeSite(t) : '';
      const port = await start(t, http.replaceAll('SITE', site), filesOf(http));
      let given = '';
      for (const request of requests)
        given += `${request} => ${await responseLine(port, request, { shown })}\n`;
      if (site !== '') given = given.replaceAll(site, 'SITE');
      if (process.env['RECORD'] && name === 'nginx')
        writeFileSync(new URL(file, directory), http + DASHES + given);
      else expect(given).toBe(lines);
    });
  }
}
