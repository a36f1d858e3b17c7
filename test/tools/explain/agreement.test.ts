import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { makeSite } from '../../conformance/site.ts';
import { wholeConf } from '../../harness/conf.ts';
import type { Account } from '../../../src/tools/explain/index.ts';
import { accountOf, configured } from './explained.ts';
import { wholeFile } from '../../harness/owner.ts';
import { perTier } from '../../harness/tier.ts';

/*
 * The responses in the conformance cases are those of a real nginx and of gw. The accounts of `gw explain` for the same requests
 * have to agree with them: status, `Location`, and the body of plain texts.
 */
const directory = new URL('../../conformance/cases/', import.meta.url);
const PORT = 8099;

interface Recorded {
  readonly request: string;
  readonly status: number;
  readonly location: string | undefined;
  readonly text: string | undefined;
}

/** Other ways to write a request concern the transport, which an explanation does not have. */
function read(line: string): Recorded | undefined {
  const [request = '', response = ''] = line.split(' => ');
  const [, status, facts = '', text] = /^(\d{3})([^:]*(?::\S[^:]*)*): ?(.*)$/.exec(response) ?? [];
  if (status === undefined) return undefined;
  const [, location] = /-> (\S*?):? /.exec(response) ?? [];
  const isPlain = facts.startsWith(' text/plain') && !facts.includes('=');
  return {
    request,
    status: Number(status),
    location,
    text: isPlain && location === undefined ? text : undefined,
  };
}

function questionOf(request: string): { method: string; url: string; headers: [string, string][] } {
  const [head = '', body] = request.split(' << ');
  const [line = '', ...headerLines] = head.split(' | ');
  const [method = 'GET', target = '/'] = line.split(' ');
  const given = headerLines.map((text): [string, string] => {
    const [, name = '', value = ''] = /^([^:]*): ?(.*)$/s.exec(text) ?? [];
    return [name, value];
  });
  const hasHost = given.some(([name]) => name.toLowerCase() === 'host');
  const length: [string, string][] =
    body === undefined ? [] : [['content-length', String(Buffer.byteLength(body))]];
  return {
    method,
    url: `http://127.0.0.1:${PORT}${target}`,
    headers: [...(hasHost ? [] : [['host', 'a.example'] satisfies [string, string]]), ...given, ...length],
  };
}

/** An explanation changes no file, so all cases have one site. */
const file = wholeFile();
let site: string;
beforeAll(() => {
  site = makeSite(file);
});

let compared = 0;
/** The distance between those lines of a file that are tested. */
const STEP = perTier({ short: 6, long: 1 });

for (const name of readdirSync(directory).map((each) => each.replace('.case', ''))) {
  test(`explain agrees with the gateway about the requests of ${name}`, async (t) => {
    const [http = '', lines = ''] = readFileSync(new URL(`${name}.case`, directory), 'utf8').split(
      '----------\n',
    );
    const found = [...http.matchAll(/^# file (\S+): (.*)$/gm)];
    const files = Object.fromEntries(
      found.map(([, path = '', content = '']) => [path, content.replaceAll('\\n', '\n')]),
    );
    const text = http.replaceAll('SITE', site).replaceAll('PORT', String(PORT));
    const conf = wholeConf({ http: text, dir: '.', port: PORT, workers: 1, main: '' });
    const explained = configured(t, conf, files);
    const plain = (shown: string): string =>
      shown.replaceAll(site, 'SITE').replaceAll(String(PORT), 'PORT').trimEnd();
    const differing: string[] = [];
    for (const [at, line] of lines.trimEnd().split('\n').entries()) {
      if (at % STEP > 0) continue;
      const recorded = read(line);
      const given = recorded && responseOf(await accountOf(explained, questionOf(recorded.request)));
      if (!recorded || !given) continue;
      compared++;
      const { status, location, text: body } = given;
      const same =
        status === recorded.status &&
        (recorded.location === undefined || plain(location) === recorded.location) &&
        (recorded.text === undefined ||
          body === undefined ||
          plain(quoted(body)) === recorded.text.trimEnd());
      if (!same) differing.push(`${line}\n   explained: ${status} ${location} ${body ?? ''}`);
    }
    expect(differing).toEqual([]);
  });
}

test('most responses can be explained without an upstream', () => {
  expect(compared).toBeGreaterThan(1000 / STEP);
});

interface Told {
  readonly status: number;
  readonly location: string;
  /** Absent where the account does not show it, or shows only an example. */
  readonly text: string | undefined;
}

/** Nothing where an upstream would respond, or where earlier requests count. */
function responseOf({ answer, rounds, branches }: Account): Told | undefined {
  const { status, facts, unknown } = answer;
  const isCounted = rounds.some(({ steps }) => steps.some((step) => step.kind === 'phase' && step.unknown));
  if (status === undefined || isCounted || branches.length > 0) return undefined;
  const valueOf = (pattern: RegExp): string =>
    facts.flatMap(({ value }) => pattern.exec(value)?.[1] ?? [])[0] ?? '';
  const isExample = unknown !== undefined || facts.some(({ label }) => label === 'filter');
  return {
    status,
    location: valueOf(/^location: (.*)$/i),
    text: isExample ? undefined : facts.find(({ label }) => label === 'body')?.value,
  };
}

function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
