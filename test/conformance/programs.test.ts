import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { oneGateway, type Owner } from '../harness/gateway.ts';
import { freePort } from '../harness/ports.ts';
import { type ProgramProtocol, type ProgramRequest, startProgram } from '../harness/scripted-program.ts';
import { readScripts } from '../harness/scripted-upstream.ts';
import { maskPort } from './mask-port.ts';
import { HAS_NGINX, startNginx } from './nginx.ts';
import { wholeResponse } from './whole-response.ts';

/*
 * programs/NAME.PROTOCOLS.case: as proxy/*.case, for each of the protocols (`fastcgi+scgi`), whose name stands as PROTO in the
 * content of `http`. The parameters of a request follow `<-`; a request whose target has `~name` gets that script.
 */
const directory = new URL('programs/', import.meta.url);
const DASHES = '----------\n';

const load = oneGateway();

const servers: readonly { name: string; start: (t: Owner, http: string) => Promise<number> }[] = [
  ...(HAS_NGINX ? [{ name: 'nginx', start: startNginx }] : []),
  { name: 'gw', start: startGw },
];

async function startGw(t: Owner, http: string): Promise<number> {
  const gw = await load(t, (_, port) => http.replaceAll('PORT', String(port)));
  return gw.port;
}

for (const file of readdirSync(directory)) {
  const recorded = readFileSync(new URL(file, directory), 'utf8');
  const [http = '', scripts = '', lines = ''] = recorded.split(DASHES);
  const requests = lines.split('\n').filter((line) => /^[A-Z]/.test(line));
  const [name = '', protocols = ''] = file.split('.');

  for (const protocol of protocols.split('+') as ProgramProtocol[]) {
    for (const server of servers) {
      test(`${server.name} passes the requests of ${name} on by ${protocol} as recorded`, async (t) => {
        const known = readScripts(scripts);
        const program = await startProgram(t, protocol, (request) => known.get(scriptOf(request)) ?? ECHO);
        const closed = await freePort();
        const conf = http
          .replaceAll('PROTO', protocol)
          .replaceAll('UPSTREAM', String(program.port))
          .replaceAll('CLOSED', String(closed));
        const port = await server.start(t, conf);
        const masked = (text: string): string =>
          maskPort(maskPort(maskPort(text, program.port, 'UPSTREAM'), port), closed, 'CLOSED');
        let seen = '';
        for (const request of requests) {
          seen += `${request}\n=> ${masked(await wholeResponse(port, request))}\n`;
          for (const heard of program.heard()) seen += `<- ${masked(shown(heard))}\n`;
        }
        if (process.env['RECORD'] && server.name === 'nginx')
          writeFileSync(new URL(file, directory), [http, scripts, seen].join(DASHES));
        else expect(seen).toBe(lines);
      });
    }
  }
}

const ECHO = ['Content-Type: text/plain\r\n\r\n', 'echo'];

function scriptOf({ params }: ProgramRequest): string {
  const [, name = ''] = /~([\w-]+)/.exec(params.map(([, value]) => value).join(' ')) ?? [];
  return name;
}

/** SCGI begins with a length of its own, which the others do not have. */
function shown({ params, body }: ProgramRequest): string {
  const named = params.map(([name, value]) => (name === '' ? value : `${name}=${value}`));
  const own = named.filter((text, index) => index > 0 || !/^CONTENT_LENGTH=\d+$/.test(text));
  return (
    own.join(' | ') +
    (body.length === 0 ? '' : ` << ${JSON.stringify(String(body).slice(0, 60)).slice(1, -1)}`)
  );
}
