import { chmodSync, chownSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Gateway } from '../harness/gateway.ts';
import { wholeFile } from '../harness/owner.ts';
import { IS_ROOT, NOBODY, startAsNobody } from './rights.ts';

const DAEMON = 1;
const ADM = 4;

interface Layout {
  readonly it: string;
  readonly mode: number;
  readonly owner?: number;
  /** Logs that are there already, and that log rotation leaves behind. */
  readonly files?: { readonly mode: number; readonly owner: number };
}

const layouts: readonly Layout[] = [
  { it: 'of root', mode: 0o755 },
  { it: 'of root as in Debian and Ubuntu', mode: 0o755, files: { mode: 0o640, owner: NOBODY.uid } },
  { it: 'that only root may list, as in RHEL', mode: 0o711 },
  { it: 'that only root may enter', mode: 0o700 },
  { it: 'that only root may enter, with files of root', mode: 0o700, files: { mode: 0o640, owner: 0 } },
  { it: 'of the account', mode: 0o755, owner: NOBODY.uid },
  { it: 'that only the account may enter, as in older RHEL', mode: 0o700, owner: NOBODY.uid },
  {
    it: 'of the account with files of nginx',
    mode: 0o755,
    owner: NOBODY.uid,
    files: { mode: 0o644, owner: 0 },
  },
  { it: 'open to all', mode: 0o777 },
  { it: 'open to all as /tmp', mode: 0o1777 },
  { it: 'as /tmp with files of the account', mode: 0o1777, files: { mode: 0o600, owner: NOBODY.uid } },
  { it: 'of another user', mode: 0o755, owner: DAEMON },
  { it: 'of another user with files', mode: 0o700, owner: DAEMON, files: { mode: 0o640, owner: DAEMON } },
];
const LEVELS = ['main', 'access', 'server', 'location', 'buffered'];

/** Each directory has logs of every level: main, http, server and location. */
const main = layouts.map((_, index) => `error_log dir${index}/main.log notice;`).join(' ');
const http = (suffix: string): string => `
  root /nonexistent;
  ${layouts.map((_, index) => `access_log dir${index}/access${suffix}.log;`).join('\n')}
  server {
    ${layouts.map((_, index) => `error_log dir${index}/server${suffix}.log;`).join('\n')}
    location /in/ {
      ${layouts
        .map(
          (_, index) => `access_log dir${index}/buffered${suffix}.log combined buffer=4k flush=10ms;
      error_log dir${index}/location${suffix}.log;`,
        )
        .join('\n')}
    }
  }`;

function lay(dir: string): void {
  for (const [index, { mode, owner = 0 }] of layouts.entries()) {
    const path = join(dir, `dir${index}`);
    mkdirSync(path);
    create(path, layouts[index]);
    chownSync(path, owner, ADM);
    chmodSync(path, mode);
  }
}

function create(directory: string, { files } = {} as Layout): void {
  for (const level of files ? LEVELS : []) {
    const path = join(directory, `${level}.log`);
    writeFileSync(path, '');
    chownSync(path, files?.owner ?? 0, ADM);
    chmodSync(path, files?.mode ?? 0);
  }
}

function rotate(dir: string): void {
  for (const [index, layout] of layouts.entries()) {
    const path = join(dir, `dir${index}`);
    for (const level of LEVELS) renameSync(join(path, `${level}.log`), join(path, `${level}.log.1`));
    create(path, layout);
  }
}

const MARKS: Readonly<Record<string, (word: string) => string>> = {
  main: () => '',
  access: (word) => `"GET /${word} `,
  server: (word) => `open() "/nonexistent/${word}" failed`,
  location: (word) => `open() "/nonexistent/in/${word}" failed`,
  buffered: (word) => `"GET /in/${word} `,
};

/** Makes requests; gives the logs that have a line of them, as far as the last one written has. */
async function logged(gw: Gateway, word: string, suffix = ''): Promise<ReadonlySet<string>> {
  await gw.expect(`GET /${word}`, { status: 404 });
  await gw.expect(`GET /in/${word}`, { status: 404 });
  const paths = layouts.flatMap((_, index) =>
    LEVELS.map((level) => ({ level, path: `dir${index}/${level}` })),
  );
  const found = (): string[] =>
    paths
      .filter(({ level, path }) => {
        const text = gw.read(`${path}${level === 'main' ? '' : suffix}.log`);
        return text !== '' && text.includes(MARKS[level]?.(word) ?? '');
      })
      .map(({ path }) => path);
  await expect
    .poll(found, { timeout: 5_000 })
    .toHaveLength(paths.length)
    .catch(() => undefined);
  return new Set(found());
}

/** What was logged after a start, a rotation, a reload that rotates, one with other logs, and another start. */
async function life(): Promise<Readonly<Record<string, ReadonlySet<string>>>> {
  const gw = await startAsNobody(
    wholeFile(),
    (dir) => {
      lay(dir);
      return http('');
    },
    { main: `user nobody; ${main}` },
  );
  const start = await logged(gw, 'start');
  rotate(gw.dir);
  gw.signal('SIGUSR1');
  await gw.waitForLog(/worker 1 reopened its logs/);
  const reopen = await logged(gw, 'reopen');
  rotate(gw.dir);
  await gw.reload(http(''));
  const reload = await logged(gw, 'reload');
  await gw.reload(http('-new'));
  const others = await logged(gw, 'others', '-new');
  const from = gw.errorLog().length;
  await gw.stop('SIGQUIT');
  gw.write(http(''));
  gw.start();
  await gw.waitForLog(/start worker processes/, from);
  return { start, reopen, reload, others, again: await logged(gw, 'again') };
}

let run: ReturnType<typeof life> | undefined;
const phases = {
  start: 'a start',
  reopen: 'USR1',
  reload: 'a reload',
  others: 'a reload with others',
  again: 'a restart',
};

for (const [index, { it }] of layouts.entries())
  for (const [phase, after] of Object.entries(phases))
    test.runIf(IS_ROOT)(`root’s gateway writes its logs in a directory ${it} after ${after}`, async () => {
      run ??= life();
      const found = (await run)[phase];
      expect(LEVELS.filter((level) => found?.has(`dir${index}/${level}`))).toEqual(LEVELS);
    });
